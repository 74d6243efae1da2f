// Deadlines: a moment that much later, however long a caller is ready to wait.
//
// Thread: any.

#pragma once

#include <algorithm>

#include "service/base/time.h"

namespace quorum::client {

// Longer times count as this one.
inline constexpr Duration kTimeMax = std::chrono::hours(24 * 365);

inline MonoTime DeadlineAfter(MonoTime now, Duration time) {
  return now + std::min(time, kTimeMax);
}

}  // namespace quorum::client
