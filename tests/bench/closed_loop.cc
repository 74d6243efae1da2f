#include "tests/bench/closed_loop.h"

#include <utility>

namespace quorum::bench {

ClosedLoop::ClosedLoop(const Clock& clock, std::vector<std::unique_ptr<Caller>> callers,
                       LoopOptions options)
    : clock_(clock), options_(options), slots_(callers.size()) {
  for (size_t i = 0; i < callers.size(); ++i) slots_[i].caller = std::move(callers[i]);
}

LoopResult ClosedLoop::Run(const std::function<void()>& at_begin,
                           const std::function<void()>& at_end) {
  {
    MutexLock lock(&mutex_);
    out_ = slots_.size();
  }
  for (Slot& slot : slots_) Next(&slot);
  WaitUntil(clock_.Now() + options_.warmup);
  at_begin();
  Phase warmup = Phase::kWarmup;
  const MonoTime began = clock_.Now();
  phase_.compare_exchange_strong(warmup, Phase::kMeasured);
  WaitUntil(began + options_.time_max);
  End();
  LoopResult result;
  result.elapsed = clock_.Now() - began;
  at_end();
  WaitForCalls();
  for (const Slot& slot : slots_) {
    result.latency.Merge(slot.latency);
    result.records += slot.records;
  }
  result.calls = result.latency.count();
  MutexLock lock(&mutex_);
  result.errors = errors_;
  result.first_error = first_error_;
  return result;
}

void ClosedLoop::Next(Slot* slot) {
  if (phase_.load() == Phase::kOver) {
    MutexLock lock(&mutex_);
    --out_;
    changed_.NotifyAll();
    return;
  }
  slot->began = clock_.Now();
  slot->caller->Call([this, slot](const grpc::Status& status) { OnDone(slot, status); });
}

void ClosedLoop::OnDone(Slot* slot, const grpc::Status& status) {
  if (!status.ok()) {
    OnError(status);
  } else if (phase_.load() == Phase::kMeasured) {
    Count(slot, clock_.Now() - slot->began);
  }
  Next(slot);
}

void ClosedLoop::OnError(const grpc::Status& status) {
  // What is cut off by the end is no error.
  if (phase_.load() == Phase::kOver) return;
  MutexLock lock(&mutex_);
  if (errors_ == 0) first_error_ = status.error_message();
  if (++errors_ < options_.errors_max) return;
  phase_.store(Phase::kOver);
  changed_.NotifyAll();
}

void ClosedLoop::Count(Slot* slot, Duration latency) {
  slot->latency.Record(static_cast<uint64_t>(latency.count()));
  slot->records += slot->caller->records();
  if (calls_.fetch_add(1) + 1 == options_.calls_max) End();
}

void ClosedLoop::WaitUntil(MonoTime instant) {
  MutexLock lock(&mutex_);
  while (phase_.load() != Phase::kOver) {
    const Duration left = instant - clock_.Now();
    if (left <= Duration::zero()) return;
    changed_.WaitFor(&mutex_, left);
  }
}

void ClosedLoop::End() {
  MutexLock lock(&mutex_);
  phase_.store(Phase::kOver);
  changed_.NotifyAll();
}

void ClosedLoop::WaitForCalls() {
  // Every call has a deadline, so this ends.
  MutexLock lock(&mutex_);
  while (out_ > 0) changed_.Wait(&mutex_);
}

}  // namespace quorum::bench
