// The high watermark as a pure function of what the voters hold durably (KIP-595; protocol.md 3.1).
//
// Thread: any.

#pragma once

#include <optional>
#include <vector>

#include "service/base/ids.h"

namespace quorum::raft {

// The largest offset that a majority of the voters holds durably. `durable_ends` has one entry per
// voter of the latest set, empty where the end is unknown. Empty when fewer than a majority are
// known.
std::optional<Offset> MajorityOffset(std::vector<std::optional<Offset>> durable_ends);

}  // namespace quorum::raft
