// ConsumerQueue: hands the events of tails from the client's thread to the one that reads them, in
// turns over the partitions. Bounded in bytes of memory: each partition may use an equal share, and
// one message beyond it; a tail stops reading from the network while its share is used up, which
// gRPC's flow control carries on to the server.
//
// Thread: any.

#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "client/consumer_event.h"
#include "client/partition_name.h"
#include "service/base/mutex.h"
#include "service/base/time.h"

namespace quorum::client {

class ConsumerQueue {
 public:
  // One partition's events. Its members belong to the queue.
  struct Lane {
    PartitionName partition;
    // Each with its bytes.
    std::deque<std::pair<TailEvent, size_t>> events;
    size_t bytes = 0;
    std::function<void()> on_room;
    bool closed = false;
  };
  using LanePointer = std::shared_ptr<Lane>;

  // Adds to an event's own bytes, so that many small ones are bounded too.
  static constexpr size_t kEventBytes = 256;

  explicit ConsumerQueue(size_t bytes_max) : bytes_max_(bytes_max) {}

  // A new lane. `partition` need not be unknown.
  LanePointer Open(PartitionName partition);

  // Drops the lane's events, and all that would follow.
  void Close(const LanePointer& lane);

  // Adds an event of `bytes`. True when there is room for another one after it; otherwise `on_room`
  // is what the reader calls once, when there is. A null `on_room` changes nothing about that. A
  // progress replaces one that has not been read.
  bool Push(const LanePointer& lane, TailEvent event, size_t bytes, std::function<void()> on_room);

  // Waits for the next event, `time_max` at most.
  std::optional<ConsumerEvent> Pop(Duration time_max, const Clock& clock);

 private:
  size_t ShareLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t bytes_max_;
  Mutex mutex_;
  CondVar changed_;
  // Lanes that are not closed.
  size_t open_ ABSL_GUARDED_BY(mutex_) = 0;
  // Lanes with events, each once; the first one's turn is next.
  std::deque<LanePointer> ready_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::client
