#include "client/consumer_queue.h"

#include <algorithm>

#include "client/deadline.h"

namespace quorum::client {

ConsumerQueue::LanePointer ConsumerQueue::Open(PartitionName partition) {
  auto lane = std::make_shared<Lane>();
  lane->partition = std::move(partition);
  MutexLock lock(&mutex_);
  ++open_;
  return lane;
}

void ConsumerQueue::Close(const LanePointer& lane) {
  // What they hold may be large, and `on_room` holds the tail.
  std::deque<std::pair<TailEvent, size_t>> events;
  std::function<void()> on_room;
  MutexLock lock(&mutex_);
  if (lane->closed) return;
  lane->closed = true;
  --open_;
  events.swap(lane->events);
  on_room.swap(lane->on_room);
  ready_.erase(std::remove(ready_.begin(), ready_.end(), lane), ready_.end());
}

bool ConsumerQueue::Push(const LanePointer& lane, TailEvent event, size_t bytes,
                         std::function<void()> on_room) {
  MutexLock lock(&mutex_);
  if (lane->closed) return true;
  const size_t size = bytes + kEventBytes;
  if (std::holds_alternative<TailProgress>(event) && !lane->events.empty() &&
      std::holds_alternative<TailProgress>(lane->events.back().first)) {
    lane->events.back().first = std::move(event);
  } else {
    if (lane->events.empty()) ready_.push_back(lane);
    lane->events.emplace_back(std::move(event), size);
    lane->bytes += size;
    changed_.NotifyOne();
  }
  if (lane->bytes < ShareLocked()) return true;
  if (on_room) lane->on_room = std::move(on_room);
  return false;
}

std::optional<ConsumerEvent> ConsumerQueue::Pop(Duration time_max, const Clock& clock) {
  const MonoTime until = DeadlineAfter(clock.Now(), time_max);
  std::function<void()> on_room;
  std::optional<ConsumerEvent> event;
  {
    MutexLock lock(&mutex_);
    while (ready_.empty()) {
      const Duration left = until - clock.Now();
      if (left <= Duration(0)) return std::nullopt;
      changed_.WaitFor(&mutex_, left);
    }
    const LanePointer lane = std::move(ready_.front());
    ready_.pop_front();
    event.emplace(ConsumerEvent{lane->partition, std::move(lane->events.front().first)});
    lane->bytes -= lane->events.front().second;
    lane->events.pop_front();
    if (!lane->events.empty()) ready_.push_back(lane);
    // Half empty, so that a fast reader does not cost a wake-up per message.
    if (lane->bytes <= ShareLocked() / 2) on_room.swap(lane->on_room);
  }
  if (on_room) on_room();
  return event;
}

size_t ConsumerQueue::ShareLocked() const { return bytes_max_ / std::max<size_t>(open_, 1); }

}  // namespace quorum::client
