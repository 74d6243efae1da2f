// Appends of producers and conditional appends, for the tests of a whole shard.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// A request of a session of node 2 that names an answer of it.
inline Awaited<LaneResponse> FetchSeen(ShardHarness& shard, uint64_t session, uint64_t number,
                                       uint64_t seen, std::vector<FetchEntry> entries) {
  FetchBatch batch;
  batch.session = SessionRequestPlace{session, number, seen, shard.config().lane_count};
  batch.max_wait = Ms(500);
  batch.max_bytes = 1 << 20;
  batch.entries = std::move(entries);
  return shard.Request(2, std::move(batch));
}

// Node 2 opens `session`, has everything, and still follows when it has seen an answer: whatever
// waits for the proof that this replica leads has it.
inline void ProveLeadership(ShardHarness& shard, PartitionId partition, uint64_t session) {
  const raft::Replica& replica = shard.Replica(partition);
  const int64_t epoch = replica.election().epoch.value();
  (void)FetchSeen(shard, session, 1, 0,
                  {FetchAt(partition, epoch, replica.log().durable_end().value(), epoch,
                           replica.committed().value())});
  (void)FetchSeen(shard, session, 2, 1, {});
}

}  // namespace quorum::shard
