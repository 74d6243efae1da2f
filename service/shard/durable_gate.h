// DurableGate: holds what may not leave the node before a write is synced (architecture.md 3). Peer
// messages that wait are dropped when their replica's role or epoch has moved on meanwhile; answers
// to clients are facts and stay.
//
// Guarantee: what waits for write n is released, in order of arrival, by the first Release(m) with
// m >= n.
//
// Thread: the shard thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "service/base/ids.h"

namespace quorum::shard {

class DurableGate {
 public:
  struct Item {
    PartitionId partition;
    // The role incarnation that the item belongs to; 0 for what is true for ever.
    uint64_t incarnation = 0;
    // Runs with true when the item may leave, with false when it is dropped.
    std::function<void(bool)> action;
  };

  // Keeps `item` until write `number` is synced.
  void Wait(uint64_t number, Item item) {
    waiting_[number].push_back(std::move(item));
    ++size_;
  }

  // Everything up to write `number` is synced. `is_current` tells whether a partition still is in
  // that role incarnation.
  void Release(uint64_t number, const std::function<bool(PartitionId, uint64_t)>& is_current) {
    while (!waiting_.empty() && waiting_.begin()->first <= number) {
      std::deque<Item> items = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      size_ -= items.size();
      for (Item& item : items) {
        item.action(item.incarnation == 0 || is_current(item.partition, item.incarnation));
      }
    }
  }

  size_t size() const { return size_; }

 private:
  std::map<uint64_t, std::deque<Item>> waiting_;
  size_t size_ = 0;
};

}  // namespace quorum::shard
