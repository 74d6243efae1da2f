// LogCache: the newest batches of every partition of a shard, so that followers and readers that
// keep up never touch the disk. One byte budget for all; what is not synced yet exists nowhere else
// and is pinned.
//
// Guarantees:
//   1. the batches of a partition are contiguous and end at its log end;
//   2. no batch at or above the partition's durable end is evicted.
//
// Thread: the shard thread.

#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "service/base/ids.h"
#include "service/base/record_batch.h"

namespace quorum::shard {

class LogCache {
 public:
  explicit LogCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Adds the batch at the partition's log end.
  void Append(PartitionId partition, const RecordBatch& batch);
  // Drops the batches at or above `end`.
  void TruncateTo(PartitionId partition, Offset end);
  // Everything below `durable_end` may be evicted from now on.
  void SetDurable(PartitionId partition, Offset durable_end);
  // Forgets the partition.
  void Drop(PartitionId partition);

  // The batches of [from, end), starting with the one that holds `from`: as many as stay within
  // `max_bytes`, but always the first. Empty when the cache does not reach back to `from`.
  std::optional<std::vector<RecordBatch>> Read(PartitionId partition, Offset from, Offset end,
                                               size_t max_bytes) const;

  // The first offset that the cache holds of the partition; empty when it holds nothing.
  std::optional<Offset> FirstOffset(PartitionId partition) const;

  size_t bytes() const { return bytes_; }

 private:
  struct Tail {
    std::deque<RecordBatch> batches;
    Offset durable_end;
  };

  void Evict();

  const size_t bytes_max_;
  size_t bytes_ = 0;
  std::map<PartitionId, Tail> tails_;
  // Partitions in the order in which their batches came in; one entry per batch, stale ones are
  // skipped.
  std::deque<PartitionId> arrivals_;
};

}  // namespace quorum::shard
