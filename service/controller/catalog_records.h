// The records of `__metadata` on their way to and from bytes
// (proto/quorum/storage/v1/storage.proto). Each is keyed, so that ordinary compaction of the log
// would be the catalog's snapshot.
//
// Thread: pure functions.

#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "service/base/record_batch.h"
#include "service/base/record_codec.h"
#include "service/controller/catalog.h"

namespace quorum::controller {

// The record as a client of the log would write it.
RecordFields EncodeCatalogRecord(const CatalogRecord& record);

// A tombstone for a partition that is deleted with its topic.
RecordFields EncodePartitionTombstone(PartitionId partition);

// The record, or nothing for a tombstone, which says nothing that the topic's deletion has not
// said. DATA_LOSS when it cannot be read, UNIMPLEMENTED when its kind or version is newer than this
// program: a node that acted on without it would act on something else than its peers.
absl::StatusOr<std::optional<CatalogRecord>> DecodeCatalogRecord(const RecordFields& fields);

}  // namespace quorum::controller
