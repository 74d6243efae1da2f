// SyncWatchdog: how long the sync that is running now has been out. A disk that hangs answers
// nobody, so this is asked of memory only: whoever watches never waits for the disk.
//
// Thread: Begin and End are called by the log writer alone; Outstanding by any thread.

#pragma once

#include <atomic>
#include <cstdint>

#include "service/base/time.h"

namespace quorum::storage {

class SyncWatchdog {
 public:
  SyncWatchdog() = default;
  SyncWatchdog(const SyncWatchdog&) = delete;
  SyncWatchdog& operator=(const SyncWatchdog&) = delete;

  // A sync starts. Syncs never overlap.
  void Begin(MonoTime now) {
    began_.store(now.time_since_epoch().count(), std::memory_order_release);
  }
  void End() { began_.store(kNone, std::memory_order_release); }

  // How long the running sync has been out at `now`; zero when none is running.
  Duration Outstanding(MonoTime now) const {
    const int64_t began = began_.load(std::memory_order_acquire);
    if (began == kNone) return Duration::zero();
    const Duration out = now.time_since_epoch() - Duration(began);
    return out > Duration::zero() ? out : Duration::zero();
  }

 private:
  static constexpr int64_t kNone = INT64_MIN;

  std::atomic<int64_t> began_{kNone};
};

}  // namespace quorum::storage
