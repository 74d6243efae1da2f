#include "service/transport/partition_lookup.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "service/transport/peer_refusal.h"

namespace quorum::transport {

CallError UnknownTopic(const std::string& topic) {
  return CallError(v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic")
      .With("topic", topic);
}

CallError UnknownPartition(const std::string& topic, uint32_t partition) {
  return CallError(v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION,
                   absl::StrCat("the topic has no partition ", partition))
      .With("topic", topic)
      .With("partition", partition);
}

std::optional<FoundPartition> FindPartition(const controller::CatalogView& catalog,
                                            const std::string& topic, uint32_t partition) {
  const std::shared_ptr<const controller::TopicView> view = catalog.FindTopic(topic);
  if (view == nullptr || partition >= view->partitions.size()) return std::nullopt;
  FoundPartition found{PartitionId{view->id, partition}, {}};
  for (const ReplicaKey& key : view->partitions[partition].assignment) {
    found.replicas.push_back(key.id);
  }
  return found;
}

CallError NotFound(const controller::CatalogView& catalog, const std::string& topic,
                   uint32_t partition) {
  if (catalog.FindTopic(topic) == nullptr) return UnknownTopic(topic);
  return UnknownPartition(topic, partition);
}

CallError NotLeader(const ClientParts& parts, const shard::LeaderHint& hint) {
  if (!hint.leader.has_value()) {
    return CallError(v1::ERROR_REASON_LEADER_NOT_AVAILABLE,
                     "no leader of the partition is known, and none appeared in time")
        .WithRetryAfter(std::chrono::milliseconds(100));
  }
  CallError error(v1::ERROR_REASON_NOT_LEADER,
                  absl::StrCat("node ", hint.leader->id.value(), " leads the partition"));
  error.With("leader_id", hint.leader->id.value());
  error.With("leader_epoch", hint.epoch.value());
  for (const controller::NodeView& node : parts.catalog.Nodes()) {
    if (node.key.id != hint.leader->id) continue;
    for (const controller::NodeEndpoint& endpoint : node.endpoints) {
      if (endpoint.listener == "client" || endpoint.listener.empty()) {
        return error.With("leader_endpoint", endpoint.address);
      }
    }
    if (!node.endpoints.empty()) error.With("leader_endpoint", node.endpoints.front().address);
  }
  return error;
}

std::optional<ReplicaKey> KeyOfNode(const controller::CatalogView& catalog, NodeId node) {
  for (const controller::NodeView& view : catalog.Nodes()) {
    if (view.key.id == node) return view.key;
  }
  return std::nullopt;
}

std::optional<shard::LeaderHint> HintIn(const ClientParts& parts,
                                        const google::rpc::Status& status) {
  const std::optional<int64_t> id = MetadataNumber(status, "leader_id");
  const std::optional<int64_t> epoch = MetadataNumber(status, "leader_epoch");
  if (!id.has_value() || !epoch.has_value() || *id < 1 || *id > INT32_MAX) return std::nullopt;
  const std::optional<ReplicaKey> key = KeyOfNode(parts.catalog, NodeId(static_cast<int32_t>(*id)));
  if (!key.has_value()) return std::nullopt;
  return shard::LeaderHint{*key, Epoch(*epoch)};
}

std::optional<CallError> RefuseCall(const ClientParts& parts, const std::string& cluster_id) {
  if (parts.shutting_down.load()) {
    return CallError(v1::ERROR_REASON_SHUTTING_DOWN, "this node is shutting down");
  }
  if (!cluster_id.empty() && cluster_id != parts.self.cluster_id) {
    return OtherCluster(parts.self.cluster_id);
  }
  return std::nullopt;
}

}  // namespace quorum::transport
