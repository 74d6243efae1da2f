// ProducerBudget: the memory that a producer's appends may hold, and how many appends have no
// outcome yet.
//
// Thread: any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "service/base/time.h"

namespace quorum::client {

class ProducerBudget {
 public:
  explicit ProducerBudget(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Takes `bytes`; waits for them, `time_max` at most. False when they did not come free. More than
  // all there are is taken when nothing else is.
  bool Take(size_t bytes, Duration time_max, const Clock& clock);
  void GiveBack(size_t bytes);

  // An append begins, and gets a ticket; or has its outcome.
  int64_t Begin();
  void End(int64_t ticket);

  // Waits until every append that began before this call has its outcome, `time_max` at most.
  bool AwaitDecided(Duration time_max, const Clock& clock);

 private:
  const size_t bytes_max_;
  Mutex mutex_;
  CondVar changed_;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t tickets_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<int64_t> undecided_ ABSL_GUARDED_BY(mutex_);
};

// Bytes of a budget, given back when it goes.
class BudgetShare {
 public:
  BudgetShare(std::shared_ptr<ProducerBudget> budget, size_t bytes)
      : budget_(std::move(budget)), bytes_(bytes) {}
  ~BudgetShare() { budget_->GiveBack(bytes_); }
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;

 private:
  const std::shared_ptr<ProducerBudget> budget_;
  const size_t bytes_;
};

}  // namespace quorum::client
