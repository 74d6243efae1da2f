#include "client/producer_budget.h"

#include "client/deadline.h"
#include "service/base/check.h"

namespace quorum::client {

bool ProducerBudget::Take(size_t bytes, Duration time_max, const Clock& clock) {
  const MonoTime until = DeadlineAfter(clock.Now(), time_max);
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

int64_t ProducerBudget::Begin() {
  MutexLock lock(&mutex_);
  undecided_.insert(undecided_.end(), ++tickets_);
  return tickets_;
}

void ProducerBudget::End(int64_t ticket) {
  MutexLock lock(&mutex_);
  const auto found = undecided_.find(ticket);
  CHECK(found != undecided_.end()) << "an append had two outcomes";
  const bool first = found == undecided_.begin();
  undecided_.erase(found);
  if (first) changed_.NotifyAll();
}

bool ProducerBudget::AwaitDecided(Duration time_max, const Clock& clock) {
  const MonoTime until = DeadlineAfter(clock.Now(), time_max);
  MutexLock lock(&mutex_);
  const int64_t last = tickets_;
  while (!undecided_.empty() && *undecided_.begin() <= last) {
    const Duration left = until - clock.Now();
    if (left <= Duration(0)) return false;
    changed_.WaitFor(&mutex_, left);
  }
  return true;
}

}  // namespace quorum::client
