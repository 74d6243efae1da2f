// The part of recovery that brings back a replica's producers; see recover.h.
//
// Thread: pure functions over the image.

#pragma once

#include "absl/status/status.h"
#include "storage/api/recovery.h"
#include "storage/layout/image.h"

namespace quorum::storage {

// Fills in what is stored of the producers and the headers of the batches above it; log_start,
// log_end and high_watermark_bound are known already. Where nothing is stored the whole log is
// read. DATA_LOSS when a value or a batch is damaged, or the two do not fit together; UNIMPLEMENTED
// for an unknown version.
absl::Status RecoverProducers(const Image& image, RecoveredReplica* replica);

}  // namespace quorum::storage
