// LoopThread: a thread that runs rounds of somebody's event loop and sleeps between them, until the
// next round is due or somebody has work for it.
//
//   Waker waker;
//   Shard shard(config, seams, [&waker] { waker.Wake(); });
//   LoopThread thread("shard-0", &clock, &waker, [&shard] { return shard.RunOnce(); });
//   ...
//   thread.Stop();
//
// Thread: Waker::Wake and LoopThread::last_round from any; the rest by the owner.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "service/base/time.h"
#include "storage/rocksdb/worker_thread.h"

namespace quorum::server {

// Remembers one call of Wake until somebody waits, so that none is ever missed.
class Waker {
 public:
  Waker() = default;
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  void Wake();
  // Returns once Wake was called since the last return, or at `deadline`. True in the first case.
  bool WaitUntil(MonoTime deadline, const Clock& clock);

 private:
  Mutex mutex_;
  CondVar changed_;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
};

class LoopThread {
 public:
  // Rounds are never further apart, so that a loop that stands still is noticed.
  static constexpr Duration kRoundPeriodMax = std::chrono::milliseconds(1000);

  // `round` does one round and returns when the next one is due at the latest. The thread starts at
  // once. `clock` and `waker` outlive it.
  LoopThread(const std::string& name, const Clock* clock, Waker* waker,
             std::function<MonoTime()> round);
  // As Stop.
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // Lets the running round end and joins. No round runs afterwards.
  void Stop();

  // When the newest round began.
  MonoTime last_round() const { return MonoTime(Duration(last_round_.load())); }

 private:
  void Run();

  const Clock& clock_;
  Waker& waker_;
  const std::function<MonoTime()> round_;
  std::atomic<int64_t> last_round_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<storage::WorkerThread> thread_;
};

}  // namespace quorum::server
