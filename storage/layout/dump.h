// Dump and verify: a store as lines for people and scripts. They read through an Image and so work
// on any store that is open for reading.
//
// Thread: pure functions over the image; lines are handed out in order on the caller's thread.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "service/base/ids.h"
#include "storage/layout/image.h"
#include "storage/layout/store_error.h"

namespace quorum::storage {

enum class DumpFormat {
  // key=value, blank separated.
  kText,
  // One JSON object a line. Offsets, epochs and ids are numbers, directory ids strings.
  kJson,
};

// Takes one line, without its newline.
using LineSink = std::function<void(const std::string&)>;

// The node's identity, incarnation, catalog position and newest synced write: one line.
std::optional<StoreError> DumpNode(const Image& image, DumpFormat format, const LineSink& sink);

// The quorum state, one line a replica, of `only` or of all of them.
std::optional<StoreError> DumpQuorumState(const Image& image, std::optional<PartitionId> only,
                                          DumpFormat format, const LineSink& sink);

// Which part of which log.
struct DumpLogRequest {
  PartitionId partition;
  Offset from;
  // Batches at most.
  uint64_t batches_max = UINT64_MAX;
};

// The headers of batches, one line each. A damaged batch gives a line that says so, and the dump
// goes on behind it; the answer is then CORRUPT.
std::optional<StoreError> DumpLog(const Image& image, const DumpLogRequest& request,
                                  DumpFormat format, const LineSink& sink);

// Checks every value of every column family and every batch. One line a replica with its shape and
// its damage, then one for the whole. CORRUPT, or what the store is unusable for, on any damage.
std::optional<StoreError> VerifyImage(const Image& image, DumpFormat format, const LineSink& sink);

}  // namespace quorum::storage
