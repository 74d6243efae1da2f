// Vote and pre-vote: judging a request, counting the answers, asking for votes
// (protocol.md 1.1, 2.3).
//
// Thread: the shard thread of the partition.

#pragma once

#include "service/raft/state.h"

namespace quorum::raft {

void OnVoteRequest(State& state, const VoteRequested& event, StepContext& context);
void OnVoteResponse(State& state, const VoteResponded& event, StepContext& context);
// A vote request of this replica got lost: back that voter off.
void OnVoteFailed(State& state, const Correlation& correlation, StepContext& context);

// Sends the vote requests that are due, in Prospective and Candidate.
void SendDueVotes(State& state, StepContext& context);

// Acts on the tally: from Prospective to Candidate or back, from Candidate to Leader.
void ConcludeElection(State& state, StepContext& context);

// After a lost or timed-out pre-vote: back to the leader that was known, else without one.
void LeaveProspective(State& state, const char* reason, StepContext& context);

}  // namespace quorum::raft
