// Waiting for a condition of a system that tells nobody when it changes.
//
// Thread: blocks the caller's.

#pragma once

#include <functional>

#include "service/base/mutex.h"
#include "service/base/time.h"

namespace quorum::bench {

// Blocks for `pause`.
inline void Pause(Duration pause) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(&mutex);
  while (never.WaitFor(&mutex, pause)) {
  }
}

// Asks every `interval` until the answer is yes; false when `time_max` has passed.
inline bool Poll(const Clock& clock, Duration interval, Duration time_max,
                 const std::function<bool()>& is_true) {
  const MonoTime end = clock.Now() + time_max;
  while (!is_true()) {
    if (clock.Now() >= end) return false;
    Pause(interval);
  }
  return true;
}

}  // namespace quorum::bench
