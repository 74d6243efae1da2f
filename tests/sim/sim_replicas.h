// ReplicaManager: opens and closes the replicas of one process as the catalog says (architecture.md
// 7). A replica starts from the first voters only where the creation record names it by exact key,
// its directory has never held it, and the catalog still says "creating"; every other one starts
// blank. A replica that comes back keeps the election state of its tombstone.
//
// Lifecycle: one per process life. Thread: the simulator's only one.

#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/shard/client_calls.h"
#include "storage/api/recovery.h"
#include "tests/sim/sim_catalog.h"
#include "tests/sim/world.h"

namespace quorum::sim {

class ReplicaManager {
 public:
  // `post` hands a call to the shard of its partition.
  using Post = std::function<void(PartitionId, const shard::ShardCall&)>;

  ReplicaManager(World* world, ReplicaKey self, const storage::RecoveredStore& store, Post post);

  // The process has read what the catalog says of this partition.
  void Act(PartitionId partition);

 private:
  void Birth(PartitionId partition, const Assignment& assignment);
  void Bury(PartitionId partition);

  World& world_;
  const ReplicaKey self_;
  const Post post_;
  std::set<PartitionId> open_;
  std::set<PartitionId> burying_;
  std::map<PartitionId, ElectionState> tombstones_;
};

}  // namespace quorum::sim
