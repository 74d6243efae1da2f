#include "tests/storage/store_fixtures.h"

#include <vector>

#include "service/base/wire.h"

namespace quorum::storage {

RecordBatch MakeBatch(PartitionId partition, int64_t base_offset, int64_t epoch, uint32_t records,
                      size_t value_size) {
  BatchDraft draft;
  draft.record_count = records;
  draft.base_timestamp_ms = 1000;
  draft.max_timestamp_ms = 1000;
  for (uint32_t i = 0; i < records; ++i) {
    std::string record;
    wire::AddBytes(2, std::string(value_size, static_cast<char>('a' + base_offset % 26)), &record);
    wire::AddBytes(11, record, &draft.records);
  }
  return RecordBatch::Seal(partition, Offset(base_offset), Epoch(epoch), draft);
}

ReplicaKey KeyOf(int32_t node) {
  if (node == 1) return ReplicaKey{NodeId(1), kDirectory};
  return ReplicaKey{NodeId(node), DirectoryId{1, static_cast<uint64_t>(node)}};
}

VoterSet ThreeVoters() {
  std::vector<Voter> voters;
  for (const int32_t node : {1, 2, 3}) {
    voters.push_back(Voter{KeyOf(node), "127.0.0.1:710" + std::to_string(node)});
  }
  return VoterSet(std::move(voters));
}

ElectionState ElectionOf(int64_t epoch, int32_t voted) {
  ElectionState election;
  election.epoch = Epoch(epoch);
  election.voted = KeyOf(voted);
  return election;
}

FormatPlan MakePlan(bool join) {
  FormatPlan plan;
  plan.identity.cluster_id = "test";
  plan.identity.node = NodeId(1);
  plan.identity.directory = kDirectory;
  plan.identity.lanes = 4;
  if (!join) plan.initial_voters = ThreeVoters();
  return plan;
}

ExpectedIdentity MakeExpected() { return ExpectedIdentity{"test", NodeId(1)}; }

WriteSet BirthSet(PartitionId partition) {
  WriteSet set;
  ElectionState election;
  election.epoch = Epoch(1);
  set.writes.push_back(BirthReplica{partition, ThreeVoters(), election});
  set.exact_floor = true;
  return set;
}

WriteSet AppendSet(PartitionId partition, int64_t base_offset, int64_t epoch, bool starts_epoch,
                   uint32_t records, size_t value_size) {
  WriteSet set;
  set.writes.push_back(
      AppendBatch{partition, MakeBatch(partition, base_offset, epoch, records, value_size)});
  if (starts_epoch) {
    set.writes.push_back(PutLeaderEpoch{partition, Epoch(epoch), Offset(base_offset)});
  }
  return set;
}

WriteSet ElectionSet(PartitionId partition, int64_t epoch, int32_t voted) {
  WriteSet set;
  set.writes.push_back(PutElectionState{partition, ElectionOf(epoch, voted)});
  set.exact_floor = true;
  return set;
}

const RecoveredReplica* FindReplica(const RecoveredStore& store, PartitionId partition) {
  for (const RecoveredReplica& replica : store.replicas) {
    if (replica.partition == partition) return &replica;
  }
  return nullptr;
}

}  // namespace quorum::storage
