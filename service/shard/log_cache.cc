#include "service/shard/log_cache.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "service/base/check.h"

namespace quorum::shard {

void LogCache::Append(PartitionId partition, const RecordBatch& batch) {
  Tail& tail = tails_[partition];
  if (!tail.batches.empty()) CHECK_EQ(tail.batches.back().next_offset(), batch.base_offset());
  tail.batches.push_back(batch);
  bytes_ += batch.size();
  arrivals_.push_back(partition);
  Evict();
}

void LogCache::TruncateTo(PartitionId partition, Offset end) {
  const auto found = tails_.find(partition);
  if (found == tails_.end()) return;
  Tail& tail = found->second;
  while (!tail.batches.empty() && tail.batches.back().base_offset() >= end) {
    bytes_ -= tail.batches.back().size();
    tail.batches.pop_back();
  }
  tail.durable_end = std::min(tail.durable_end, end);
}

void LogCache::SetDurable(PartitionId partition, Offset durable_end) {
  const auto found = tails_.find(partition);
  if (found == tails_.end()) return;
  found->second.durable_end = durable_end;
  Evict();
}

void LogCache::Drop(PartitionId partition) {
  const auto found = tails_.find(partition);
  if (found == tails_.end()) return;
  for (const RecordBatch& batch : found->second.batches) bytes_ -= batch.size();
  tails_.erase(found);
}

// Oldest arrival first. A pinned batch goes to the back of the queue, and one pass over the queue
// is the bound: what cannot be evicted now is evicted once it is synced.
void LogCache::Evict() {
  size_t left = arrivals_.size();
  while (bytes_ > bytes_max_ && left-- > 0) {
    const PartitionId partition = arrivals_.front();
    arrivals_.pop_front();
    const auto found = tails_.find(partition);
    if (found == tails_.end() || found->second.batches.empty()) continue;
    Tail& tail = found->second;
    if (tail.batches.front().next_offset() > tail.durable_end) {
      arrivals_.push_back(partition);
      continue;
    }
    bytes_ -= tail.batches.front().size();
    tail.batches.pop_front();
  }
}

std::optional<std::vector<RecordBatch>> LogCache::Read(PartitionId partition, Offset from,
                                                       Offset end, size_t max_bytes) const {
  const auto found = tails_.find(partition);
  if (found == tails_.end()) return std::nullopt;
  const std::deque<RecordBatch>& batches = found->second.batches;
  if (batches.empty() || batches.front().base_offset() > from) return std::nullopt;
  auto next = std::upper_bound(
      batches.begin(), batches.end(), from,
      [](Offset wanted, const RecordBatch& batch) { return wanted < batch.next_offset(); });
  std::vector<RecordBatch> read;
  size_t bytes = 0;
  for (; next != batches.end() && next->base_offset() < end; ++next) {
    if (!read.empty() && bytes + next->size() > max_bytes) break;
    bytes += next->size();
    read.push_back(*next);
  }
  return read;
}

std::optional<Offset> LogCache::FirstOffset(PartitionId partition) const {
  const auto found = tails_.find(partition);
  if (found == tails_.end() || found->second.batches.empty()) return std::nullopt;
  return found->second.batches.front().base_offset();
}

}  // namespace quorum::shard
