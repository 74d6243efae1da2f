// How a WriteSet, and the node's own records, become keys and values. The encoder keeps no state:
// what a write removes is always a range of keys.
//
// Thread: pure functions over the sink.

#pragma once

#include <cstdint>
#include <optional>

#include "service/base/ids.h"
#include "service/base/voter_set.h"
#include "storage/api/recovery.h"
#include "storage/api/write_set.h"
#include "storage/layout/image.h"

namespace quorum::storage {

// What `format` makes out of a blank directory.
struct FormatPlan {
  // Cluster, node, directory and lanes; the incarnation is not used, it starts at 0.
  NodeIdentity identity;
  // Founding: the first voters of `__metadata`, with endpoints. Joining: empty; the directory stays
  // blank, without any replica.
  std::optional<VoterSet> initial_voters;
};

void EncodeWriteSet(const WriteSet& set, OperationSink* sink);

// Rides in each synced write: its number, which the acked floor is compared with.
void EncodeSyncedNumber(uint64_t number, OperationSink* sink);

void EncodeIncarnation(Incarnation incarnation, OperationSink* sink);

// All records of a formatted directory, for one atomic write, the formatted marker last. It is the
// synced write number 1.
void EncodeFormat(const FormatPlan& plan, OperationSink* sink);

}  // namespace quorum::storage
