#include "service/controller/placement.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "service/base/check.h"

namespace quorum::controller {

std::map<NodeId, NodeLoad> CountLoad(const Catalog& catalog) {
  std::map<NodeId, NodeLoad> load;
  for (const auto& [id, plan] : catalog.partitions()) {
    for (const ReplicaKey& key : plan.assignment) ++load[key.id].replicas;
    ++load[plan.assignment.front().id].leaders;
  }
  return load;
}

std::vector<std::vector<ReplicaKey>> Place(const std::vector<ReplicaKey>& live,
                                           uint32_t partition_count, uint32_t replica_count,
                                           std::map<NodeId, NodeLoad> load) {
  CHECK_GE(replica_count, 1u);
  CHECK_GE(live.size(), replica_count);
  std::vector<std::vector<ReplicaKey>> assignments;
  assignments.reserve(partition_count);
  for (uint32_t index = 0; index < partition_count; ++index) {
    std::vector<ReplicaKey> order = live;
    std::sort(order.begin(), order.end());
    std::rotate(order.begin(), order.begin() + static_cast<int64_t>(index % order.size()),
                order.end());
    std::stable_sort(order.begin(), order.end(), [&load](const auto& a, const auto& b) {
      return load[a.id].replicas < load[b.id].replicas;
    });
    order.resize(replica_count);
    std::stable_sort(order.begin(), order.end(), [&load](const auto& a, const auto& b) {
      return load[a.id].leaders < load[b.id].leaders;
    });
    for (const ReplicaKey& key : order) ++load[key.id].replicas;
    ++load[order.front().id].leaders;
    assignments.push_back(std::move(order));
  }
  return assignments;
}

}  // namespace quorum::controller
