#include "service/shard/log_cache.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "service/base/check.h"

namespace quorum::shard {

void LogCache::Note(Tails::value_type* entry) {
  Tail& tail = entry->second;
  std::optional<uint64_t> arrival;
  if (!tail.batches.empty() && tail.batches.front().batch.next_offset() <= tail.durable_end) {
    arrival = tail.batches.front().arrival;
  }
  if (arrival == tail.evictable) return;
  if (tail.evictable.has_value()) evictable_.erase({*tail.evictable, entry->first});
  if (arrival.has_value()) evictable_.emplace(*arrival, entry->first);
  tail.evictable = arrival;
}

void LogCache::Append(PartitionId partition, const RecordBatch& batch) {
  auto& entry = *tails_.try_emplace(partition).first;
  Tail& tail = entry.second;
  if (!tail.batches.empty()) CHECK_EQ(tail.batches.back().batch.next_offset(), batch.base_offset());
  tail.batches.push_back(Cached{batch, ++arrivals_});
  bytes_ += batch.size();
  Note(&entry);
  Evict();
}

std::optional<bool> LogCache::HasBorder(PartitionId partition, Offset end) const {
  const auto found = tails_.find(partition);
  if (found == tails_.end()) return std::nullopt;
  const std::deque<Cached>& batches = found->second.batches;
  if (batches.empty() || end < batches.front().batch.base_offset()) return std::nullopt;
  if (end > batches.back().batch.next_offset()) return std::nullopt;
  const auto first = std::partition_point(
      batches.begin(), batches.end(),
      [end](const Cached& cached) { return cached.batch.base_offset() < end; });
  return first == batches.begin() || std::prev(first)->batch.next_offset() == end;
}

bool LogCache::TruncateTo(PartitionId partition, Offset end) {
  const auto found = tails_.find(partition);
  if (found == tails_.end()) return true;
  Tail& tail = found->second;
  const auto first = std::partition_point(
      tail.batches.begin(), tail.batches.end(),
      [end](const Cached& cached) { return cached.batch.base_offset() < end; });
  if (first != tail.batches.begin() && std::prev(first)->batch.next_offset() > end) return false;
  while (!tail.batches.empty() && tail.batches.back().batch.base_offset() >= end) {
    bytes_ -= tail.batches.back().batch.size();
    tail.batches.pop_back();
  }
  tail.durable_end = std::min(tail.durable_end, end);
  Note(&*found);
  return true;
}

void LogCache::SetDurable(PartitionId partition, Offset durable_end) {
  const auto found = tails_.find(partition);
  if (found == tails_.end()) return;
  found->second.durable_end = durable_end;
  Note(&*found);
  Evict();
}

void LogCache::Drop(PartitionId partition) {
  CHECK(TruncateTo(partition, Offset(0)));
  tails_.erase(partition);
}

void LogCache::Evict() {
  while (bytes_ > bytes_max_ && !evictable_.empty()) {
    auto& entry = *tails_.find(evictable_.begin()->second);
    bytes_ -= entry.second.batches.front().batch.size();
    entry.second.batches.pop_front();
    Note(&entry);
  }
}

std::optional<std::vector<RecordBatch>> LogCache::Read(PartitionId partition, Offset from,
                                                       Offset end, size_t max_bytes) const {
  const auto found = tails_.find(partition);
  if (found == tails_.end()) return std::nullopt;
  const std::deque<Cached>& batches = found->second.batches;
  if (batches.empty() || batches.front().batch.base_offset() > from) return std::nullopt;
  auto next = std::upper_bound(
      batches.begin(), batches.end(), from,
      [](Offset wanted, const Cached& cached) { return wanted < cached.batch.next_offset(); });
  std::vector<RecordBatch> read;
  size_t bytes = 0;
  for (; next != batches.end() && next->batch.base_offset() < end; ++next) {
    if (!read.empty() && bytes + next->batch.size() > max_bytes) break;
    bytes += next->batch.size();
    read.push_back(next->batch);
  }
  return read;
}

}  // namespace quorum::shard
