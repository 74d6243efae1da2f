#include "client/learn.h"

#include <optional>
#include <string>

namespace quorum::client {
namespace {

// The address for clients: the listener of that name, else the one for everything.
template <typename Endpoints>
std::string ClientAddress(const Endpoints& endpoints) {
  std::string shared;
  for (const v1::Endpoint& endpoint : endpoints) {
    if (endpoint.listener() == "client") return endpoint.address();
    if (endpoint.listener().empty() && shared.empty()) shared = endpoint.address();
  }
  return shared;
}

// An entry of an answer that names the leader: leader_id and leader_epoch, both optional.
template <typename Entry>
void LearnLeader(const std::string& topic, const Entry& entry, MetadataCache* cache) {
  if (!entry.has_partition() || !entry.has_leader_id() || entry.leader_id() <= 0) return;
  std::optional<Epoch> epoch;
  if (entry.has_leader_epoch()) epoch = Epoch(entry.leader_epoch());
  cache->NoteLeader(PartitionName{topic, entry.partition()}, NodeId(entry.leader_id()), epoch, "");
}

}  // namespace

void Learn(const PartitionName& partition, const v1::AppendResponse& response,
           MetadataCache* cache) {
  if (!response.has_leader_id() || response.leader_id() <= 0) return;
  std::optional<Epoch> epoch;
  if (response.has_leader_epoch()) epoch = Epoch(response.leader_epoch());
  cache->NoteLeader(partition, NodeId(response.leader_id()), epoch, "");
}

void Learn(const v1::ListOffsetsResponse& response, MetadataCache* cache) {
  for (const auto& topic : response.topics()) {
    for (const auto& partition : topic.partitions()) LearnLeader(topic.topic(), partition, cache);
  }
}

void Learn(const v1::DescribeTopicResponse& response, MetadataCache* cache) {
  for (const auto& partition : response.topic().partitions()) {
    LearnLeader(response.topic().name(), partition, cache);
  }
}

void Learn(const v1::DescribeQuorumResponse& response, MetadataCache* cache) {
  for (const auto& node : response.nodes()) {
    if (node.node_id() > 0)
      cache->NoteNode(NodeId(node.node_id()), ClientAddress(node.endpoints()));
  }
  for (const auto& topic : response.topics()) {
    for (const auto& partition : topic.partitions()) LearnLeader(topic.topic(), partition, cache);
  }
}

void Learn(const v1::DescribeClusterResponse& response, MetadataCache* cache) {
  for (const auto& node : response.nodes()) {
    if (node.node_id() > 0)
      cache->NoteNode(NodeId(node.node_id()), ClientAddress(node.endpoints()));
  }
}

std::optional<Error> EntryError(const v1::ListOffsetsResponse& response) {
  for (const auto& topic : response.topics()) {
    if (topic.has_error()) return ErrorFromStatus(topic.error());
    for (const auto& partition : topic.partitions()) {
      if (partition.has_error()) return ErrorFromStatus(partition.error());
    }
  }
  return std::nullopt;
}

}  // namespace quorum::client
