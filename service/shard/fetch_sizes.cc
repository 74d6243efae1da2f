#include "service/shard/fetch_sizes.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace quorum::shard {
namespace {

// A peer that was not asked for so long, or had nothing, may never come back.
constexpr Duration kKept = std::chrono::minutes(5);

}  // namespace

FetchSizes::FetchSizes(size_t most, Duration fetch_timeout)
    : most_(most),
      least_(std::min(most, kLeast)),
      late_(fetch_timeout / 2),
      quick_(fetch_timeout / 4) {}

size_t FetchSizes::Next(const LinkKey& link) const {
  const auto found = sizes_.find(link);
  return found == sizes_.end() ? most_ : found->second.bytes;
}

void FetchSizes::OnFailure(const LinkKey& link, size_t asked, MonoTime now) {
  // Two requests may be out, and fail together. What counts is what they asked for, so the second
  // does not halve again.
  const size_t bytes = std::min(Next(link), std::max(asked / 2, least_));
  for (auto size = sizes_.begin(); size != sizes_.end();) {
    size = now - size->second.noted_at > kKept ? sizes_.erase(size) : std::next(size);
  }
  if (bytes < most_) sizes_.insert_or_assign(link, Size{bytes, now});
}

void FetchSizes::OnAnswer(const LinkKey& link, size_t asked, size_t bytes, Duration took,
                          MonoTime now) {
  if (bytes == 0) return;
  if (took > late_) {
    OnFailure(link, asked, now);
    return;
  }
  const auto found = sizes_.find(link);
  if (found == sizes_.end()) return;
  Size& size = found->second;
  size.noted_at = now;
  // Small answers prove nothing of large ones, so they take nothing back.
  if (took <= quick_) size.bytes = std::max(size.bytes, std::min(2 * bytes, most_));
  if (size.bytes >= most_) sizes_.erase(found);
}

}  // namespace quorum::shard
