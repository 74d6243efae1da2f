// Client appends: offsets are given in the step, there is no accumulator and no linger. The records
// of one append are one batch, at consecutive offsets, all or nothing. Refused, committed and
// unknown are the only outcomes, and each append gets exactly one (architecture.md 6).
//
// Thread: the shard thread of the partition.

#pragma once

#include "service/base/ids.h"
#include "service/raft/state.h"

namespace quorum::raft {

void OnAppend(State& state, const AppendRequested& event, StepContext& context);

// Tells the appends whose last record is below `high_watermark` that they are committed.
void AcknowledgeAppends(Leader& leader, Epoch epoch, Offset high_watermark, StepContext& context);

// What a leader that leads no more owes: NOT_LEADER to every parked fetch, *unknown* to every
// append that is in the log without being committed. `state` is already in its new role.
void SettleLostLeadership(const State& state, const Leader& old, StepContext& context);

}  // namespace quorum::raft
