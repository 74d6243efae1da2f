// LeaderHints: who leads which partition, as far as this node has heard: from its own replicas, and
// from the answers of other nodes. Soft: an old hint costs a hop, never safety.
//
// Thread: any.

#pragma once

#include <cstddef>
#include <map>

#include "absl/base/thread_annotations.h"
#include "service/base/ids.h"
#include "service/base/mutex.h"
#include "service/shard/client_calls.h"

namespace quorum::transport {

class LeaderHints {
 public:
  // What was heard of an older epoch than is known says nothing; within an epoch a leader, once
  // known, stays.
  void Note(PartitionId partition, const shard::LeaderHint& hint) {
    MutexLock lock(&mutex_);
    if (hints_.size() >= kHintsMax && hints_.count(partition) == 0) hints_.clear();
    shard::LeaderHint& known = hints_[partition];
    if (hint.epoch < known.epoch) return;
    if (hint.epoch == known.epoch && !hint.leader.has_value()) return;
    known = hint;
  }

  // Epoch 0 and no leader when nothing was heard.
  shard::LeaderHint Find(PartitionId partition) const {
    MutexLock lock(&mutex_);
    const auto found = hints_.find(partition);
    return found == hints_.end() ? shard::LeaderHint{} : found->second;
  }

 private:
  // Far above the partitions of a node. At the bound everything is forgotten and learnt again.
  static constexpr size_t kHintsMax = 500'000;

  mutable Mutex mutex_;
  std::map<PartitionId, shard::LeaderHint> hints_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::transport
