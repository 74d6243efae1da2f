// BeginQuorumEpoch: a leader makes itself known to the voters that do not fetch from it
// (protocol.md 1.2, 3.8).
//
// Thread: the shard thread of the partition.

#pragma once

#include "service/raft/state.h"

namespace quorum::raft {

void OnBeginRequest(State& state, const BeginQuorumEpochRequested& event, StepContext& context);
void OnBeginResponse(State& state, const BeginQuorumEpochResponded& event, StepContext& context);

// On a leader whose period is due: sends to every voter that has not fetched within it.
void SendDueBegins(State& state, StepContext& context);

}  // namespace quorum::raft
