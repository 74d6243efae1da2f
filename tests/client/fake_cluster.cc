#include "tests/client/fake_cluster.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"

namespace quorum::client {
namespace {

constexpr uint32_t kPartitions = 4;

std::string DirectoryOf(int32_t node) {
  return absl::StrCat("00000000-0000-0000-0000-00000000000", node);
}

FakeError NoSuchTopic(const std::string& topic) {
  return {google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION",
          absl::StrCat("there is no topic ", topic)};
}

const FakeError kNoLeader{google::rpc::UNAVAILABLE, "LEADER_NOT_AVAILABLE",
                          "orders:1 has no leader"};

v1::TopicDescription Orders() {
  v1::TopicDescription topic;
  topic.set_topic_id(17);
  topic.set_name("orders");
  topic.set_partition_count(kPartitions);
  topic.set_replica_count(3);
  return topic;
}

v1::TopicDescription OrdersWithPartitions() {
  v1::TopicDescription topic = Orders();
  for (uint32_t index = 0; index < kPartitions; ++index) {
    auto* partition = topic.add_partitions();
    partition->set_partition(index);
    partition->set_state(index == 1 ? v1::PARTITION_STATE_CREATING : v1::PARTITION_STATE_CREATED);
    for (const int32_t id : {1, 2, 3}) {
      partition->add_replicas()->set_node_id(id);
      partition->mutable_replicas(id - 1)->set_directory_id(DirectoryOf(id));
    }
    if (index == 1) continue;
    partition->set_leader_id(2);
    partition->set_leader_epoch(4);
  }
  return topic;
}

v1::DescribeQuorumResponse::Partition QuorumOf(uint32_t index) {
  v1::DescribeQuorumResponse::Partition quorum;
  quorum.set_partition(index);
  if (index == 1) {
    *quorum.mutable_error() = ToRpcStatus(kNoLeader);
    return quorum;
  }
  quorum.set_leader_id(2);
  quorum.set_leader_epoch(4);
  quorum.set_high_watermark(5000);
  quorum.set_log_start_offset(0);
  quorum.set_log_end_offset(5000);
  quorum.set_epoch_committed(true);
  for (const int32_t id : {1, 2, 3}) {
    auto* voter = quorum.add_current_voters();
    voter->set_node_id(id);
    voter->set_directory_id(DirectoryOf(id));
    voter->set_role(id == 2 ? v1::REPLICA_ROLE_LEADER : v1::REPLICA_ROLE_FOLLOWER);
    if (index == 3 && id == 3) continue;
    voter->set_log_end_offset(index == 2 && id == 3 ? 1000 : 5000);
    if (id == 2) continue;
    voter->mutable_last_fetch_age()->set_nanos(20'000'000);
    voter->mutable_last_caught_up_age()->set_nanos(20'000'000);
  }
  auto* observer = quorum.add_observers();
  observer->set_node_id(4);
  observer->set_directory_id(DirectoryOf(4));
  observer->set_role(v1::REPLICA_ROLE_OBSERVER);
  observer->set_log_end_offset(4990);
  return quorum;
}

v1::DescribeClusterResponse Cluster() {
  v1::DescribeClusterResponse cluster;
  cluster.set_cluster_id("golden");
  cluster.set_node_id(1);
  cluster.set_controller_id(1);
  cluster.set_controller_epoch(7);
  cluster.set_topic_count(1);
  cluster.set_partition_count(kPartitions);
  for (const int32_t id : {1, 2, 3}) {
    auto* node = cluster.add_nodes();
    node->set_node_id(id);
    node->set_directory_id(DirectoryOf(id));
    node->set_software_version("0.1.0");
    node->set_live(id != 3);
    auto* endpoint = node->add_endpoints();
    endpoint->set_listener("client");
    // Nobody follows it: there is one node only.
    endpoint->set_address(absl::StrCat("node", id, ":7101"));
  }
  return cluster;
}

}  // namespace

FakeCluster::FakeCluster() {
  AnswerTopics();
  AnswerQuorums();
  AnswerLog();
}

void FakeCluster::AnswerTopics() {
  node_.describe_cluster.Always([](grpc::ServerContext*, const v1::DescribeClusterRequest&,
                                   v1::DescribeClusterResponse* answer) {
    *answer = Cluster();
    return grpc::Status::OK;
  });
  node_.list_topics.Always(
      [](grpc::ServerContext*, const v1::ListTopicsRequest&, v1::ListTopicsResponse* answer) {
        *answer->add_topics() = Orders();
        return grpc::Status::OK;
      });
  node_.describe_topic.Always([](grpc::ServerContext*, const v1::DescribeTopicRequest& request,
                                 v1::DescribeTopicResponse* answer) {
    if (request.name() != "orders") return ToStatus(NoSuchTopic(request.name()));
    *answer->mutable_topic() = OrdersWithPartitions();
    return grpc::Status::OK;
  });
  node_.create_topic.Always([](grpc::ServerContext*, const v1::CreateTopicRequest& request,
                               v1::CreateTopicResponse* answer) {
    if (request.name() == "orders") {
      return ToStatus({google::rpc::ALREADY_EXISTS, "TOPIC_ALREADY_EXISTS", "orders exists"});
    }
    *answer->mutable_topic() = Orders();
    answer->mutable_topic()->set_name(request.name());
    return grpc::Status::OK;
  });
  node_.delete_topic.Always([](grpc::ServerContext*, const v1::DeleteTopicRequest& request,
                               v1::DeleteTopicResponse* answer) {
    if (request.name() != "orders") return ToStatus(NoSuchTopic(request.name()));
    answer->set_topic_id(17);
    return grpc::Status::OK;
  });
}

void FakeCluster::AnswerQuorums() {
  node_.describe_quorum.Always([](grpc::ServerContext*, const v1::DescribeQuorumRequest& request,
                                  v1::DescribeQuorumResponse* answer) {
    for (const auto& asked : request.topics()) {
      auto* topic = answer->add_topics();
      topic->set_topic(asked.topic());
      if (asked.topic() != "orders") {
        *topic->mutable_error() = ToRpcStatus(NoSuchTopic(asked.topic()));
        continue;
      }
      topic->set_topic_id(17);
      for (uint32_t index = 0; index < kPartitions; ++index) {
        if (asked.partitions_size() == 0 || asked.partitions(0) == index) {
          *topic->add_partitions() = QuorumOf(index);
        }
      }
    }
    return grpc::Status::OK;
  });
  node_.elect_leader.Always([](grpc::ServerContext*, const v1::ElectLeaderRequest& request,
                               v1::ElectLeaderResponse* answer) {
    const auto& asked = request.topics(0).partitions(0);
    auto* entry = answer->add_topics()->add_partitions();
    entry->set_partition(asked.partition());
    if (asked.node_id() > 3) {
      *entry->mutable_error() =
          ToRpcStatus({google::rpc::NOT_FOUND, "VOTER_NOT_FOUND",
                       absl::StrCat("node ", asked.node_id(), " is no voter")});
      return grpc::Status::OK;
    }
    entry->set_leader_id(asked.has_node_id() ? asked.node_id() : 1);
    entry->set_leader_epoch(5);
    return grpc::Status::OK;
  });
}

void FakeCluster::AnswerLog() {
  node_.append.Always(
      [](grpc::ServerContext*, const v1::AppendRequest& request, v1::AppendResponse* answer) {
        if (request.topic() != "orders") return ToStatus(AsRefused(NoSuchTopic(request.topic())));
        if (request.has_expected_offset() && request.expected_offset() != 5000) {
          return ToStatus(AsRefused({google::rpc::ABORTED,
                                     "OFFSET_MISMATCH",
                                     "the log ends at 5000",
                                     {{"log_end", "5000"}}}));
        }
        answer->set_base_offset(5000);
        answer->set_leader_epoch(4);
        answer->set_leader_id(2);
        return grpc::Status::OK;
      });
  node_.tail.Always([](grpc::ServerContext*, const v1::TailRequest& request, TailWriter writer) {
    if (request.topic() != "orders") return ToStatus(NoSuchTopic(request.topic()));
    v1::TailResponse message = RecordsMessage(5, 7, 8);
    auto* batch = message.mutable_records()->mutable_batches(0);
    batch->mutable_records(0)->set_key("k1");
    batch->mutable_records(2)->set_key("k1");
    batch->mutable_records(2)->clear_value();
    writer->Write(message);
    return grpc::Status::OK;
  });
  node_.list_offsets.Always([](grpc::ServerContext*, const v1::ListOffsetsRequest& request,
                               v1::ListOffsetsResponse* answer) {
    const auto& asked = request.topics(0);
    auto* topic = answer->add_topics();
    topic->set_topic(asked.topic());
    if (asked.topic() != "orders") {
      *topic->mutable_error() = ToRpcStatus(NoSuchTopic(asked.topic()));
      return grpc::Status::OK;
    }
    auto* entry = topic->add_partitions();
    entry->set_partition(0);
    entry->set_earliest_offset(0);
    entry->set_latest_offset(5000);
    entry->set_leader_epoch(4);
    entry->set_leader_id(2);
    return grpc::Status::OK;
  });
}

}  // namespace quorum::client
