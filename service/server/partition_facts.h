// PartitionFacts: what /metrics says of one partition, and the board on which a shard hangs those
// of its replicas for the threads of the pages.
//
// Thread: plain values; the board from any.

#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "service/base/ids.h"
#include "service/base/mutex.h"
#include "service/base/time.h"
#include "service/raft/trace.h"

namespace quorum::server {

struct PartitionFacts {
  PartitionId partition;
  raft::RoleKind role = raft::RoleKind::kUnattached;
  // As far as this replica knows.
  std::optional<NodeId> leader;
  Epoch epoch;
  std::optional<Offset> high_watermark;
  Offset log_end;
  // How long it has been behind its leader's high watermark.
  Duration lag = Duration::zero();
};

class PartitionFactsBoard {
 public:
  void Set(std::vector<PartitionFacts> facts) {
    MutexLock lock(&mutex_);
    facts_ = std::move(facts);
  }
  std::vector<PartitionFacts> Get() const {
    MutexLock lock(&mutex_);
    return facts_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<PartitionFacts> facts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::server
