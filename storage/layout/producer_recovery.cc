#include "storage/layout/producer_recovery.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/producer_codec.h"
#include "storage/layout/read_batches.h"

namespace quorum::storage {
namespace {

bool IsOf(const Cursor& cursor, PartitionId partition) {
  return cursor.Valid() && cursor.key().size() >= kPartitionKeySize &&
         cursor.key().substr(0, kPartitionKeySize) == PartitionKey(partition);
}

// The summary's key is the smallest of the partition.
absl::Status ReadSummary(const Cursor& cursor, RecoveredReplica* replica) {
  absl::StatusOr<ProducerSummary> summary =
      DecodeProducerSummary({ColumnFamily::kProducers, cursor.key()}, cursor.value());
  if (!summary.ok()) return summary.status();
  replica->producers.summary = *summary;
  return absl::OkStatus();
}

absl::Status ReadProducer(const Cursor& cursor, RecoveredReplica* replica) {
  const std::optional<ParsedProducerKey> key = ParseProducerKey(cursor.key());
  if (!key.has_value()) return absl::DataLossError("A key of producers is malformed.");
  absl::StatusOr<ProducerState> producer =
      DecodeProducer({ColumnFamily::kProducers, cursor.key()}, cursor.value());
  if (!producer.ok()) return producer.status();
  producer->id = key->producer_id;
  if (producer->last_offset >= replica->producers.summary.offset) {
    return absl::DataLossError(absl::StrCat("Producer ", producer->id, " is newer than offset ",
                                            replica->producers.summary.offset.value(),
                                            ", which the producers are stored for."));
  }
  replica->producers.producers.push_back(*std::move(producer));
  return absl::OkStatus();
}

absl::Status ReadStored(const Image& image, RecoveredReplica* replica) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kProducers);
  cursor->Seek(PartitionKey(replica->partition));
  if (!IsOf(*cursor, replica->partition)) {
    if (!cursor->status().ok() || replica->log_start == Offset(0)) return cursor->status();
    return absl::DataLossError("The producers of the log below its start are missing.");
  }
  if (cursor->key().size() != kPartitionKeySize) {
    return absl::DataLossError("There are producers, but not up to which offset.");
  }
  absl::Status status = ReadSummary(*cursor, replica);
  for (cursor->Next(); status.ok() && IsOf(*cursor, replica->partition); cursor->Next()) {
    status = ReadProducer(*cursor, replica);
  }
  status.Update(cursor->status());
  return status;
}

// No producer, no binding, and committed: a run of such batches does what one does.
bool IsPlain(const BatchHeader& header, Offset committed) {
  return !header.producer.has_value() && header.bindings.empty() && header.next_offset <= committed;
}

void AddHeader(BatchHeader header, Offset committed, std::vector<BatchHeader>* headers) {
  const bool joins = !headers->empty() && IsPlain(header, committed) &&
                     IsPlain(headers->back(), committed) &&
                     headers->back().control == header.control;
  if (!joins) {
    headers->push_back(std::move(header));
    return;
  }
  BatchHeader& last = headers->back();
  last.next_offset = header.next_offset;
  last.base_timestamp_ms = std::max(last.base_timestamp_ms, header.base_timestamp_ms);
}

absl::Status ReadHeaders(const Image& image, RecoveredReplica* replica) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kLog);
  Offset next = replica->producers.summary.offset;
  for (cursor->Seek(OffsetKey(replica->partition, next)); AtPartition(*cursor, replica->partition);
       cursor->Next()) {
    const absl::StatusOr<RecordBatch> batch = BatchAt(*cursor, replica->partition);
    if (!batch.ok()) return batch.status();
    if (batch->base_offset() != next) break;
    absl::StatusOr<BatchHeader> header = HeaderOf(*batch);
    if (!header.ok()) return header.status();
    next = batch->next_offset();
    AddHeader(*std::move(header), replica->high_watermark_bound, &replica->batches_above);
  }
  if (!cursor->status().ok()) return cursor->status();
  if (next == replica->log_end) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "The producers are stored for offset ", replica->producers.summary.offset.value(),
      ", but the log cannot be read on from ", next.value(), "."));
}

}  // namespace

absl::Status RecoverProducers(const Image& image, RecoveredReplica* replica) {
  const absl::Status status = ReadStored(image, replica);
  if (!status.ok()) return status;
  const Offset stored = replica->producers.summary.offset;
  if (stored < replica->log_start || stored > replica->log_end) {
    return absl::DataLossError(absl::StrCat("The producers are stored for offset ", stored.value(),
                                            ", which is not in the log."));
  }
  return ReadHeaders(image, replica);
}

}  // namespace quorum::storage
