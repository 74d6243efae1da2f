// Fetch: the leader judges a position, answers or parks; the follower appends, truncates,
// acknowledges by its next Fetch (protocol.md 1.4, 3.2-3.4).
//
// Thread: the shard thread of the partition.

#pragma once

#include "service/raft/state.h"

namespace quorum::raft {

// The leader's side.
void OnFetchRequest(State& state, const FetchRequested& event, StepContext& context);
// The wait of a parked fetch is over: answers it empty. Ignored when it is not parked any more.
void OnFetchWaitOver(State& state, Token token, StepContext& context);
void OnFetchCancelled(State& state, Token token);
// Answers the parked fetches that have records or a newer watermark to learn.
void WakeFetches(const State& state, Leader& leader, StepContext& context);

// The follower's side.
void OnFetchResponse(State& state, const FetchResponded& event, StepContext& context);
// Where this log has to be cut when its leader says that it diverges there: in [start, end].
Offset TruncationPoint(const State& state, const OffsetAndEpoch& diverging);
void OnFetchFailed(State& state, const Correlation& correlation, StepContext& context);
// Sends the next Fetch when none is out and one is due.
void SendDueFetch(State& state, StepContext& context);
// When SendDueFetch has work next; kNever when it has none to expect.
MonoTime NextFetchTime(const State& state);

}  // namespace quorum::raft
