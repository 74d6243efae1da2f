// The bounds of what a replica remembers of producers (producer_states.h).
//
// Thread: a plain value.

#pragma once

#include <chrono>
#include <cstddef>

#include "service/base/time.h"

namespace quorum::shard {

// Must be equal on all replicas of a cluster, for they decide what a log says.
struct ProducerLimits {
  // At least 1.
  size_t producers_max = 10'000;
  // More than the longest retry of a client. At least 1 ms.
  Duration expiry = std::chrono::hours(24);
};

}  // namespace quorum::shard
