// What the oracle remembers of each partition and each replica, across process lives. All of it
// comes from what the product wrote, said or showed, seen from outside.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/base/voter_set.h"
#include "tests/sim/replica_log.h"

namespace quorum::sim {

struct ReplicaView {
  // Submitted by the running process, whether or not it is synced.
  ReplicaLog submitted;
  // On the platter.
  ReplicaLog durable;
  // How many leading batches of the two logs are the same. Only these are the replica's durable
  // end: what lies behind a cut that is still on its way counts for nothing.
  size_t agreed = 0;
  // On the platter; absent before the birth is.
  std::optional<ElectionState> durable_election;
  // The epoch that it was in as of the newest write that it has submitted.
  Epoch submitted_epoch;
  // Highest values shown in this process life.
  Offset committed;
  Offset exposed;
  // What was on the platter when it was buried. Whoever has counted it before may commit on it,
  // although the partition is deleted.
  ReplicaLog held_until;
  // A bit of its log was flipped: it may be quarantined at any time.
  bool damaged = false;
  // Its directory was wiped: nothing of it will ever be heard again.
  bool gone = false;

  Offset TrueDurableEnd() const {
    return agreed == 0 ? Offset(0) : submitted[agreed - 1].next_offset();
  }
};

// Who led an epoch, in which process life; `firm` once it was on disk.
struct Leadership {
  ReplicaKey leader;
  uint64_t life = 0;
  bool firm = false;
};

// What (offset, epoch) names, for ever.
struct NamedBatch {
  RecordBatch batch;
  // The epoch of the batch before it; 0 at the start of the log.
  Epoch previous;
  // How many logs hold it, submitted or durable.
  int holders = 0;
};

struct PartitionView {
  VoterSet voters;
  std::map<ReplicaKey, ReplicaView> replicas;
  // What some leader has committed. Never shrinks.
  ReplicaLog committed;
  // The epoch whose leader committed each batch of it.
  std::vector<Epoch> committed_in;
  std::map<Epoch, Leadership> leaders;
  std::map<std::pair<Epoch, ReplicaKey>, ReplicaKey> votes;
  std::map<std::pair<int64_t, Epoch>, NamedBatch> names;
};

}  // namespace quorum::sim
