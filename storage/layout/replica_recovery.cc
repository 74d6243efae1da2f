#include "storage/layout/replica_recovery.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/producer_recovery.h"
#include "storage/layout/read_batches.h"

namespace quorum::storage {
namespace {

// A Status of this family's damage; UNIMPLEMENTED is an unknown version.
absl::Status ReadLeaderEpochs(const Image& image, RecoveredReplica* replica) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kLeaderEpochs);
  auto& epochs = replica->leader_epochs;
  for (cursor->Seek(PartitionKey(replica->partition)); AtPartition(*cursor, replica->partition);
       cursor->Next()) {
    const absl::StatusOr<int64_t> epoch =
        DecodeNumber({ColumnFamily::kLeaderEpochs, cursor->key()}, cursor->value());
    if (!epoch.ok()) return epoch.status();
    const std::optional<ParsedOffsetKey> key = ParseOffsetKey(cursor->key());
    if (!key.has_value() || (!epochs.empty() && Epoch(*epoch) <= epochs.back().first)) {
      return absl::DataLossError(absl::StrCat("The leader epochs do not rise at ", *epoch, "."));
    }
    epochs.emplace_back(Epoch(*epoch), key->offset);
  }
  return cursor->status();
}

absl::Status ReadVoters(const Image& image, RecoveredReplica* replica) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kVoters);
  for (cursor->Seek(PartitionKey(replica->partition)); AtPartition(*cursor, replica->partition);
       cursor->Next()) {
    absl::StatusOr<VoterSet> voters =
        DecodeVoters({ColumnFamily::kVoters, cursor->key()}, cursor->value());
    if (!voters.ok()) return voters.status();
    const std::optional<ParsedOffsetKey> key = ParseOffsetKey(cursor->key());
    if (!key.has_value()) return absl::DataLossError("A key of voters is malformed.");
    replica->voters.Append(key->offset, *std::move(voters));
  }
  return cursor->status();
}

// The epoch that the index gives the record at `offset`; 0 before the first one.
Epoch EpochAt(const RecoveredReplica& replica, Offset offset) {
  Epoch epoch;
  for (const auto& [candidate, start] : replica.leader_epochs) {
    if (start > offset) break;
    epoch = candidate;
  }
  return epoch;
}

// Checks one batch of the tail against the one after it (`next`, absent for the last).
absl::Status CheckBatch(const RecoveredReplica& replica, const RecordBatch& batch,
                        std::optional<Offset> next) {
  const Offset base = batch.base_offset();
  if (next.has_value() && batch.next_offset() != *next) {
    return absl::DataLossError(absl::StrCat("The log has a gap or an overlap between ",
                                            batch.next_offset().value(), " and ", next->value(),
                                            "."));
  }
  if (EpochAt(replica, base) != batch.epoch() ||
      EpochAt(replica, batch.last_offset()) != batch.epoch()) {
    return absl::DataLossError(absl::StrCat("The batch at ", base.value(), " is of epoch ",
                                            batch.epoch().value(),
                                            ", which the leader epochs contradict."));
  }
  return absl::OkStatus();
}

// Walks the log backwards from its end and sets log_end.
absl::Status CheckTail(const Image& image, size_t tail_bytes, RecoveredReplica* replica) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kLog);
  replica->log_end = replica->log_start;
  std::optional<Offset> next;
  size_t bytes = 0;
  for (cursor->SeekForPrev(PartitionEndKey(replica->partition));
       AtPartition(*cursor, replica->partition) && bytes < tail_bytes; cursor->Prev()) {
    const absl::StatusOr<RecordBatch> batch = BatchAt(*cursor, replica->partition);
    if (!batch.ok()) return batch.status();
    if (!next.has_value()) {
      replica->log_end = batch->next_offset();
      replica->last_timestamp_ms = batch->max_timestamp_ms();
    }
    const absl::Status checked = CheckBatch(*replica, *batch, next);
    if (!checked.ok()) return checked;
    next = batch->base_offset();
    bytes += batch->size();
  }
  return cursor->status();
}

absl::Status CheckFirstBatch(const Image& image, const RecoveredReplica& replica) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kLog);
  cursor->Seek(PartitionKey(replica.partition));
  if (!AtPartition(*cursor, replica.partition)) return cursor->status();
  const std::optional<ParsedOffsetKey> key = ParseOffsetKey(cursor->key());
  if (!key.has_value() || key->offset != replica.log_start) {
    return absl::DataLossError(absl::StrCat("The log starts at ", replica.log_start.value(),
                                            ", its first batch does not."));
  }
  return absl::OkStatus();
}

// Checks the indexes and the lower bounds against the log's shape.
absl::Status CheckShape(const ReplicaRecords& records, const RecoveredReplica& replica) {
  const Offset end = replica.log_end;
  if (end < records.end_bound) {
    return absl::DataLossError(absl::StrCat("The log ends at ", end.value(), " but once reached ",
                                            records.end_bound.value(), "."));
  }
  if (end < records.high_watermark_bound) {
    return absl::DataLossError(absl::StrCat("The log ends at ", end.value(),
                                            " but was committed up to ",
                                            records.high_watermark_bound.value(), "."));
  }
  if (!replica.leader_epochs.empty() && replica.leader_epochs.back().second >= end) {
    return absl::DataLossError("A leader epoch starts at or above the log end.");
  }
  if (replica.voters.LatestOffset().has_value() && *replica.voters.LatestOffset() >= end) {
    return absl::DataLossError("A voter set lies at or above the log end.");
  }
  return absl::OkStatus();
}

absl::Status RebuildLog(const Image& image, const ReplicaRecords& records, size_t tail_bytes,
                        RecoveredReplica* replica) {
  absl::Status status = ReadLeaderEpochs(image, replica);
  status.Update(ReadVoters(image, replica));
  if (records.damage.has_value()) status.Update(absl::DataLossError(*records.damage));
  if (records.log_start.has_value()) {
    replica->log_start = *records.log_start;
  } else {
    status.Update(absl::DataLossError("The log start is missing."));
  }
  status.Update(CheckTail(image, tail_bytes, replica));
  status.Update(CheckFirstBatch(image, *replica));
  status.Update(CheckShape(records, *replica));
  return status;
}

}  // namespace

std::optional<StoreError> RecoverReplica(const Image& image, PartitionId partition,
                                         const ReplicaRecords& records, size_t tail_bytes,
                                         RecoveredReplica* result) {
  result->partition = partition;
  result->election = *records.election;
  result->tombstone = records.birth->tombstone;
  if (result->tombstone) return std::nullopt;
  result->voters = VoterSetHistory(records.birth->initial_voters);
  const absl::Status status = RebuildLog(image, records, tail_bytes, result);
  if (absl::IsUnimplemented(status)) return ErrorOfStatus(status);
  if (!status.ok()) result->damage = std::string(status.message());
  result->high_watermark_bound = std::min(records.high_watermark_bound, result->log_end);
  if (status.ok()) {
    const absl::Status producers = RecoverProducers(image, result);
    if (absl::IsUnimplemented(producers)) return ErrorOfStatus(producers);
    if (!producers.ok()) result->damage = std::string(producers.message());
  }
  if (!result->leader_epochs.empty() &&
      result->leader_epochs.back().first > result->election.epoch) {
    return DamageError(
        kQuorumStateBehindLog,
        absl::StrCat("The log of replica ", partition.topic.value(), "-", partition.index,
                     " holds epoch ", result->leader_epochs.back().first.value(),
                     ", its quorum state only ", result->election.epoch.value(),
                     ": votes may be forgotten."));
  }
  return std::nullopt;
}

}  // namespace quorum::storage
