// What the tests of the shard share: names, batches, and a clock that stands still.
//
// Thread: the test's.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"

namespace quorum::shard {

inline constexpr char kCluster[] = "test-cluster";

// The replica of node `id` on its usual directory.
ReplicaKey Key(int32_t id);
// The nodes 1 to `count`.
VoterSet VotersOf(int32_t count);
// Partition 0 of `topic`.
PartitionId Id(uint64_t topic);

inline constexpr Duration Ms(int64_t milliseconds) {
  return std::chrono::milliseconds(milliseconds);
}
// That long after the start of the test.
inline constexpr MonoTime At(int64_t milliseconds) {
  return MonoTime(std::chrono::seconds(100)) + Ms(milliseconds);
}

// `records` records of `value_size` bytes each.
BatchDraft DraftOf(uint32_t records = 1, size_t value_size = 10);
RecordBatch BatchAt(PartitionId partition, int64_t base_offset, int64_t epoch = 1,
                    uint32_t records = 1, size_t value_size = 10);

// Moves when it is told to only.
class ManualClock : public Clock {
 public:
  MonoTime Now() const override { return now_; }
  int64_t WallTimeMs() const override { return wall_ms_; }
  void Advance(Duration by) { now_ += by; }
  // The wall clock stands still unless it is moved.
  void MoveWall(int64_t by_ms) { wall_ms_ += by_ms; }

 private:
  MonoTime now_ = At(0);
  int64_t wall_ms_ = 1'700'000'000'000;
};

}  // namespace quorum::shard
