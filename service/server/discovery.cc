#include "service/server/discovery.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <chrono>
#include <optional>
#include <utility>

#include "service/base/check.h"
#include "service/transport/unary_client.h"

namespace quorum::server {
namespace {

constexpr Duration kTimeout = std::chrono::milliseconds(1000);

std::optional<ReplicaKey> KeyOf(int32_t node, const std::string& directory_bytes) {
  const std::optional<DirectoryId> directory = DirectoryId::FromBytes(directory_bytes);
  if (node < 1 || !directory.has_value()) return std::nullopt;
  return ReplicaKey{NodeId(node), *directory};
}

void AddPeer(const std::optional<ReplicaKey>& key, std::vector<ReplicaKey>* peers) {
  if (!key.has_value()) return;
  for (const ReplicaKey& peer : *peers) {
    if (peer == *key) return;
  }
  peers->push_back(*key);
}

}  // namespace

Discovered ReadMetadata(const v1::MetadataResponse& response, const std::string& asked) {
  Discovered found;
  for (const v1::MetadataResponse::Topic& topic : response.topics()) {
    if (topic.topic_id() != kMetadataPartition.topic.value()) continue;
    for (const v1::MetadataResponse::Partition& partition : topic.partitions()) {
      AddPeer(KeyOf(partition.leader_id(), partition.leader_directory_id()), &found.peers);
      for (const v1::ReplicaKey& replica : partition.replicas()) {
        AddPeer(KeyOf(replica.node_id(), replica.directory_id()), &found.peers);
      }
    }
  }
  const v1::PeerIdentity& responder = response.responder();
  AddPeer(KeyOf(responder.node_id(), responder.directory_id()), &found.peers);
  if (responder.node_id() > 0) found.addresses.emplace_back(NodeId(responder.node_id()), asked);
  for (const v1::MetadataResponse::Broker& broker : response.brokers()) {
    if (broker.identity().node_id() < 1 || broker.endpoints().empty()) continue;
    found.addresses.emplace_back(NodeId(broker.identity().node_id()),
                                 broker.endpoints(0).address());
  }
  return found;
}

bool FindsItsWay(const shard::PartitionDescription& metadata, bool leader_reachable) {
  return leader_reachable && !metadata.voters.empty();
}

Discovery::Discovery(std::string cluster_id, NodeId self, std::vector<std::string> bootstrap,
                     Parts parts)
    : cluster_id_(std::move(cluster_id)),
      self_(self),
      bootstrap_(std::move(bootstrap)),
      parts_(std::move(parts)) {}

const std::shared_ptr<grpc::Channel>& Discovery::ChannelTo(const std::string& address) {
  std::shared_ptr<grpc::Channel>& channel = channels_[address];
  if (channel == nullptr) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
    arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1'000);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }
  return channel;
}

void Discovery::Ask() {
  if (bootstrap_.empty()) return;
  {
    MutexLock lock(&mutex_);
    if (asking_) return;
    asking_ = true;
  }
  const std::string asked = bootstrap_[next_++ % bootstrap_.size()];
  v1::MetadataRequest request;
  request.mutable_envelope()->set_cluster_id(cluster_id_);
  request.add_topics()->set_topic_id(kMetadataPartition.topic.value());
  transport::StartUnary<v1::MetadataRequest, v1::MetadataResponse>(
      calls_, ChannelTo(asked), "/quorum.v1.ObserverService/Metadata", std::move(request), kTimeout,
      [this, asked](const grpc::Status& status, const v1::MetadataResponse& response) {
        if (status.ok()) {
          OnAnswer(response, asked);
        } else {
          VLOG(1) << "bootstrap node " << asked << ": " << status.error_message();
        }
        MutexLock lock(&mutex_);
        asking_ = false;
      });
}

void Discovery::OnAnswer(const v1::MetadataResponse& response, const std::string& asked) {
  Discovered found = ReadMetadata(response, asked);
  for (const auto& [node, address] : found.addresses) {
    if (node != self_) parts_.addresses.Set(node, address);
  }
  std::vector<ReplicaKey> peers;
  for (const ReplicaKey& peer : found.peers) {
    if (peer.id != self_) peers.push_back(peer);
  }
  if (!peers.empty()) parts_.introduce(std::move(peers));
}

}  // namespace quorum::server
