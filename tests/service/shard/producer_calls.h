// Appends of producers and conditional appends, for the tests of a whole shard.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/shard/client_calls.h"
#include "tests/service/shard/shard_fixtures.h"
#include "tests/service/shard/shard_harness.h"

namespace quorum::shard {

struct Wanted {
  std::optional<ProducerStamp> producer;
  std::optional<int64_t> expected_offset;
  std::optional<int64_t> leader_epoch;
  uint32_t records = 1;
  MonoTime deadline = kNever;
};

inline Awaited<AppendResult> Append(ShardHarness& shard, PartitionId partition,
                                    const Wanted& wanted) {
  auto done = std::make_shared<std::optional<AppendResult>>();
  AppendCall call;
  call.partition = partition;
  call.draft = DraftOf(wanted.records);
  call.draft.producer = wanted.producer;
  if (wanted.expected_offset.has_value()) call.expected_offset = Offset(*wanted.expected_offset);
  if (wanted.leader_epoch.has_value()) call.leader_epoch = Epoch(*wanted.leader_epoch);
  call.deadline = wanted.deadline;
  call.done = [done](AppendResult result) { *done = std::move(result); };
  shard.Call(std::move(call));
  return done;
}

inline Awaited<BindProducerResult> Bind(ShardHarness& shard, PartitionId partition,
                                        const std::string& name, MonoTime deadline = kNever) {
  auto done = std::make_shared<std::optional<BindProducerResult>>();
  BindProducerCall call;
  call.partition = partition;
  call.name = name;
  call.deadline = deadline;
  call.done = [done](BindProducerResult result) { *done = std::move(result); };
  shard.Call(std::move(call));
  return done;
}

inline ProducerStamp Stamp(int64_t id, int32_t epoch, int64_t sequence) {
  return ProducerStamp{id, epoch, sequence};
}

// Node 2 acknowledges everything below `offset` to the leader of `epoch`.
inline void Acknowledge(ShardHarness& shard, PartitionId partition, int64_t offset,
                        int64_t epoch = 1) {
  FetchBatch batch;
  batch.max_bytes = 1 << 20;
  batch.entries = {FetchAt(partition, epoch, offset, epoch)};
  (void)shard.Request(2, std::move(batch));
}

// Syncs, and node 2 has everything.
inline void CommitAll(ShardHarness& shard, PartitionId partition) {
  shard.Sync();
  const raft::Replica& replica = shard.Replica(partition);
  Acknowledge(shard, partition, replica.log().end().value(), replica.election().epoch.value());
}

}  // namespace quorum::shard
