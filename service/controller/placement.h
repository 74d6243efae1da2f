// Placement: where the replicas of new partitions go. Pure: the same inputs give the same
// assignment.
//
// Thread: any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "service/base/ids.h"
#include "service/controller/catalog.h"

namespace quorum::controller {

// How much each node carries already.
struct NodeLoad {
  // Replicas that are assigned to it.
  size_t replicas = 0;
  // Partitions whose preferred leader it is.
  size_t leaders = 0;
};

std::map<NodeId, NodeLoad> CountLoad(const Catalog& catalog);

// One assignment per partition, the preferred leader first. Each partition's replicas are on
// different nodes; replicas, and preferred leaders among them, go where there are fewest, ties by
// node id shifted by the partition's index so that equal nodes take turns. `live` must hold at
// least `replica_count` nodes.
std::vector<std::vector<ReplicaKey>> Place(const std::vector<ReplicaKey>& live,
                                           uint32_t partition_count, uint32_t replica_count,
                                           std::map<NodeId, NodeLoad> load);

}  // namespace quorum::controller
