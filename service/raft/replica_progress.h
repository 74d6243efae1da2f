// ReplicaProgress: what a leader knows of one replica in its epoch (protocol.md 1.6, 3.1).
//
// Guarantees:
//   1. durable_end only rises within a process life of the replica; it is what the replica itself
//   acknowledged by a Fetch that did not
//      diverge, in this epoch;
//   2. a replica that comes back in a newer process life with less than it acknowledged is marked
//   as
//      rolled back and counts for nothing in this epoch any more.
//
// Thread: a plain value.

#pragma once

#include <chrono>
#include <optional>

#include "service/base/ids.h"
#include "service/base/time.h"

namespace quorum::raft {

// A replica that is no voter is forgotten when it has been silent for longer than this.
inline constexpr Duration kObserverSilenceMax = std::chrono::seconds(300);

struct ReplicaProgress {
  // Unknown until its first Fetch of this epoch.
  std::optional<Offset> durable_end;
  Incarnation incarnation;
  // Its last accepted Fetch, or the last sign of life through its session.
  std::optional<MonoTime> last_fetch;
  // When it last held everything that the leader had at an earlier moment.
  std::optional<MonoTime> last_caught_up;
  // Its last accepted Fetch, and the leader's log end then. A sign of life through the session
  // leaves both: the leader's end has moved on meanwhile.
  std::optional<MonoTime> fetched_at;
  Offset leader_end_at_last_fetch;
  // The watermark that it said it knows.
  std::optional<Offset> known_high_watermark;
  bool rolled_back = false;

  // Notes an accepted Fetch at `offset`. False when it is a stale duplicate: an offset below what
  // this process life of the replica has acknowledged already.
  bool OnFetch(Offset offset, Incarnation from, Offset leader_end, MonoTime now);

  // Notes a sign of life at `at`, now or before: it is there, and its log is as its last Fetch
  // said. Ignored before the first Fetch.
  void OnSeen(MonoTime at, Offset leader_end);

  // For an observer: it has been silent for too long to be shown or kept count of.
  bool HasVanished(MonoTime now) const {
    return !last_fetch.has_value() || now - *last_fetch > kObserverSilenceMax;
  }

  // What counts for the watermark.
  std::optional<Offset> Counted() const {
    return rolled_back ? std::optional<Offset>() : durable_end;
  }
};

}  // namespace quorum::raft
