// Transitions: the one place where a replica changes its role, its epoch, its leader or its vote.
// Each transition is checked against the legal graph (protocol.md 2.4), persists what must be
// remembered, withdraws the replica from its fetch sessions, settles what the old role owed, and
// leaves one trace.
//
// Thread: the shard thread of the partition.

#pragma once

#include <optional>

#include "service/base/ids.h"
#include "service/raft/state.h"

namespace quorum::raft {

// To Unattached in a higher epoch, or from Prospective in the same one.
void BecomeUnattached(State& state, Epoch epoch, const char* reason, StepContext& context);
// To Follower of `leader` in `epoch`, which is the current or a higher one.
void BecomeFollower(State& state, Epoch epoch, const ReplicaKey& leader, const char* reason,
                    StepContext& context);
// To Prospective in the same epoch. Only for voters.
void BecomeProspective(State& state, const char* reason, StepContext& context);
// From Prospective to Candidate in the next epoch, voting for itself. Quarantines when there is no
// next epoch.
void BecomeCandidate(State& state, const char* reason, StepContext& context);
// From Candidate to Leader; appends the epoch's first record.
void BecomeLeader(State& state, StepContext& context);
// From Leader to Resigned in the same epoch. `preferred` heads the successors when it is a voter.
void BecomeResigned(State& state, const std::optional<ReplicaKey>& preferred, const char* reason,
                    StepContext& context);
// Gives the vote of the current epoch to `candidate`, in Unattached or Prospective.
void RecordVote(State& state, const ReplicaKey& candidate, StepContext& context);

// The epoch after the current one. Empty when that may not be adopted any more: the replica is
// quarantined then, for no election can ever be won in it.
std::optional<Epoch> TakeNextEpoch(State& state, StepContext& context);

// Stops the replica for good: a peer contradicted what cannot be contradicted, or the data is
// damaged.
void Quarantine(State& state, const char* reason, StepContext& context);

// What to do with (epoch, leader) that a message carried (protocol.md 0.3): adopt a higher epoch,
// learn the leader of this one, quarantine on a contradiction. The epoch must be in the adoptable
// range. False when the replica is quarantined afterwards.
bool Adopt(State& state, Epoch epoch, const std::optional<ReplicaKey>& leader, const char* reason,
           StepContext& context);

// True when `epoch` may be adopted: not negative, below 2^62, at most 2^32 above this replica's.
bool IsAdoptable(const State& state, Epoch epoch);

}  // namespace quorum::raft
