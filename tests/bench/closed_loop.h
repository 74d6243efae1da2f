// ClosedLoop: keeps a fixed number of calls out, one a caller, and times them.
//
// A warm-up, whose calls are not counted, is followed by the measured part, which ends after a
// time or a number of calls, whichever is first. A call counts when it ends in the measured part.
//
// Thread: Run blocks the owner's; calls go on by themselves on gRPC's threads.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "service/base/time.h"
#include "tests/bench/caller.h"
#include "tests/bench/histogram.h"

namespace quorum::bench {

struct LoopOptions {
  Duration warmup{0};
  Duration time_max{0};
  // 0: no limit.
  uint64_t calls_max = 0;
  // The loop gives up after so many failed calls.
  uint64_t errors_max = 100;
};

struct LoopResult {
  Duration elapsed{0};
  // Successful ones that ended in the measured part.
  uint64_t calls = 0;
  uint64_t records = 0;
  // Of the whole run.
  uint64_t errors = 0;
  std::string first_error;
  // Nanoseconds of successful calls.
  Histogram latency;
};

class ClosedLoop {
 public:
  // `clock` outlives the loop.
  ClosedLoop(const Clock& clock, std::vector<std::unique_ptr<Caller>> callers, LoopOptions options);

  // Once. `at_begin` and `at_end` run on this thread at the edges of the measured part, while
  // calls go on.
  LoopResult Run(const std::function<void()>& at_begin, const std::function<void()>& at_end);

 private:
  enum class Phase { kWarmup, kMeasured, kOver };
  struct Slot {
    std::unique_ptr<Caller> caller;
    MonoTime began;
    Histogram latency;
    uint64_t records = 0;
  };

  void Next(Slot* slot);
  void OnDone(Slot* slot, const grpc::Status& status);
  void OnError(const grpc::Status& status);
  void Count(Slot* slot, Duration latency);
  // Until the phase is over or the instant has come.
  void WaitUntil(MonoTime instant);
  void End();
  void WaitForCalls();

  const Clock& clock_;
  const LoopOptions options_;
  std::vector<Slot> slots_;
  std::atomic<Phase> phase_{Phase::kWarmup};
  std::atomic<uint64_t> calls_{0};
  Mutex mutex_;
  CondVar changed_;
  size_t out_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t errors_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string first_error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::bench
