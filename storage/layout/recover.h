// Recovery: from the image of a store that was just opened to what the node starts from. It only
// reads. Whatever makes the whole store unusable is a StoreError; damage of one replica whose
// quorum state is intact is that replica's `damage`, and the others live.
//
// Checked: every node record, birth and quorum state; every leader epoch, voter set and producer;
// of each log the first key, what lies above the stored producers, and a tail (checksum, place,
// continuity, epochs) that is as long as the budget allows, the whole log where it fits. A batch
// below the tail is checked when it is read, and by VerifyImage (dump.h).
//
// Thread: pure functions over the image.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "service/base/ids.h"
#include "storage/api/recovery.h"
#include "storage/layout/image.h"
#include "storage/layout/store_error.h"

namespace quorum::storage {

struct RecoveryBudget {
  // Shared by all logs in equal parts.
  size_t total_bytes = size_t{1} << 30;
  // At least this much of each log, however many there are.
  size_t replica_bytes_min = size_t{1} << 20;
};

// Who the caller believes that the directory belongs to.
struct ExpectedIdentity {
  std::string cluster_id;
  NodeId node;
};

struct RecoveredImage {
  RecoveredStore store;
  // Number of the newest synced write that survived.
  uint64_t synced_number = 0;
};

// The identity, incarnation and catalog position, and the number of the newest synced write.
// HALF_FORMATTED when the formatted marker is absent.
std::optional<StoreError> ReadNodeRecords(const Image& image, RecoveredImage* result);

// CLUSTER_MISMATCH or NODE_MISMATCH.
std::optional<StoreError> CheckIdentity(const NodeIdentity& found,
                                        const ExpectedIdentity& expected);

// Fills `result` completely, replicas sorted by partition, or says why the store is unusable.
std::optional<StoreError> RecoverImage(const Image& image, const RecoveryBudget& budget,
                                       RecoveredImage* result);

}  // namespace quorum::storage
