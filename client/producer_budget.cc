#include "client/producer_budget.h"

#include "service/base/check.h"

namespace quorum::client {

bool ProducerBudget::Take(size_t bytes, Duration time_max, const Clock& clock) {
  const MonoTime until = clock.Now() + time_max;
  MutexLock lock(&mutex_);
  while (bytes_ > 0 && bytes_ + bytes > bytes_max_) {
    const Duration left = until - clock.Now();
    if (left <= Duration(0)) return false;
    changed_.WaitFor(&mutex_, left);
  }
  bytes_ += bytes;
  return true;
}

void ProducerBudget::GiveBack(size_t bytes) {
  MutexLock lock(&mutex_);
  CHECK_GE(bytes_, bytes);
  bytes_ -= bytes;
  changed_.NotifyAll();
}

void ProducerBudget::Begin() {
  MutexLock lock(&mutex_);
  ++undecided_;
}

void ProducerBudget::End() {
  MutexLock lock(&mutex_);
  CHECK_GT(undecided_, 0);
  if (--undecided_ == 0) changed_.NotifyAll();
}

bool ProducerBudget::AwaitNone(Duration time_max, const Clock& clock) {
  const MonoTime until = clock.Now() + time_max;
  MutexLock lock(&mutex_);
  while (undecided_ > 0) {
    const Duration left = until - clock.Now();
    if (left <= Duration(0)) return false;
    changed_.WaitFor(&mutex_, left);
  }
  return true;
}

}  // namespace quorum::client
