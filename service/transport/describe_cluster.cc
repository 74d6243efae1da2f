#include "service/transport/describe_cluster.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "service/transport/controller_codec.h"
#include "service/transport/unary_client.h"

namespace quorum::transport {
namespace {

// A controller that does not answer within this time has gone, or will say no more than this node.
constexpr Duration kForwardTimeout = std::chrono::milliseconds(500);

void EncodeNode(const controller::NodeView& view, v1::DescribeClusterResponse::Node* node) {
  node->set_node_id(view.key.id.value());
  node->set_directory_id(view.key.directory.ToString());
  node->set_incarnation(view.incarnation.value());
  for (const controller::NodeEndpoint& endpoint : view.endpoints) {
    EncodeEndpoint(endpoint, node->add_endpoints());
  }
  if (view.live.has_value()) node->set_live(*view.live);
  node->set_software_version(view.software_version);
}

void DescribeHere(const ClientParts& parts, v1::DescribeClusterResponse* response) {
  response->set_cluster_id(parts.self.cluster_id);
  response->set_node_id(parts.self.self.id.value());
  const shard::LeaderHint hint = parts.hints.Find(kMetadataPartition);
  if (hint.leader.has_value()) response->set_controller_id(hint.leader->id.value());
  if (hint.epoch > Epoch(0)) response->set_controller_epoch(hint.epoch.value());
  for (const controller::NodeView& view : parts.catalog.Nodes()) {
    EncodeNode(view, response->add_nodes());
  }
  response->set_lane_count(parts.self.lane_count);
  const controller::CatalogCounts counts = parts.catalog.Counts();
  response->set_topic_count(counts.topics);
  response->set_partition_count(counts.partitions);
}

}  // namespace

void DescribeCluster(ClientParts& parts, bool may_forward, MonoTime deadline,
                     v1::DescribeClusterResponse* response, std::function<void()> done) {
  const shard::LeaderHint hint = parts.hints.Find(kMetadataPartition);
  const bool elsewhere = hint.leader.has_value() && hint.leader->id != parts.self.self.id;
  const Duration left = std::min<Duration>(deadline - parts.clock.Now(), kForwardTimeout);
  const std::shared_ptr<grpc::Channel> channel =
      may_forward && elsewhere ? parts.channels.Get(hint.leader->id, ChannelUse::kForward)
                               : nullptr;
  if (channel == nullptr || left <= Duration::zero()) {
    DescribeHere(parts, response);
    done();
    return;
  }
  v1::DescribeClusterRequest request;
  request.set_cluster_id(parts.self.cluster_id);
  request.set_forwarded_by(parts.self.self.id.value());
  StartUnary<v1::DescribeClusterRequest, v1::DescribeClusterResponse>(
      parts.calls, channel, "/quorum.v1.AdminService/DescribeCluster", std::move(request), left,
      [&parts, response, done = std::move(done)](const grpc::Status& status,
                                                 v1::DescribeClusterResponse theirs) {
        if (status.ok()) {
          *response = std::move(theirs);
        } else {
          DescribeHere(parts, response);
        }
        done();
      });
}

}  // namespace quorum::transport
