// Reads batches out of an image: what LogReader promises, for any store.
//
// Thread: pure functions over the image.

#pragma once

#include "storage/api/log_reader.h"
#include "storage/layout/image.h"

namespace quorum::storage {

// Answers `request` as LogReader does. Each batch's checksum, place and continuity is checked.
ReadResult ReadBatches(const Image& image, const ReadRequest& request);

// The batch at the cursor, checked against its key: DATA_LOSS when the checksum does not match, or
// when it lies under another partition's or another offset's key.
absl::StatusOr<RecordBatch> BatchAt(const Cursor& cursor, PartitionId partition);

// True when the cursor is at a key of the partition, in a family keyed by partition and offset.
bool AtPartition(const Cursor& cursor, PartitionId partition);

}  // namespace quorum::storage
