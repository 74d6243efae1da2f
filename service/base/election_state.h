// ElectionState: what a replica must remember about elections across a restart (KIP-595;
// protocol.md 2.1). There is one epoch; leader and vote are both scoped to it and both cleared when
// it rises.
//
// Thread: a plain value.

#pragma once

#include <optional>
#include <ostream>

#include "service/base/ids.h"

namespace quorum {

struct ElectionState {
  // The highest epoch that this replica has adopted, whether or not anybody leads it.
  Epoch epoch;
  // The leader of `epoch`, where known.
  std::optional<ReplicaKey> leader;
  // The replica voted for in `epoch`, if any.
  std::optional<ReplicaKey> voted;

  friend bool operator==(const ElectionState& a, const ElectionState& b) {
    return a.epoch == b.epoch && a.leader == b.leader && a.voted == b.voted;
  }
  friend bool operator!=(const ElectionState& a, const ElectionState& b) { return !(a == b); }
};

inline std::ostream& operator<<(std::ostream& out, const ElectionState& state) {
  out << "epoch=" << state.epoch << " leader=";
  if (state.leader.has_value()) {
    out << *state.leader;
  } else {
    out << "none";
  }
  out << " voted=";
  if (state.voted.has_value()) return out << *state.voted;
  return out << "none";
}

}  // namespace quorum
