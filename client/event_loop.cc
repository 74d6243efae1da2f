#include "client/event_loop.h"

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <algorithm>

#include "client/grpc_time.h"
#include "service/base/check.h"

namespace quorum::client {
namespace {

// A thread that has nothing to do looks around this often; nothing depends on it.
constexpr Duration kWaitMax = std::chrono::seconds(60);

using Done = std::function<void(bool)>;

}  // namespace

EventLoop::EventLoop(const Clock& clock)
    : clock_(clock), queue_(std::make_unique<grpc::CompletionQueue>()) {
  thread_ = std::thread([this] { Run(); });
}

EventLoop::~EventLoop() { Stop(); }

bool EventLoop::Post(Task task) {
  MutexLock lock(&mutex_);
  if (stopping_) return false;
  posted_.push_back(std::move(task));
  if (!waking_) {
    waking_ = true;
    // Held until its tag arrives: gRPC 1.51 uses an alarm that rings after it was destroyed. Set
    // under the lock, so that the queue cannot be shut down in between; as it is due, it enqueues
    // its tag at once and calls nobody back.
    const auto wake = std::make_shared<grpc::Alarm>();
    wake->Set(queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), Tag([wake](bool) {}));
  }
  return true;
}

bool EventLoop::OnLoopThread() const { return std::this_thread::get_id() == thread_.get_id(); }

void EventLoop::Stop() {
  {
    MutexLock lock(&mutex_);
    if (stopping_) return;
    stopping_ = true;
    queue_->Shutdown();
  }
  CHECK(!OnLoopThread()) << "a client cannot be destroyed in one of its callbacks";
  thread_.join();
}

EventLoop::TimerId EventLoop::RunAfter(Duration delay, Task task) {
  const TimerId timer(Now() + std::max(delay, Duration(0)), ++timers_made_);
  timers_.emplace(timer, std::move(task));
  return timer;
}

void EventLoop::CancelTimer(const TimerId& timer) { timers_.erase(timer); }

void* EventLoop::Tag(std::function<void(bool ok)> done) {
  // Freed where the queue returns it, which it does exactly once.
  return new Done(std::move(done));
}

void EventLoop::Run() {
  for (;;) {
    RunPosted();
    RunDueTimers();
    void* tag = nullptr;
    bool ok = false;
    switch (queue_->AsyncNext(&tag, &ok, TimeSpan(Wait()))) {
      case grpc::CompletionQueue::SHUTDOWN:
        return RunPosted();
      case grpc::CompletionQueue::GOT_EVENT: {
        const std::unique_ptr<Done> done(static_cast<Done*>(tag));
        (*done)(ok);
        break;
      }
      case grpc::CompletionQueue::TIMEOUT:
        break;
    }
  }
}

void EventLoop::RunPosted() {
  std::deque<Task> tasks;
  {
    MutexLock lock(&mutex_);
    tasks.swap(posted_);
    waking_ = false;
  }
  for (Task& task : tasks) task();
}

void EventLoop::RunDueTimers() {
  const MonoTime now = Now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    Task task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    task();
  }
}

Duration EventLoop::Wait() const {
  if (timers_.empty()) return kWaitMax;
  const Duration wait = timers_.begin()->first.first - Now();
  return std::clamp(wait, Duration(0), kWaitMax);
}

}  // namespace quorum::client
