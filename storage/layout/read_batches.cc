#include "storage/layout/read_batches.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/layout/key_codec.h"

namespace quorum::storage {
namespace {

// Moves to the batch that holds `from`, or else to the first one above it.
void SeekToHolder(PartitionId partition, Offset from, Cursor* cursor) {
  cursor->SeekForPrev(OffsetKey(partition, from));
  if (AtPartition(*cursor, partition) || !cursor->status().ok()) return;
  cursor->Seek(OffsetKey(partition, from));
}

}  // namespace

bool AtPartition(const Cursor& cursor, PartitionId partition) {
  if (!cursor.Valid()) return false;
  const absl::string_view key = cursor.key();
  return key.size() == kOffsetKeySize &&
         key.substr(0, kPartitionKeySize) == PartitionKey(partition);
}

absl::StatusOr<RecordBatch> BatchAt(const Cursor& cursor, PartitionId partition) {
  const std::optional<ParsedOffsetKey> key = ParseOffsetKey(cursor.key());
  if (!key.has_value()) return absl::DataLossError("A key of the log is malformed.");
  absl::StatusOr<RecordBatch> batch = RecordBatch::Parse(partition, cursor.value());
  if (!batch.ok()) {
    return absl::DataLossError(absl::StrCat("The batch at offset ", key->offset.value(),
                                            " is damaged: ", batch.status().message()));
  }
  if (batch->base_offset() != key->offset) {
    return absl::DataLossError(absl::StrCat("The batch under offset ", key->offset.value(),
                                            " was made for offset ", batch->base_offset().value(),
                                            "."));
  }
  return batch;
}

ReadResult ReadBatches(const Image& image, const ReadRequest& request) {
  std::vector<RecordBatch> batches;
  if (request.from >= request.end) return batches;
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kLog);
  SeekToHolder(request.partition, request.from, cursor.get());
  Offset next = request.from;
  size_t bytes = 0;
  const std::string end = OffsetKey(request.partition, request.end);
  while (AtPartition(*cursor, request.partition) && cursor->key() < end) {
    absl::StatusOr<RecordBatch> batch = BatchAt(*cursor, request.partition);
    if (!batch.ok()) return batch.status();
    cursor->Next();
    // Only the batch before the first one wanted can end at or below `from`.
    if (batches.empty() && batch->next_offset() <= request.from) continue;
    const bool continues =
        batches.empty() ? batch->base_offset() <= next : batch->base_offset() == next;
    if (!continues) {
      return absl::DataLossError(absl::StrCat("The batch that holds offset ", next.value(),
                                              " is missing; the next one starts at ",
                                              batch->base_offset().value(), "."));
    }
    if (!batches.empty() && bytes + batch->size() > request.max_bytes) break;
    bytes += batch->size();
    next = batch->next_offset();
    batches.push_back(*std::move(batch));
  }
  if (!cursor->status().ok()) return cursor->status();
  return batches;
}

}  // namespace quorum::storage
