#include "storage/layout/dump.h"

#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "storage/layout/field_line.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/read_batches.h"
#include "storage/layout/recover.h"
#include "storage/layout/value_codec.h"

namespace quorum::storage {
namespace {

void AddPartition(PartitionId partition, FieldLine* line) {
  line->AddNumber("topic", static_cast<int64_t>(partition.topic.value()));
  line->AddNumber("partition", partition.index);
}

void AddReplica(absl::string_view name, const std::optional<ReplicaKey>& key, FieldLine* line) {
  if (!key.has_value()) return;
  line->AddNumber(absl::StrCat(name, "_id"), key->id.value());
  line->AddText(absl::StrCat(name, "_directory"), key->directory.ToString());
}

std::string VoterText(const VoterSet& voters) {
  std::string text;
  for (const Voter& voter : voters) {
    absl::StrAppend(&text, text.empty() ? "" : ",", voter.key.id.value(), "-",
                    voter.key.directory.ToString(), "@", voter.endpoint);
  }
  return text;
}

FieldLine BatchLine(PartitionId partition, const RecordBatch& batch, DumpFormat format) {
  FieldLine line(format);
  AddPartition(partition, &line);
  line.AddNumber("base_offset", batch.base_offset().value());
  line.AddNumber("last_offset", batch.last_offset().value());
  line.AddNumber("epoch", batch.epoch().value());
  line.AddNumber("records", batch.record_count());
  line.AddNumber("bytes", static_cast<int64_t>(batch.size()));
  line.AddNumber("max_timestamp_ms", batch.max_timestamp_ms());
  line.AddText("kind", batch.control() ? "control" : "data");
  if (batch.producer().has_value()) {
    line.AddNumber("producer_id", batch.producer()->id);
    line.AddNumber("producer_epoch", batch.producer()->epoch);
    line.AddNumber("base_sequence", batch.producer()->base_sequence);
  }
  return line;
}

FieldLine DamagedBatchLine(PartitionId partition, const Cursor& cursor, const absl::Status& status,
                           DumpFormat format) {
  FieldLine line(format);
  AddPartition(partition, &line);
  const std::optional<ParsedOffsetKey> key = ParseOffsetKey(cursor.key());
  if (key.has_value()) line.AddNumber("base_offset", key->offset.value());
  line.AddText("damage", std::string(status.message()));
  return line;
}

FieldLine ReplicaLine(const RecoveredReplica& replica, DumpFormat format) {
  FieldLine line(format);
  AddPartition(replica.partition, &line);
  if (replica.tombstone) {
    line.AddText("state", "tombstone");
    return line;
  }
  line.AddText("state", replica.damage.has_value() ? "damaged" : "sound");
  line.AddNumber("log_start", replica.log_start.value());
  line.AddNumber("log_end", replica.log_end.value());
  line.AddNumber("high_watermark_bound", replica.high_watermark_bound.value());
  line.AddNumber("epoch", replica.election.epoch.value());
  line.AddText("voters", VoterText(replica.voters.Latest()));
  line.AddNumber("producers", static_cast<int64_t>(replica.producers.producers.size()));
  line.AddNumber("producers_at", replica.producers.summary.offset.value());
  if (replica.damage.has_value()) line.AddText("damage", *replica.damage);
  return line;
}

// Every value under the family that recovery only looks at the keys of.
std::optional<StoreError> CheckReservedFamily(const Image& image) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kSnapshots);
  for (cursor->Seek(""); cursor->Valid(); cursor->Next()) {
    const auto payload = OpenValue({ColumnFamily::kSnapshots, cursor->key()}, cursor->value());
    if (!payload.ok()) return ErrorOfStatus(payload.status());
  }
  if (!cursor->status().ok()) return ErrorOfStatus(cursor->status());
  return std::nullopt;
}

StoreError NeverHeld() {
  return ConfigError(kBadRequest, "This directory never held that partition.");
}

// An error where an empty log is none at all.
std::optional<StoreError> CheckHeld(const Image& image, PartitionId partition) {
  std::string value;
  const absl::Status found = image.Get(ColumnFamily::kQuorumState, PartitionKey(partition), &value);
  if (absl::IsNotFound(found)) return NeverHeld();
  return found.ok() ? std::nullopt : std::optional<StoreError>(ErrorOfStatus(found));
}

}  // namespace

