#include "tests/bench/quorum_cluster.h"

#include <chrono>

#include "service/base/check.h"
#include "tests/bench/poll.h"

namespace quorum::bench {
namespace {

constexpr Duration kStartTimeMax = std::chrono::seconds(60);
constexpr Duration kAskTimeMax = std::chrono::seconds(5);
constexpr Duration kInterval = std::chrono::milliseconds(50);

}  // namespace

QuorumCluster::QuorumCluster(const Clock& clock, const std::vector<std::string>& addresses)
    : clock_(clock) {
  for (const std::string& address : addresses) {
    nodes_.push_back(v1::AdminService::NewStub(MakeChannels(address, 1)[0]));
  }
}

void QuorumCluster::CreateTopic(const std::string& topic, uint32_t partitions) {
  v1::CreateTopicRequest request;
  request.set_name(topic);
  request.set_partitions(partitions);
  request.set_replicas(3);
  grpc::Status status;
  size_t asked = 0;
  const bool is_created = Poll(clock_, kInterval, kStartTimeMax, [&] {
    grpc::ClientContext context;
    SetDeadline(&context, std::chrono::seconds(30));
    v1::CreateTopicResponse response;
    status = nodes_[asked++ % nodes_.size()]->CreateTopic(&context, request, &response);
    return status.ok() || status.error_code() == grpc::StatusCode::ALREADY_EXISTS;
  });
  CHECK(is_created) << "CreateTopic: " << status.error_message();
}

std::vector<int> QuorumCluster::Leaders(const std::string& topic, uint32_t partitions,
                                        const std::vector<size_t>& nodes) {
  v1::DescribeQuorumRequest request;
  request.add_topics()->set_topic(topic);
  // Each node answers for what it leads itself: nobody's hearsay counts.
  request.set_no_forward(true);
  std::vector<int> leaders(partitions, -1);
  for (const size_t node : nodes) {
    grpc::ClientContext context;
    SetDeadline(&context, kAskTimeMax);
    v1::DescribeQuorumResponse response;
    if (!nodes_[node]->DescribeQuorum(&context, request, &response).ok()) continue;
    for (const auto& answer : response.topics()) {
      for (const auto& partition : answer.partitions()) {
        const bool is_led = !partition.has_error() && !partition.stale() &&
                            partition.epoch_committed() && partition.partition() < partitions &&
                            partition.leader_id() == static_cast<int32_t>(node) + 1;
        if (is_led) leaders[partition.partition()] = static_cast<int>(node);
      }
    }
  }
  return leaders;
}

std::vector<int> QuorumCluster::WaitForLeaders(const std::string& topic, uint32_t partitions) {
  std::vector<int> leaders;
  size_t led = 0;
  const bool are_led = Poll(clock_, kInterval, kStartTimeMax, [&] {
    leaders = Leaders(topic, partitions, AllNodes());
    led = 0;
    for (const int leader : leaders) led += leader >= 0 ? 1 : 0;
    return led == partitions;
  });
  CHECK(are_led) << "only " << led << " of " << partitions << " partitions have a leader";
  return leaders;
}

std::vector<size_t> QuorumCluster::AllNodes() const {
  std::vector<size_t> nodes(nodes_.size());
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = i;
  return nodes;
}

}  // namespace quorum::bench
