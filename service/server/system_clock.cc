#include "service/server/system_clock.h"

#include <chrono>

namespace quorum::server {

MonoTime SystemClock::Now() const {
  return MonoTime(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

int64_t SystemClock::WallTimeMs() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace quorum::server
