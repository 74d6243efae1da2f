#include "storage/layout/write_encoder.h"

#include <string>

#include "service/base/check.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/producer_codec.h"
#include "storage/layout/value_codec.h"

namespace quorum::storage {
namespace {

void PutNumber(ColumnFamily family, absl::string_view key, int64_t number, OperationSink* sink) {
  sink->Put(family, key, EncodeNumber({family, key}, number));
}

void PutReplicaNumber(PartitionId partition, ReplicaField field, int64_t number,
                      OperationSink* sink) {
  PutNumber(ColumnFamily::kDefault, ReplicaKeyOf(partition, field), number, sink);
}

void PutElection(PartitionId partition, const ElectionState& election, OperationSink* sink) {
  const std::string key = PartitionKey(partition);
  sink->Put(ColumnFamily::kQuorumState, key,
            EncodeElection({ColumnFamily::kQuorumState, key}, election));
}

void PutBirth(PartitionId partition, const BirthRecord& birth, OperationSink* sink) {
  const std::string key = ReplicaKeyOf(partition, ReplicaField::kBirth);
  sink->Put(ColumnFamily::kDefault, key, EncodeBirth({ColumnFamily::kDefault, key}, birth));
}

void Encode(const PutElectionState& write, OperationSink* sink) {
  PutElection(write.partition, write.election, sink);
}

void Encode(const AppendBatch& write, OperationSink* sink) {
  sink->Put(ColumnFamily::kLog, OffsetKey(write.partition, write.batch.base_offset()),
            write.batch.bytes());
}

void Encode(const PutLeaderEpoch& write, OperationSink* sink) {
  PutNumber(ColumnFamily::kLeaderEpochs, OffsetKey(write.partition, write.start),
            write.epoch.value(), sink);
}

void Encode(const PutVoters& write, OperationSink* sink) {
  const std::string key = OffsetKey(write.partition, write.offset);
  sink->Put(ColumnFamily::kVoters, key, EncodeVoters({ColumnFamily::kVoters, key}, write.voters));
}

// The end bound becomes exactly the new end: the log is that long now, and an older, higher bound
// would call the truncation damage.
void Encode(const TruncateLog& write, OperationSink* sink) {
  const std::string begin = OffsetKey(write.partition, write.end);
  const std::string end = PartitionEndKey(write.partition);
  sink->DeleteRange(ColumnFamily::kLog, begin, end);
  sink->DeleteRange(ColumnFamily::kLeaderEpochs, begin, end);
  sink->DeleteRange(ColumnFamily::kVoters, begin, end);
  PutReplicaNumber(write.partition, ReplicaField::kEndBound, write.end.value(), sink);
}

void Encode(const PutBounds& write, OperationSink* sink) {
  PutReplicaNumber(write.partition, ReplicaField::kEndBound, write.end.value(), sink);
  PutReplicaNumber(write.partition, ReplicaField::kHighWatermarkBound, write.high_watermark.value(),
                   sink);
}

void Encode(const PutProducers& write, OperationSink* sink) {
  constexpr ColumnFamily kFamily = ColumnFamily::kProducers;
  for (const ProducerState& producer : write.changed) {
    const std::string key = ProducerKey(write.partition, producer.id);
    sink->Put(kFamily, key, EncodeProducer({kFamily, key}, producer));
  }
  for (const int64_t id : write.removed) sink->Delete(kFamily, ProducerKey(write.partition, id));
  const std::string key = PartitionKey(write.partition);
  sink->Put(kFamily, key, EncodeProducerSummary({kFamily, key}, write.summary));
}

void Encode(const BirthReplica& write, OperationSink* sink) {
  PutBirth(write.partition, BirthRecord{false, write.initial_voters}, sink);
  PutReplicaNumber(write.partition, ReplicaField::kLogStart, 0, sink);
  PutElection(write.partition, write.election, sink);
}

void Encode(const BuryReplica& write, OperationSink* sink) {
  const std::string begin = PartitionKey(write.partition);
  const std::string end = PartitionEndKey(write.partition);
  sink->DeleteRange(ColumnFamily::kLog, begin, end);
  sink->DeleteRange(ColumnFamily::kLeaderEpochs, begin, end);
  sink->DeleteRange(ColumnFamily::kVoters, begin, end);
  sink->DeleteRange(ColumnFamily::kProducers, begin, end);
  sink->DeleteRange(ColumnFamily::kSnapshots, begin, end);
  for (const ReplicaField field :
       {ReplicaField::kLogStart, ReplicaField::kEndBound, ReplicaField::kHighWatermarkBound}) {
    sink->Delete(ColumnFamily::kDefault, ReplicaKeyOf(write.partition, field));
  }
  PutBirth(write.partition, BirthRecord{true, std::nullopt}, sink);
}

void Encode(const PutCatalogPosition& write, OperationSink* sink) {
  PutNumber(ColumnFamily::kDefault, kCatalogPositionKey, write.offset.value(), sink);
}

}  // namespace

void EncodeWriteSet(const WriteSet& set, OperationSink* sink) {
  for (const Write& write : set.writes) {
    std::visit([sink](const auto& kind) { Encode(kind, sink); }, write);
  }
}

void EncodeSyncedNumber(uint64_t number, OperationSink* sink) {
  PutNumber(ColumnFamily::kDefault, kSyncedNumberKey, static_cast<int64_t>(number), sink);
}

void EncodeIncarnation(Incarnation incarnation, OperationSink* sink) {
  PutNumber(ColumnFamily::kDefault, kIncarnationKey, static_cast<int64_t>(incarnation.value()),
            sink);
}

void EncodeFormat(const FormatPlan& plan, OperationSink* sink) {
  CHECK(!plan.identity.directory.IsZero());
  const ValuePlace identity{ColumnFamily::kDefault, kIdentityKey};
  sink->Put(identity.family, identity.key, EncodeIdentity(identity, plan.identity));
  EncodeIncarnation(Incarnation(0), sink);
  EncodeSyncedNumber(1, sink);
  Encode(PutCatalogPosition{Offset(0)}, sink);
  if (plan.initial_voters.has_value()) {
    Encode(BirthReplica{kMetadataPartition, plan.initial_voters, ElectionState{}}, sink);
  }
  const ValuePlace marker{ColumnFamily::kDefault, kFormattedKey};
  sink->Put(marker.family, marker.key, EncodeIdentity(marker, plan.identity));
}

}  // namespace quorum::storage
