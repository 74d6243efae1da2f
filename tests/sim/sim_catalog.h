// SimCatalog: what the cluster's catalog says should be: partitions, their first voters with
// directory ids, and the nodes that hold a replica beside them. It stands in for the committed
// records of `__metadata`; who has heard of a record is up to the replica manager of each node.
//
// Thread: the simulator's only one.

#pragma once

#include <map>
#include <set>
#include <vector>

#include "service/base/ids.h"
#include "service/base/voter_set.h"

namespace quorum::sim {

struct Assignment {
  // In the order of the creation record: the first campaigns at once.
  std::vector<ReplicaKey> voters;
  std::set<NodeId> observers;
  // The partition has committed its first record; nobody is born with the first voters any more.
  bool created = false;

  bool NamesNode(NodeId node) const {
    for (const ReplicaKey& key : voters) {
      if (key.id == node) return true;
    }
    return observers.count(node) > 0;
  }
  bool NamesVoter(const ReplicaKey& key) const {
    for (const ReplicaKey& voter : voters) {
      if (voter == key) return true;
    }
    return false;
  }
};

class SimCatalog {
 public:
  std::map<PartitionId, Assignment>& assignments() { return assignments_; }
  const std::map<PartitionId, Assignment>& assignments() const { return assignments_; }
  // The directory that each node has now.
  std::map<NodeId, ReplicaKey>& keys() { return keys_; }
  const std::map<NodeId, ReplicaKey>& keys() const { return keys_; }

  // Everybody who may know the leader of a partition.
  std::vector<ReplicaKey> PeersOf(const Assignment& assignment, NodeId except) const {
    std::set<NodeId> nodes = assignment.observers;
    for (const ReplicaKey& voter : assignment.voters) nodes.insert(voter.id);
    std::vector<ReplicaKey> peers;
    for (const NodeId node : nodes) {
      if (node != except) peers.push_back(keys_.at(node));
    }
    return peers;
  }

 private:
  std::map<PartitionId, Assignment> assignments_;
  std::map<NodeId, ReplicaKey> keys_;
};

inline VoterSet MakeVoterSet(const std::vector<ReplicaKey>& keys) {
  std::vector<Voter> voters;
  voters.reserve(keys.size());
  for (const ReplicaKey& key : keys) voters.push_back(Voter{key, ""});
  return VoterSet(std::move(voters));
}

}  // namespace quorum::sim
