// Waiter: takes a value that another thread gives once.
//
// Thread: Give from one thread, Take from another one, which owns the waiter.

#pragma once

#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"

namespace quorum::client {

template <typename T>
class Waiter {
 public:
  void Give(T value) {
    // Notified under the lock, because the waiter is gone once it has the value.
    MutexLock lock(&mutex_);
    value_.emplace(std::move(value));
    changed_.NotifyAll();
  }

  T Take() {
    MutexLock lock(&mutex_);
    while (!value_.has_value()) changed_.Wait(&mutex_);
    return std::move(*value_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::client
