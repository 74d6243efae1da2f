// TraceEvent: one value per role transition, granted vote, watermark move and truncation. The
// server writes them as JSON lines, the interaction goldens print them, the simulator counts them.
//
// Thread: plain values.

#pragma once

#include <optional>
#include <ostream>

#include "service/base/ids.h"

namespace quorum::raft {

enum class RoleKind { kUnattached, kProspective, kCandidate, kLeader, kFollower, kResigned };

const char* Name(RoleKind kind);
inline std::ostream& operator<<(std::ostream& out, RoleKind kind) { return out << Name(kind); }

enum class TraceKind {
  // `from` became `to`; epoch, leader and offset (log end) are as afterwards.
  kTransition,
  // A standard vote of `epoch` was given to `peer`.
  kVoteGranted,
  // A standard or pre-vote of `epoch` was refused to `peer`.
  kVoteRefused,
  // The high watermark rose to `offset`.
  kHighWatermark,
  // The log was cut to `offset`.
  kTruncation,
  // The replica was quarantined.
  kQuarantine,
};

const char* Name(TraceKind kind);

struct TraceEvent {
  TraceKind kind = TraceKind::kTransition;
  Epoch epoch;
  RoleKind from = RoleKind::kUnattached;
  RoleKind to = RoleKind::kUnattached;
  std::optional<ReplicaKey> leader;
  std::optional<ReplicaKey> peer;
  Offset offset;
  // Why, in a few words of this program; never a peer's bytes.
  const char* reason = "";
};

}  // namespace quorum::raft
