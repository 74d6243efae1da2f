// Mailbox: the queue through which other threads reach one that owns everything else. Bounded for
// foreign work, so that overload is refused at the door; unbounded for completions of work that the
// owner itself started, whose number it bounds already.
//
// Thread: Post, PostOwn: any. Drain, Wait: the owner.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "service/base/time.h"

namespace quorum {

template <typename Item>
class Mailbox {
 public:
  // `wake` runs, on the posting thread and under no lock, whenever the box was empty before.
  Mailbox(size_t size_max, std::function<void()> wake)
      : size_max_(size_max), wake_(std::move(wake)) {}

  // False when the box is full; the item was not taken.
  bool Post(Item item) { return Add(std::move(item), size_max_); }

  // Takes a completion of the owner's own work, however full the box is.
  void PostOwn(Item item) { (void)Add(std::move(item), SIZE_MAX); }

  // Moves up to `count` items, oldest first, to the end of `items`.
  void Drain(size_t count, std::vector<Item>* items) {
    MutexLock lock(&mutex_);
    while (count-- > 0 && !items_.empty()) {
      items->push_back(std::move(items_.front()));
      items_.pop_front();
    }
  }

  size_t size() const {
    MutexLock lock(&mutex_);
    return items_.size();
  }

 private:
  bool Add(Item item, size_t limit) {
    {
      MutexLock lock(&mutex_);
      if (items_.size() >= limit) return false;
      items_.push_back(std::move(item));
      if (items_.size() > 1) return true;
    }
    wake_();
    return true;
  }

  const size_t size_max_;
  const std::function<void()> wake_;
  mutable Mutex mutex_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum
