// The part of recovery that looks at one replica; see recover.h.
//
// Thread: pure functions over the image.

#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "storage/api/recovery.h"
#include "storage/layout/image.h"
#include "storage/layout/store_error.h"
#include "storage/layout/value_codec.h"

namespace quorum::storage {

// What `default` and `quorum_state` hold of one replica.
struct ReplicaRecords {
  std::optional<BirthRecord> birth;
  std::optional<ElectionState> election;
  std::optional<Offset> log_start;
  Offset end_bound;
  Offset high_watermark_bound;
  // Why one of the numbers above could not be read.
  std::optional<std::string> damage;
};

// Rebuilds one replica; `records` has a birth and an election. At least `tail_bytes` of the log are
// checked, or all of it. Only an unknown version, and a log that is newer than its quorum state,
// are errors of the store; everything else is `result->damage`.
std::optional<StoreError> RecoverReplica(const Image& image, PartitionId partition,
                                         const ReplicaRecords& records, size_t tail_bytes,
                                         RecoveredReplica* result);

}  // namespace quorum::storage
