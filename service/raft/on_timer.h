// Deadlines: what each role does when its time is up, and when that is (protocol.md 2.2, 3.6, 3.7).
//
// Thread: the shard thread of the partition.

#pragma once

#include "service/base/time.h"
#include "service/raft/state.h"

namespace quorum::raft {

void OnTimer(State& state, const TimerFired& event, StepContext& context);

// The earliest deadline of the replica's role; kNever when nothing is to be waited for.
MonoTime NextDeadline(const State& state);

}  // namespace quorum::raft
