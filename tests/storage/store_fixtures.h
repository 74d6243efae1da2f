// What the storage tests share: batches, write sets, identities and a clock that stands still.

#pragma once

#include <cstdint>
#include <string>

#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"
#include "storage/api/write_set.h"
#include "storage/layout/recover.h"
#include "storage/layout/write_encoder.h"

namespace quorum::storage {

inline constexpr DirectoryId kDirectory{0x1111, 0x2222};
inline constexpr PartitionId kPartition{TopicId(7), 3};
inline constexpr PartitionId kOtherPartition{TopicId(8), 0};

// Moves when it is told to only.
class ManualClock : public Clock {
 public:
  MonoTime Now() const override { return now_; }
  int64_t WallTimeMs() const override { return 1'700'000'000'000; }
  void Advance(Duration by) { now_ += by; }

 private:
  MonoTime now_{std::chrono::seconds(100)};
};

// `records` records of `value_size` bytes each.
RecordBatch MakeBatch(PartitionId partition, int64_t base_offset, int64_t epoch,
                      uint32_t records = 1, size_t value_size = 10);

ReplicaKey KeyOf(int32_t node);
// Nodes 1 to 3; node 1 is on kDirectory.
VoterSet ThreeVoters();
ElectionState ElectionOf(int64_t epoch, int32_t voted);

// Cluster "test", node 1, kDirectory; founding unless `join`.
FormatPlan MakePlan(bool join = false);
ExpectedIdentity MakeExpected();

// Births `partition`, with three voters and epoch 1.
WriteSet BirthSet(PartitionId partition);
// One batch of one epoch; with its index entry when it `starts_epoch`.
WriteSet AppendSet(PartitionId partition, int64_t base_offset, int64_t epoch, bool starts_epoch,
                   uint32_t records = 1, size_t value_size = 10);
WriteSet ElectionSet(PartitionId partition, int64_t epoch, int32_t voted);

// Null when there is none.
const RecoveredReplica* FindReplica(const RecoveredStore& store, PartitionId partition);

}  // namespace quorum::storage
