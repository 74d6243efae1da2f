// ProducerIds: the blocks of producer ids that the controller has given to this process life, which
// hands them out one by one. Nothing of it is stored: a new process asks for a new block, so no id
// is ever given out twice.
//
// Thread: any.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"

namespace quorum::transport {

class ProducerIds {
 public:
  // An id of a block; empty when there is none left.
  std::optional<int64_t> Take() {
    MutexLock lock(&mutex_);
    if (blocks_.empty()) return std::nullopt;
    auto& [next, end] = blocks_.front();
    const int64_t id = next++;
    if (next == end) blocks_.pop_front();
    return id;
  }

  // Adds the ids [first, first + count).
  void Add(int64_t first, uint32_t count) {
    if (count == 0) return;
    MutexLock lock(&mutex_);
    blocks_.emplace_back(first, first + int64_t{count});
  }

 private:
  Mutex mutex_;
  // Next id and end of each block. As many as calls came while there was none, at most.
  std::deque<std::pair<int64_t, int64_t>> blocks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::transport
