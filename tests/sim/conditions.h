// Conditions of appends, and what an append that was made under one, or refused because of one,
// says of the committed log. Both oracles of clients ask here.
//
// Thread: pure functions.

#pragma once

#include <optional>
#include <string>

#include "service/base/ids.h"
#include "service/shard/client_calls.h"
#include "tests/sim/replica_log.h"

namespace quorum::sim {

// Under which an append may happen only.
struct AppendConditions {
  // The log reaches it, and no record of a client lies at or above it.
  std::optional<Offset> expected_offset;
  std::optional<Epoch> leader_epoch;

  bool any() const { return expected_offset.has_value() || leader_epoch.has_value(); }
};

// First writer wins: why an append of `epoch` cannot lie at `base_offset` of `committed`; empty
// when it can. So of all that expect the same offset one at most is in the log.
std::string WhyNotThere(const AppendConditions& conditions, const ReplicaLog& committed,
                        Offset base_offset, Epoch epoch);

// Why `result`, which says that the log is not as `expected`, says too much; empty when it is true.
std::string WhyNoMismatch(Offset expected, const ReplicaLog& committed,
                          const shard::AppendResult& result);

}  // namespace quorum::sim
