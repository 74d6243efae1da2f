// Durations as gRPC takes them for deadlines: a span, which gRPC adds to its own clock.
//
// Thread: any.

#pragma once

#include <grpc/support/time.h>

#include "service/base/time.h"

namespace quorum::client {

inline gpr_timespec TimeSpan(Duration duration) {
  return gpr_time_from_nanos(duration.count(), GPR_TIMESPAN);
}

}  // namespace quorum::client
