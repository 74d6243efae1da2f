// Finds what a client names: a topic by name, a partition by index, and who has a replica of it.
//
// Thread: any.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/controller/catalog_api.h"
#include "service/transport/call_error.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

struct FoundPartition {
  PartitionId id;
  // The nodes that the catalog assigns, the preferred leader first.
  std::vector<NodeId> replicas;
};

CallError UnknownTopic(const std::string& topic);
CallError UnknownPartition(const std::string& topic, uint32_t partition);

// Empty when this node's catalog has no such partition.
std::optional<FoundPartition> FindPartition(const controller::CatalogView& catalog,
                                            const std::string& topic, uint32_t partition);
// Why it is not found.
CallError NotFound(const controller::CatalogView& catalog, const std::string& topic,
                   uint32_t partition);

// NOT_LEADER with the hint, or LEADER_NOT_AVAILABLE when there is no leader to hint at.
CallError NotLeader(const ClientParts& parts, const shard::LeaderHint& hint);

// The hint in a status that says NOT_LEADER; empty when there is none. Its directory comes from the
// catalog; a node that the catalog does not know is no hint.
std::optional<shard::LeaderHint> HintIn(const ClientParts& parts,
                                        const google::rpc::Status& status);

// The replica key that the catalog assigns to the partition on that node, or under which the node
// is registered.
std::optional<ReplicaKey> KeyOfNode(const controller::CatalogView& catalog, NodeId node);

// What a call says before it does anything: another cluster, or the end of this process.
std::optional<CallError> RefuseCall(const ClientParts& parts, const std::string& cluster_id);

}  // namespace quorum::transport
