// Event: everything that can happen to a replica. The shard makes events; Replica::Step consumes
// them.
//
// Thread: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/raft/messages.h"

namespace quorum::raft {

// Names a caller who waits for an answer. Opaque; never used twice while it is open.
using Token = uint64_t;

// A request of a peer, or of an anonymous reader. The answer is the Reply effect with the same
// token.
template <typename Request>
struct Requested {
  Token token = 0;
  Request request;
};
using VoteRequested = Requested<VoteRequest>;
using BeginQuorumEpochRequested = Requested<BeginQuorumEpochRequest>;
using EndQuorumEpochRequested = Requested<EndQuorumEpochRequest>;
using FetchRequested = Requested<FetchRequest>;

// Which of this replica's own requests something answers. Both numbers come from its Send effect;
// an answer to a request of an earlier role, or one that has been answered, is dropped.
struct Correlation {
  ReplicaKey peer;
  uint64_t incarnation = 0;
  uint64_t number = 0;
};

template <typename Response>
struct Responded {
  Correlation correlation;
  Response response;
};
using VoteResponded = Responded<VoteResponse>;
using BeginQuorumEpochResponded = Responded<BeginQuorumEpochResponse>;
using EndQuorumEpochResponded = Responded<EndQuorumEpochResponse>;
using FetchResponded = Responded<FetchResponse>;

// A request of this replica failed on its way: no connection, time-out, session ended. Says nothing
// of whether the peer has seen it.
struct PeerFailed {
  Correlation correlation;
};

// A client wants `record_count` records appended as one batch.
struct AppendRequested {
  Token token = 0;
  int64_t record_count = 0;
  // Append only if this replica leads exactly this epoch.
  std::optional<Epoch> leader_epoch;
};

// Everything up to this write number is synced.
struct WriteDurable {
  uint64_t write_number = 0;
};

// When the node last heard of a peer for this partition through a fetch session, in this replica's
// current role and epoch.
struct PeerSeen {
  ReplicaKey peer;
  MonoTime at;
};

// The deadline that the last ArmTimer named is due. Liveness that sessions carry for all their
// partitions at once is told here, so that an idle partition costs nothing in between.
struct TimerFired {
  // A leader is told of its voters, a follower of its leader; others are not needed.
  std::vector<PeerSeen> seen;
};

// The wait of a parked Fetch is over. Ignored when it has been answered already.
struct FetchWaitOver {
  Token token = 0;
};

// The caller of a parked Fetch is gone; nobody wants its answer.
struct FetchCancelled {
  Token token = 0;
};

// Replicas that may know the leader: those that the catalog names. Replaces the earlier list.
struct DiscoveryPeers {
  std::vector<ReplicaKey> peers;
};

// Somebody whose own election state says so names the leader of an epoch (8.3).
struct LeaderHint {
  ReplicaKey leader;
  Epoch epoch;
};

// Give up leadership of `epoch`. `preferred` goes first among the successors when it is a voter.
struct ResignRequested {
  Epoch epoch;
  std::optional<ReplicaKey> preferred;
};

// The process is going to stop: resign, refuse what needs a leader, go on voting.
struct ShutdownRequested {};

// What lies on disk of this partition is damaged, or a read failed. Quarantines the replica.
struct Damaged {
  const char* reason = "";
};

using Event = std::variant<VoteRequested, BeginQuorumEpochRequested, EndQuorumEpochRequested,
                           FetchRequested, VoteResponded, BeginQuorumEpochResponded,
                           EndQuorumEpochResponded, FetchResponded, PeerFailed, AppendRequested,
                           WriteDurable, TimerFired, FetchWaitOver, FetchCancelled, DiscoveryPeers,
                           LeaderHint, ResignRequested, ShutdownRequested, Damaged>;

}  // namespace quorum::raft
