#include "service/raft/trace.h"

namespace quorum::raft {

const char* Name(RoleKind kind) {
  switch (kind) {
    case RoleKind::kUnattached:
      return "Unattached";
    case RoleKind::kProspective:
      return "Prospective";
    case RoleKind::kCandidate:
      return "Candidate";
    case RoleKind::kLeader:
      return "Leader";
    case RoleKind::kFollower:
      return "Follower";
    case RoleKind::kResigned:
      return "Resigned";
  }
  return "Invalid";
}

const char* Name(TraceKind kind) {
  switch (kind) {
    case TraceKind::kTransition:
      return "transition";
    case TraceKind::kVoteGranted:
      return "vote_granted";
    case TraceKind::kVoteRefused:
      return "vote_refused";
    case TraceKind::kHighWatermark:
      return "high_watermark";
    case TraceKind::kTruncation:
      return "truncation";
    case TraceKind::kQuarantine:
      return "quarantine";
  }
  return "invalid";
}

}  // namespace quorum::raft
