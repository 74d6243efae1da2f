#include "tests/sim/event_queue.h"

#include <algorithm>
#include <utility>

namespace quorum::sim {

void EventQueue::At(WorldTime when, std::function<void()> action) {
  heap_.push_back(Event{std::max(when, now_), ++last_sequence_, std::move(action)});
  std::push_heap(heap_.begin(), heap_.end(), IsLater);
}

bool EventQueue::RunNext() {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), IsLater);
  const Event event = std::move(heap_.back());
  heap_.pop_back();
  now_ = event.at;
  ++executed_;
  event.action();
  return true;
}

}  // namespace quorum::sim
