// LogCache: the newest batches of every partition of a shard, so that followers and readers that
// keep up never touch the disk. One byte budget for all; what is not synced yet exists nowhere else
// and is pinned.
//
// Guarantees:
//   1. the batches of a partition are contiguous and end at its log end;
//   2. no batch that reaches above the partition's durable end is evicted;
//   3. while anything that is durable is cached, bytes() is at most the budget.
//
// Thread: the shard thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/base/record_batch.h"

namespace quorum::shard {

class LogCache {
 public:
  explicit LogCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Adds the batch at the partition's log end.
  void Append(PartitionId partition, const RecordBatch& batch);
  // Drops the batches at or above `end`. False, and nothing is dropped, when it lies inside of one.
  [[nodiscard]] bool TruncateTo(PartitionId partition, Offset end);
  // Whether a batch ends at `end`. Empty when the cache does not hold what lies around it.
  std::optional<bool> HasBorder(PartitionId partition, Offset end) const;
  // Everything below `durable_end` may be evicted from now on.
  void SetDurable(PartitionId partition, Offset durable_end);
  // Forgets the partition.
  void Drop(PartitionId partition);

  // The batches of [from, end), starting with the one that holds `from`: as many as stay within
  // `max_bytes`, but always the first. Empty when the cache does not reach back to `from`.
  std::optional<std::vector<RecordBatch>> Read(PartitionId partition, Offset from, Offset end,
                                               size_t max_bytes) const;

  size_t bytes() const { return bytes_; }

 private:
  struct Cached {
    RecordBatch batch;
    // Numbers the batches of all partitions in the order in which they came in.
    uint64_t arrival = 0;
  };
  struct Tail {
    std::deque<Cached> batches;
    Offset durable_end;
    // The arrival under which it stands in evictable_, if it does.
    std::optional<uint64_t> evictable;
  };
  using Tails = std::map<PartitionId, Tail>;

  // Brings evictable_ up to date after the tail has changed.
  void Note(Tails::value_type* entry);
  // Oldest arrival first.
  void Evict();

  const size_t bytes_max_;
  size_t bytes_ = 0;
  uint64_t arrivals_ = 0;
  Tails tails_;
  // The partitions whose first batch is durable, by its arrival.
  std::set<std::pair<uint64_t, PartitionId>> evictable_;
};

}  // namespace quorum::shard
