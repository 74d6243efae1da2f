#include "client/tail_queue.h"

#include <utility>

namespace quorum::client {

bool TailQueue::Push(TailEvent event, std::function<void()> on_room) {
  MutexLock lock(&mutex_);
  events_.push_back(std::move(event));
  changed_.NotifyAll();
  if (events_.size() < kEventsMax) return true;
  on_room_ = std::move(on_room);
  return false;
}

std::optional<TailEvent> TailQueue::Pop(Duration time_max, const Clock& clock) {
  const MonoTime until = clock.Now() + time_max;
  std::function<void()> on_room;
  std::optional<TailEvent> event;
  {
    MutexLock lock(&mutex_);
    while (events_.empty()) {
      const Duration left = until - clock.Now();
      if (left <= Duration(0)) return std::nullopt;
      changed_.WaitFor(&mutex_, left);
    }
    event = std::move(events_.front());
    events_.pop_front();
    // Half empty, so that a fast reader does not cost a wake-up per message.
    if (events_.size() <= kEventsMax / 2) on_room.swap(on_room_);
  }
  if (on_room) on_room();
  return event;
}

}  // namespace quorum::client
