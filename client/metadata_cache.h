// MetadataCache: what a client knows about the cluster, and in which order it tries the nodes.
//
// Everything in here is a hint. Any node forwards a call to the leader, so a wrong hint costs a
// hop, and an empty cache costs one too; nothing is ever refused because of it.
//
// Thread: a plain value, owned by the client's event loop. Bounded by kPartitionsMax, kNodesMax.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/partition_name.h"
#include "service/base/ids.h"
#include "service/base/time.h"

namespace quorum::client {

class MetadataCache {
 public:
  static constexpr size_t kPartitionsMax = 65536;
  static constexpr size_t kNodesMax = 1024;

  // `bootstrap` is tried in this order as long as nothing better is known.
  explicit MetadataCache(std::vector<std::string> bootstrap);

  // A leader that an answer or an error named. One of an older epoch than the one known is ignored.
  // `address` may be empty: then the node's address from NoteNode counts.
  void NoteLeader(const PartitionName& partition, NodeId node, std::optional<Epoch> epoch,
                  const std::string& address);

  // The partition's leader is not where it was thought to be.
  void ForgetLeader(const PartitionName& partition);

  // Where a node can be reached.
  void NoteNode(NodeId node, const std::string& address);

  // Calls go elsewhere first until `until`, or until NoteReachable.
  void NoteUnreachable(const std::string& address, MonoTime until);

  // The address answered; calls without a leader stay with it.
  void NoteReachable(const std::string& address);

  // The known leader's address; empty when the leader or its address is not known.
  std::string LeaderAddress(const PartitionName& partition) const;

  // True when the leader is known by its id only: DescribeCluster would tell more.
  bool LacksLeaderAddress(const PartitionName& partition) const;

  // All addresses known, best first, none twice: the leader of `partition` when one is given, the
  // address that answered last, the bootstrap list, the other nodes. Those that were unreachable
  // come last, the one longest ago first. Never empty.
  std::vector<std::string> Candidates(const std::optional<PartitionName>& partition,
                                      MonoTime now) const;

 private:
  struct Leader {
    NodeId node;
    Epoch epoch;
    std::string address;
  };

  const std::vector<std::string> bootstrap_;
  std::map<PartitionName, Leader> leaders_;
  std::map<NodeId, std::string> nodes_;
  std::map<std::string, MonoTime> avoid_until_;
  std::string answered_last_;
};

}  // namespace quorum::client
