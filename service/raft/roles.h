// The six roles of a replica as data (protocol.md 2.2). What belongs to a role dies with it. Epoch,
// leader and vote are no role's: they stand in QuorumState.
//
// Thread: plain values.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/raft/election.h"
#include "service/raft/event.h"
#include "service/raft/replica_progress.h"
#include "service/raft/trace.h"

namespace quorum::raft {

// Waits for a leader, or for its own election timer. Observers without a leader are here for as
// long as it takes.
struct Unattached {
  // kNever for an observer.
  MonoTime election_deadline = kNever;
};

// Polls the voters whether they would vote for it, in the same epoch and without binding anybody
// (KIP-996). The only way to become Candidate.
struct Prospective {
  Election election;
  MonoTime election_deadline;
};

// Has voted for itself in its epoch and asks the others.
struct Candidate {
  Election election;
  MonoTime election_deadline;
};

// A Fetch that waits for records or for the watermark.
struct ParkedFetch {
  Token token = 0;
  std::optional<ReplicaKey> replica;
  Offset fetch_offset;
  KnownHighWatermark known_high_watermark = KnownHighWatermark::kNotAsked;
  Offset high_watermark;
};

// An append that is in the log and waits for its commit.
struct PendingAppend {
  Token token = 0;
  Offset base_offset;
  Offset next_offset;
};

struct Leader {
  // Where the LeaderChange record of this epoch stands.
  Offset epoch_start;
  // True once the watermark has passed epoch_start.
  bool ready = false;
  // Every replica that has fetched in this epoch, and every voter but this one.
  std::map<ReplicaKey, ReplicaProgress> progress;
  std::vector<ParkedFetch> parked;
  // Ordered by offset. Bounded by Config::appends_in_flight_max.
  std::deque<PendingAppend> pending_appends;
  // When BeginQuorumEpoch is next sent to the voters that do not fetch.
  MonoTime begin_due;
  MonoTime check_quorum_deadline;
  // When this leadership began.
  MonoTime since;
};

struct Follower {
  MonoTime fetch_deadline;
  // This stint's fetch timeout: the configured one plus its random part.
  Duration fetch_timeout;
  // A Fetch of this stint has succeeded: pre-votes of others are refused from then on.
  bool has_fetched = false;
  // The leader has said that it resigns; fetch_deadline is the back-off that it gave.
  bool leader_resigned = false;
};

// Led this epoch, and never will again. Tells the others until one of them takes over.
struct Resigned {
  struct Notice {
    ReplicaKey voter;
    MonoTime send_at;
    uint64_t request_number = 0;
    int failures = 0;
  };
  std::vector<Notice> unacknowledged;
  std::vector<ReplicaKey> successors;
  MonoTime election_deadline;
};

using Role = std::variant<Unattached, Prospective, Candidate, Leader, Follower, Resigned>;

RoleKind KindOf(const Role& role);

}  // namespace quorum::raft
