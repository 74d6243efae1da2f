// TailQueue: hands the events of a tail from the client's thread to the one that reads them.
// Bounded: the flow stops reading from the network while the queue is full, which gRPC's flow
// control carries on to the server.
//
// Thread: any.

#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "client/tail_event.h"
#include "service/base/mutex.h"
#include "service/base/time.h"

namespace quorum::client {

class TailQueue {
 public:
  // Messages, each of at most 16 MiB. The first failure or end is the last event.
  static constexpr size_t kEventsMax = 16;

  // True when there is room for another event after this one; otherwise `on_room` is what the
  // reader calls once, when there is.
  bool Push(TailEvent event, std::function<void()> on_room);

  // Waits for the next event, `time_max` at most. After the last event there are no others.
  std::optional<TailEvent> Pop(Duration time_max, const Clock& clock);

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<TailEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_room_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::client
