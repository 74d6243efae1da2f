// Format: makes a data directory out of a blank one. An explicit act of the administrator; a server
// never does it.
//
// Everything that the directory is goes into one synced write that ends with the formatted marker,
// so that a crash leaves a directory that is formatted, or one that is refused as HALF_FORMATTED.
//
// Thread: any; takes the directory's lock while it runs.

#pragma once

#include <optional>
#include <string>

#include "service/base/ids.h"
#include "service/base/voter_set.h"
#include "storage/api/recovery.h"
#include "storage/layout/store_error.h"
#include "storage/rocksdb/rocks_options.h"

namespace quorum::storage {

struct FormatRequest {
  // 1 to 255 characters.
  std::string cluster_id;
  NodeId node;
  // Not zero. Drawn at random by the caller unless the administrator gave one.
  DirectoryId directory;
  // The administrator gave it: a directory formatted under another one is then refused.
  bool directory_given = false;
  uint32_t lanes = 16;
  // Founding a cluster: the first voters of `__metadata` with their endpoints; this node and
  // directory must be one of them. Absent when joining.
  std::optional<VoterSet> initial_voters;
};

struct FormatResult {
  // It was formatted for this cluster and node before; nothing was changed.
  bool already_formatted = false;
  // What the directory is now; the directory id may be an older one than the request's.
  NodeIdentity node;
};

// BAD_REQUEST, NOT_EMPTY (something else lies there), HALF_FORMATTED, CLUSTER_MISMATCH,
// NODE_MISMATCH, DIRECTORY_MISMATCH, LOCKED, or what a damaged store gives.
std::optional<StoreError> Format(const std::string& directory, const FormatRequest& request,
                                 const RocksTuning& tuning, FormatResult* result);

}  // namespace quorum::storage
