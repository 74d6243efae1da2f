#include "tests/service/shard/shard_fixtures.h"

#include <utility>
#include <vector>

#include "service/base/wire.h"

namespace quorum::shard {

ReplicaKey Key(int32_t id) {
  return ReplicaKey{NodeId(id), DirectoryId{7, static_cast<uint64_t>(id)}};
}

VoterSet VotersOf(int32_t count) {
  std::vector<Voter> voters;
  for (int32_t id = 1; id <= count; ++id) voters.push_back(Voter{Key(id), ""});
  return VoterSet(std::move(voters));
}

PartitionId Id(uint64_t topic) { return PartitionId{TopicId(topic), 0}; }

BatchDraft DraftOf(uint32_t records, size_t value_size) {
  BatchDraft draft;
  draft.record_count = records;
  draft.base_timestamp_ms = 1000;
  draft.max_timestamp_ms = 1000;
  for (uint32_t i = 0; i < records; ++i) {
    std::string record;
    wire::AddBytes(2, std::string(value_size, 'v'), &record);
    wire::AddBytes(kRecordsField, record, &draft.records);
  }
  return draft;
}

RecordBatch BatchAt(PartitionId partition, int64_t base_offset, int64_t epoch, uint32_t records,
                    size_t value_size) {
  return RecordBatch::Seal(partition, Offset(base_offset), Epoch(epoch),
                           DraftOf(records, value_size));
}

}  // namespace quorum::shard
