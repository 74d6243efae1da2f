#include "service/server/loop_thread.h"

#include <algorithm>
#include <utility>

namespace quorum::server {

void Waker::Wake() {
  MutexLock lock(&mutex_);
  woken_ = true;
  changed_.NotifyOne();
}

bool Waker::WaitUntil(MonoTime deadline, const Clock& clock) {
  MutexLock lock(&mutex_);
  while (!woken_) {
    const MonoTime now = clock.Now();
    if (deadline <= now) return false;
    changed_.WaitFor(&mutex_, deadline - now);
  }
  woken_ = false;
  return true;
}

LoopThread::LoopThread(const std::string& name, const Clock* clock, Waker* waker,
                       std::function<MonoTime()> round)
    : clock_(*clock),
      waker_(*waker),
      round_(std::move(round)),
      last_round_(clock->Now().time_since_epoch().count()),
      thread_(std::make_unique<storage::WorkerThread>(name, [this] { Run(); })) {}

LoopThread::~LoopThread() { Stop(); }

void LoopThread::Stop() {
  if (thread_ == nullptr) return;
  stopping_ = true;
  waker_.Wake();
  thread_.reset();
}

void LoopThread::Run() {
  while (!stopping_) {
    const MonoTime began = clock_.Now();
    last_round_ = began.time_since_epoch().count();
    const MonoTime due = std::min(round_(), began + kRoundPeriodMax);
    waker_.WaitUntil(due, clock_);
  }
}

}  // namespace quorum::server
