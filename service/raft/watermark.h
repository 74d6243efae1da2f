// The watermark of one replica: how it rises on a leader, what that settles, and what readers may
// see.
//
// Thread: the shard thread of the partition.

#pragma once

#include "service/base/ids.h"
#include "service/raft/state.h"

namespace quorum::raft {

// On a leader: takes the offset that a majority of voters holds durably as the new watermark, once
// it is past the epoch's first record (never before: protocol.md 3.1), acknowledges the appends
// below it and wakes the fetches that wait for it. In other roles nothing.
void UpdateWatermark(State& state, StepContext& context);

// On a follower: the leader has named its watermark. Quarantines when it is below a known one.
void LearnWatermark(State& state, Offset high_watermark, StepContext& context);

// Shows readers what is both committed and synced here.
void UpdateExposed(State& state, StepContext& context);

}  // namespace quorum::raft
