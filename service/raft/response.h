// The part of response handling that all peer RPCs share (protocol.md 0.3).
//
// Thread: the shard thread of the partition.

#pragma once

#include "service/raft/state.h"

namespace quorum::raft {

enum class ResponseAction {
  // The answer is from the past, or what it taught has changed this replica: nothing more to do
  // with it.
  kDone,
  // The peer could not answer: ask again after a back-off.
  kBackOff,
  // Go on to the RPC's own handling.
  kContinue,
};

// Adopts what `header` says of epoch and leader and decides how to go on. INVALID_REQUEST and a
// second leader of one epoch quarantine the replica.
ResponseAction HandleHeader(State& state, const ResponseHeader& header, StepContext& context);

}  // namespace quorum::raft
