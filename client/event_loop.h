// EventLoop: the one thread of a client, whatever the number of its calls. It polls gRPC's
// completion queue, keeps the timers, and runs what other threads post. All of the client's state
// belongs to it, so that none of it needs a lock.
//
// Lifecycle: runs from construction to Stop. Stop first lets every gRPC operation end that is on
// its way, so cancel them before; what was posted before is run, and must start no operation any
// more; timers that have not fired are dropped.
//
// Thread: Post, OnLoopThread and Stop from any thread, the rest on the loop's thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "service/base/time.h"

namespace grpc {
class CompletionQueue;
}  // namespace grpc

namespace quorum::client {

class EventLoop {
 public:
  using Task = std::function<void()>;
  // Names a timer; never reused.
  using TimerId = std::pair<MonoTime, uint64_t>;

  // `clock` must outlive the loop.
  explicit EventLoop(const Clock& clock);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs `task` on the loop's thread, after those posted before. False, and nothing is run, once
  // the loop has stopped.
  bool Post(Task task);

  bool OnLoopThread() const;

  // Ends the loop's thread and waits for it. Not on that thread. A second call does nothing.
  void Stop();

  MonoTime Now() const { return clock_.Now(); }

  // Runs `task` once, after `delay`.
  TimerId RunAfter(Duration delay, Task task);

  // Does nothing when the timer has fired.
  void CancelTimer(const TimerId& timer);

  // What gRPC operations are started with.
  grpc::CompletionQueue* queue() { return queue_.get(); }

  // A tag for one operation on queue(); `done` is run with the operation's `ok`. The operation must
  // be started.
  static void* Tag(std::function<void(bool ok)> done);

 private:
  void Run();
  void RunPosted();
  void RunDueTimers();
  // Until the next timer, with an upper bound.
  Duration Wait() const;

  const Clock& clock_;
  const std::unique_ptr<grpc::CompletionQueue> queue_;

  Mutex mutex_;
  std::deque<Task> posted_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // True from a Post until the thread has taken what was posted.
  bool waking_ ABSL_GUARDED_BY(mutex_) = false;

  std::map<TimerId, Task> timers_;
  uint64_t timers_made_ = 0;

  std::thread thread_;
};

}  // namespace quorum::client
