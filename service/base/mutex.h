// Mutex, MutexLock and CondVar: the standard ones, annotated for clang's thread-safety analysis
// (-Wthread-safety). A member that a Mutex guards says so with ABSL_GUARDED_BY, a function that
// needs it held with ABSL_EXCLUSIVE_LOCKS_REQUIRED.
//
//   Mutex mutex_;
//   CondVar changed_;
//   std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
//
//   MutexLock lock(&mutex_);
//   while (items_.empty()) changed_.Wait(&mutex_);
//
// The loop stays in the function that holds the lock: the analysis cannot see into a predicate.
//
// Thread: any. Neither service/raft nor service/shard may use this file.

#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "service/base/time.h"

namespace quorum {

class CondVar;

// Not recursive.
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  // True when it took the lock.
  [[nodiscard]] bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;

  std::mutex mutex_;
};

// Holds `mutex`, which must outlive it, from construction to the end of the scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

// Wakes threads that wait for a change of what one Mutex guards. Use it with that Mutex only.
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Releases `mutex`, waits, and holds it again on return. May return without a notification.
  void Wait(Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }

  // As Wait, for `time_max` at most (longer than a day counts as a day). False when that time has
  // passed.
  bool WaitFor(Mutex* mutex, Duration time_max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    const std::cv_status status = changed_.wait_for(lock, std::min(time_max, kWaitMax));
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  // The standard library adds the time to that of a clock, which must not overflow.
  static constexpr Duration kWaitMax = std::chrono::hours(24);

  std::condition_variable changed_;
};

}  // namespace quorum
