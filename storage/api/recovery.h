// What a store gives back when it opens: the node's identity and each replica as the synced writes
// left it.
//
// Thread: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/producer.h"
#include "service/base/voter_set.h"

namespace quorum::storage {

// Who this data directory is. Written by format, never changed but for the incarnation.
struct NodeIdentity {
  std::string cluster_id;
  NodeId node;
  DirectoryId directory;
  // Raised by one, durably, each time the directory is opened by a server.
  Incarnation incarnation;
  // Lanes of the whole cluster, fixed at format. Range [1, 1024].
  uint32_t lanes = 16;

  ReplicaKey key() const { return ReplicaKey{node, directory}; }
};

// One replica that lives, or lived, on this directory.
struct RecoveredReplica {
  PartitionId partition;
  // A replica that was buried: only `election` has a meaning.
  bool tombstone = false;
  ElectionState election;
  Offset log_start;
  Offset log_end;
  // Epoch and start offset, both strictly rising.
  std::vector<std::pair<Epoch, Offset>> leader_epochs;
  VoterSetHistory voters;
  // Everything below was committed as far as this replica once knew. At most log_end.
  Offset high_watermark_bound;
  // The largest batch timestamp in the log; later batches must not have a lower one.
  int64_t last_timestamp_ms = 0;
  // What was stored of its producers, and the batches above that offset, in order, up to log_end.
  // Batches that cannot be cut any more, and that no producer made, may stand there as one.
  StoredProducers producers;
  std::vector<BatchHeader> batches_above;
  // Why the replica must be quarantined; empty when it is sound.
  std::optional<std::string> damage;
};

struct RecoveredStore {
  NodeIdentity node;
  // The catalog has been acted on up to here.
  Offset catalog_position;
  std::vector<RecoveredReplica> replicas;
};

}  // namespace quorum::storage
