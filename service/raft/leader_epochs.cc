#include "service/raft/leader_epochs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "service/base/check.h"

namespace quorum::raft {
namespace {

using Start = std::pair<Epoch, Offset>;

}  // namespace

LeaderEpochs::LeaderEpochs(std::vector<Start> starts) {
  starts_.reserve(starts.size());
  for (const Start& start : starts) Append(start.first, start.second);
}

void LeaderEpochs::Append(Epoch epoch, Offset start) {
  CHECK_GE(epoch, Epoch(1));
  if (!starts_.empty()) {
    CHECK_GT(epoch, starts_.back().first);
    CHECK_GT(start, starts_.back().second);
  }
  starts_.emplace_back(epoch, start);
}

void LeaderEpochs::TruncateTo(Offset end) {
  while (!starts_.empty() && starts_.back().second >= end) starts_.pop_back();
}

Epoch LeaderEpochs::LastEpoch() const { return starts_.empty() ? Epoch(0) : starts_.back().first; }

Epoch LeaderEpochs::EpochAt(Offset offset) const {
  const auto after =
      std::upper_bound(starts_.begin(), starts_.end(), offset,
                       [](Offset wanted, const Start& start) { return wanted < start.second; });
  CHECK(after != starts_.begin()) << "no epoch covers offset " << offset;
  return std::prev(after)->first;
}

OffsetAndEpoch LeaderEpochs::EndOf(Epoch epoch, Offset log_start, Offset log_end) const {
  const auto after =
      std::upper_bound(starts_.begin(), starts_.end(), epoch,
                       [](Epoch wanted, const Start& start) { return wanted < start.first; });
  if (after == starts_.begin()) return OffsetAndEpoch{log_start, Epoch(0)};
  const Offset end = after == starts_.end() ? log_end : after->second;
  return OffsetAndEpoch{end, std::prev(after)->first};
}

}  // namespace quorum::raft