std::optional<StoreError> DumpNode(const Image& image, DumpFormat format, const LineSink& sink) {
  RecoveredImage found;
  if (auto error = ReadNodeRecords(image, &found)) return error;
  const NodeIdentity& node = found.store.node;
  FieldLine line(format);
  line.AddText("cluster_id", node.cluster_id);
  line.AddNumber("node_id", node.node.value());
  line.AddText("directory_id", node.directory.ToString());
  line.AddNumber("incarnation", static_cast<int64_t>(node.incarnation.value()));
  line.AddNumber("lanes", node.lanes);
  line.AddNumber("catalog_position", found.store.catalog_position.value());
  line.AddNumber("synced_number", static_cast<int64_t>(found.synced_number));
  sink(line.Finish());
  return std::nullopt;
}

std::optional<StoreError> DumpQuorumState(const Image& image, std::optional<PartitionId> only,
                                          DumpFormat format, const LineSink& sink) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kQuorumState);
  bool found = false;
  for (cursor->Seek(""); cursor->Valid(); cursor->Next()) {
    const std::optional<PartitionId> partition = ParsePartitionKey(cursor->key());
    if (!partition.has_value()) return DamageError(kCorrupt, "A quorum state's key is malformed.");
    if (only.has_value() && *only != *partition) continue;
    const absl::StatusOr<ElectionState> election =
        DecodeElection({ColumnFamily::kQuorumState, cursor->key()}, cursor->value());
    if (!election.ok()) return ErrorOfStatus(election.status());
    found = true;
    FieldLine line(format);
    AddPartition(*partition, &line);
    line.AddNumber("epoch", election->epoch.value());
    AddReplica("leader", election->leader, &line);
    AddReplica("voted", election->voted, &line);
    sink(line.Finish());
  }
  if (!cursor->status().ok()) return ErrorOfStatus(cursor->status());
  if (only.has_value() && !found) return NeverHeld();
  return std::nullopt;
}

std::optional<StoreError> DumpLog(const Image& image, const DumpLogRequest& request,
                                  DumpFormat format, const LineSink& sink) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kLog);
  const std::string from = OffsetKey(request.partition, request.from);
  // The batch that holds the first offset may start below it.
  cursor->SeekForPrev(from);
  if (!AtPartition(*cursor, request.partition)) cursor->Seek(from);
  const bool seen = AtPartition(*cursor, request.partition);
  uint64_t damaged = 0;
  for (uint64_t lines = 0; lines < request.batches_max && AtPartition(*cursor, request.partition);
       cursor->Next()) {
    const absl::StatusOr<RecordBatch> batch = BatchAt(*cursor, request.partition);
    if (batch.ok() && batch->next_offset() <= request.from) continue;
    ++lines;
    if (batch.ok()) {
      sink(BatchLine(request.partition, *batch, format).Finish());
    } else {
      ++damaged;
      sink(DamagedBatchLine(request.partition, *cursor, batch.status(), format).Finish());
    }
  }
  if (!cursor->status().ok()) return ErrorOfStatus(cursor->status());
  if (damaged > 0) return DamageError(kCorrupt, absl::StrCat(damaged, " batches are damaged."));
  return seen ? std::nullopt : CheckHeld(image, request.partition);
}

std::optional<StoreError> VerifyImage(const Image& image, DumpFormat format, const LineSink& sink) {
  RecoveryBudget everything;
  everything.replica_bytes_min = std::numeric_limits<size_t>::max();
  RecoveredImage found;
  if (auto error = RecoverImage(image, everything, &found)) return error;
  if (auto error = CheckReservedFamily(image)) return error;
  int64_t damaged = 0;
  for (const RecoveredReplica& replica : found.store.replicas) {
    if (replica.damage.has_value()) ++damaged;
    sink(ReplicaLine(replica, format).Finish());
  }
  FieldLine line(format);
  line.AddNumber("replicas", static_cast<int64_t>(found.store.replicas.size()));
  line.AddNumber("damaged", damaged);
  line.AddNumber("synced_number", static_cast<int64_t>(found.synced_number));
  sink(line.Finish());
  if (damaged > 0) return DamageError(kCorrupt, absl::StrCat(damaged, " replicas are damaged."));
  return std::nullopt;
}

}  // namespace quorum::storage
