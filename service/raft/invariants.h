// Invariants of one replica that can be checked after every step, in production too.
//
// Thread: the shard thread of the partition.

#pragma once

#include <cstdint>
#include <optional>

#include "service/raft/state.h"

namespace quorum::raft {

// What CheckDelta compares with: only what must move one way.
struct Progression {
  ElectionState election;
  uint64_t incarnation = 0;
  std::optional<Offset> committed;
  Offset exposed;
};

Progression Remember(const State& state);

// What is wrong with the state as it is; null when nothing is.
const char* CheckBasic(const State& state);

// What is wrong with the way from `before` to `state`; null when nothing is: an epoch that fell, a
// vote or a leader that changed within an epoch, a watermark that went back.
const char* CheckDelta(const Progression& before, const State& state);

}  // namespace quorum::raft
