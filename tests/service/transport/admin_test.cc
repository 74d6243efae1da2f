// AdminService over a real connection: changes go to the controller, questions to the leader.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "quorum/v1/admin.grpc.pb.h"
#include "service/base/overloaded.h"
#include "service/transport/call_error.h"
#include "tests/service/transport/client_node.h"

namespace quorum::transport {
namespace {

using controller::ControllerError;

class AdminTest : public testing::Test {
 protected:
  AdminTest() {
    one_.Knows(two_);
    two_.Knows(one_);
  }

  grpc::Status Create(const v1::CreateTopicRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_millis(3'000, GPR_TIMESPAN));
    return one_.admin().CreateTopic(&context, request, &created_);
  }

  static v1::CreateTopicRequest Request() {
    v1::CreateTopicRequest request;
    request.set_name("new");
    request.set_partitions(6);
    return request;
  }

  ClientNode one_{1};
  ClientNode two_{2};
  v1::CreateTopicResponse created_;
};

TEST_F(AdminTest, ATopicIsCreatedByTheController) {
  one_.controller.result.topic = one_.catalog.FindTopic("orders");
  ASSERT_TRUE(Create(Request()).ok());
  ASSERT_EQ(one_.controller.creations.size(), 1u);
  EXPECT_EQ(one_.controller.creations[0].name, "new");
  EXPECT_EQ(one_.controller.creations[0].partitions, 6u);
  EXPECT_FALSE(one_.controller.creations[0].replicas.has_value());
  EXPECT_EQ(created_.topic().topic_id(), 2u);
  EXPECT_EQ(created_.topic().partitions_size(), 3);
}

TEST_F(AdminTest, AChangeGoesOneHopToTheController) {
  one_.controller.result.error = ControllerError::kNotController;
  one_.controller.result.hint = {KeyOf(2), Epoch(5)};
  two_.controller.result.topic = two_.catalog.FindTopic("orders");
  ASSERT_TRUE(Create(Request()).ok());
  EXPECT_EQ(two_.controller.creations.size(), 1u);
  EXPECT_EQ(created_.topic().name(), "orders");
}

TEST_F(AdminTest, AChangeMadeElsewhereIsAnsweredWhenTheNodeAskedShowsIt) {
  one_.controller.result.error = ControllerError::kNotController;
  one_.controller.result.hint = {KeyOf(2), Epoch(5)};
  two_.catalog.Add(9, "new", 1, {2});
  two_.controller.result.topic = two_.catalog.FindTopic("new");
  two_.controller.result.deleted = TopicId(9);

  one_.catalog.Lag(3);
  one_.catalog.Add(9, "new", 1, {2});
  ASSERT_TRUE(Create(Request()).ok());
  EXPECT_EQ(one_.catalog.lag(), 0);

  one_.catalog.Lag(3);
  one_.catalog.Remove("new");
  v1::DeleteTopicRequest request;
  request.set_name("new");
  grpc::ClientContext context;
  v1::DeleteTopicResponse response;
  ASSERT_TRUE(one_.admin().DeleteTopic(&context, request, &response).ok());
  EXPECT_EQ(one_.catalog.lag(), 0);
}

TEST_F(AdminTest, ANodeWhoseCatalogLagsForLongAnswersAllTheSame) {
  one_.controller.result.error = ControllerError::kNotController;
  one_.controller.result.hint = {KeyOf(2), Epoch(5)};
  two_.catalog.Add(9, "new", 1, {2});
  two_.controller.result.topic = two_.catalog.FindTopic("new");
  one_.catalog.Lag(1'000'000);
  EXPECT_TRUE(Create(Request()).ok());
  EXPECT_LT(one_.catalog.lag(), 999'999) << "it has not looked again";
}

TEST_F(AdminTest, ATopicThatIsGoneAgainIsNotLookedFor) {
  one_.controller.result.error = ControllerError::kNotController;
  one_.controller.result.hint = {KeyOf(2), Epoch(5)};
  one_.catalog.Lag(1'000'000);
  ASSERT_TRUE(Create(Request()).ok());
  EXPECT_FALSE(created_.has_topic());
  EXPECT_EQ(one_.catalog.lag(), 1'000'000);
}

TEST_F(AdminTest, AChangeThatMayHaveBeenMadeIsNotRepeated) {
  one_.controller.result.error = ControllerError::kOutcomeUnknown;
  const grpc::Status status = Create(Request());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(HasReason(RpcStatusOf(status), v1::ERROR_REASON_REQUEST_TIMED_OUT));
  EXPECT_EQ(one_.controller.creations.size(), 1u);
}

TEST_F(AdminTest, WithoutControllerTheWaitIsBounded) {
  one_.controller.result.error = ControllerError::kNotController;
  two_.controller.result.error = ControllerError::kNotController;
  v1::CreateTopicRequest request = Request();
  request.mutable_timeout()->set_nanos(200'000'000);
  EXPECT_TRUE(HasReason(RpcStatusOf(Create(request)), v1::ERROR_REASON_LEADER_NOT_AVAILABLE));
}

TEST_F(AdminTest, EachErrorOfTheControllerHasItsStatus) {
  const std::pair<ControllerError, v1::ErrorReason> cases[] = {
      {ControllerError::kInvalidRequest, v1::ERROR_REASON_INVALID_REQUEST},
      {ControllerError::kTopicAlreadyExists, v1::ERROR_REASON_TOPIC_ALREADY_EXISTS},
      {ControllerError::kUnknownTopic, v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION},
      {ControllerError::kInternalTopic, v1::ERROR_REASON_INTERNAL_TOPIC},
      {ControllerError::kNotEnoughNodes, v1::ERROR_REASON_NOT_ENOUGH_NODES},
      {ControllerError::kThrottled, v1::ERROR_REASON_THROTTLED},
      {ControllerError::kShuttingDown, v1::ERROR_REASON_SHUTTING_DOWN},
  };
  for (const auto& [error, reason] : cases) {
    one_.controller.result.error = error;
    v1::CreateTopicRequest request = Request();
    request.set_no_forward(true);
    request.mutable_timeout()->set_nanos(100'000'000);
    const grpc::Status status = Create(request);
    EXPECT_TRUE(HasReason(RpcStatusOf(status), reason)) << status.error_message();
  }
}

TEST_F(AdminTest, ATopicIsDeletedByNameAndId) {
  one_.controller.result.deleted = TopicId(2);
  v1::DeleteTopicRequest request;
  request.set_name("orders");
  request.set_topic_id(2);
  grpc::ClientContext context;
  v1::DeleteTopicResponse response;
  ASSERT_TRUE(one_.admin().DeleteTopic(&context, request, &response).ok());
  EXPECT_EQ(response.topic_id(), 2u);
  ASSERT_EQ(one_.controller.removals.size(), 1u);
  EXPECT_EQ(one_.controller.removals[0].id, TopicId(2));
}

TEST_F(AdminTest, TopicsAreListedPageByPage) {
  for (uint64_t i = 0; i < 7; ++i) one_.catalog.Add(10 + i, "t" + std::to_string(i), 1, {1});
  std::string names;
  v1::ListTopicsRequest request;
  request.set_page_size(3);
  int pages = 0;
  do {
    grpc::ClientContext context;
    v1::ListTopicsResponse response;
    ASSERT_TRUE(one_.admin().ListTopics(&context, request, &response).ok());
    EXPECT_LE(response.topics_size(), 3);
    for (const auto& topic : response.topics()) names += topic.name() + " ";
    request.set_page_token(response.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(names, "orders t0 t1 t2 t3 t4 t5 t6 ");
  EXPECT_EQ(pages, 3);

  request.set_include_internal(true);
  request.set_page_size(0);
  grpc::ClientContext context;
  v1::ListTopicsResponse all;
  ASSERT_TRUE(one_.admin().ListTopics(&context, request, &all).ok());
  EXPECT_EQ(all.topics_size(), 9);
  EXPECT_EQ(all.topics(0).name(), "__metadata");
  EXPECT_TRUE(all.topics(0).internal());

  grpc::ClientContext second;
  request.set_page_size(-1);
  EXPECT_EQ(one_.admin().ListTopics(&second, request, &all).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(AdminTest, ATopicIsDescribedWithItsReplicasAndLeaders) {
  one_.hints.Note(Orders(1), {KeyOf(2), Epoch(4)});
  v1::DescribeTopicRequest request;
  request.set_name("orders");
  grpc::ClientContext context;
  v1::DescribeTopicResponse response;
  ASSERT_TRUE(one_.admin().DescribeTopic(&context, request, &response).ok());
  ASSERT_EQ(response.topic().partitions_size(), 3);
  EXPECT_FALSE(response.topic().partitions(0).has_leader_id());
  EXPECT_EQ(response.topic().partitions(1).leader_id(), 2);
  EXPECT_EQ(response.topic().partitions(0).replicas(0).directory_id(),
            "00000000-0000-0001-0000-000000000001");
  request.set_name("nothing");
  grpc::ClientContext second;
  EXPECT_EQ(one_.admin().DescribeTopic(&second, request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

shard::PartitionDescription LeaderOf(PartitionId partition, int32_t leader) {
  shard::PartitionDescription description;
  description.partition = partition;
  description.role = raft::RoleKind::kLeader;
  description.ready_leader = true;
  description.hint = {KeyOf(leader), Epoch(4)};
  description.high_watermark = Offset(10);
  description.log_end = Offset(12);
  description.voters = VoterSet({{KeyOf(1), ""}, {KeyOf(2), ""}});
  description.now = MonoTime(std::chrono::seconds(100));
  for (const int32_t node : {1, 2, 3}) {
    raft::ReplicaDescription row;
    row.key = KeyOf(node);
    row.voter = node < 3;
    row.log_end = Offset(10);
    row.last_fetch = description.now - std::chrono::milliseconds(250);
    description.replicas.push_back(row);
  }
  return description;
}

TEST_F(AdminTest, AQuorumIsDescribedByItsLeaderWithObservers) {
  one_.shards.on_call = [](shard::ShardCall call) {
    auto& describe = std::get<shard::DescribeCall>(call);
    shard::PartitionDescription answer = LeaderOf(describe.partition, 2);
    answer.role = raft::RoleKind::kFollower;
    answer.replicas.clear();
    describe.done(answer);
  };
  two_.shards.on_call = [](shard::ShardCall call) {
    auto& describe = std::get<shard::DescribeCall>(call);
    describe.done(LeaderOf(describe.partition, 2));
  };
  v1::DescribeQuorumRequest request;
  request.add_topics()->set_topic("orders");
  request.mutable_topics(0)->add_partitions(1);
  grpc::ClientContext context;
  v1::DescribeQuorumResponse response;
  ASSERT_TRUE(one_.admin().DescribeQuorum(&context, request, &response).ok());
  ASSERT_EQ(response.topics(0).partitions_size(), 1);
  const auto& partition = response.topics(0).partitions(0);
  EXPECT_FALSE(partition.has_error());
  EXPECT_EQ(partition.partition(), 1u);
  EXPECT_EQ(partition.leader_id(), 2);
  EXPECT_EQ(partition.leader_epoch(), 4);
  ASSERT_EQ(partition.current_voters_size(), 2);
  EXPECT_EQ(partition.current_voters(0).role(), v1::REPLICA_ROLE_FOLLOWER);
  EXPECT_EQ(partition.current_voters(1).role(), v1::REPLICA_ROLE_LEADER);
  EXPECT_EQ(partition.current_voters(0).last_fetch_age().nanos(), 250'000'000);
  ASSERT_EQ(partition.observers_size(), 1);
  EXPECT_EQ(partition.observers(0).role(), v1::REPLICA_ROLE_OBSERVER);
  EXPECT_EQ(partition.target_replicas_size(), 2);
  EXPECT_EQ(partition.plan_version(), 7);
  EXPECT_FALSE(partition.stale());
  EXPECT_EQ(response.nodes_size(), 2);

  request.set_stale_ok(true);
  grpc::ClientContext second;
  ASSERT_TRUE(one_.admin().DescribeQuorum(&second, request, &response).ok());
  EXPECT_TRUE(response.topics(0).partitions(0).stale());
  EXPECT_EQ(response.topics(0).partitions(0).current_voters_size(), 2);
}

TEST_F(AdminTest, AnElectionIsHeldAtTheLeaderAndAwaited) {
  std::atomic<bool> resigned{false};
  two_.shards.on_call = [&](shard::ShardCall call) {
    std::visit(Overloaded{
                   [&](shard::DescribeCall& describe) {
                     shard::PartitionDescription answer = LeaderOf(describe.partition, 2);
                     if (resigned.load()) {
                       answer.role = raft::RoleKind::kFollower;
                       answer.hint = {KeyOf(1), Epoch(5)};
                     }
                     describe.done(answer);
                   },
                   [&](shard::ResignCall& resign) {
                     EXPECT_EQ(resign.preferred, KeyOf(1));
                     resigned.store(true);
                     resign.done(raft::RaftError::kNone, {});
                   },
                   [](auto& /*other*/) { ADD_FAILURE() << "another call"; },
               },
               call);
  };
  one_.shards.on_call = [](shard::ShardCall call) {
    auto& describe = std::get<shard::DescribeCall>(call);
    shard::PartitionDescription answer = LeaderOf(describe.partition, 2);
    answer.role = raft::RoleKind::kFollower;
    describe.done(answer);
  };
  v1::ElectLeaderRequest request;
  request.add_topics()->set_topic("orders");
  for (const uint32_t index : {0u, 9u}) {
    auto* partition = request.mutable_topics(0)->add_partitions();
    partition->set_partition(index);
    partition->set_node_id(1);
  }
  grpc::ClientContext context;
  v1::ElectLeaderResponse response;
  ASSERT_TRUE(one_.admin().ElectLeader(&context, request, &response).ok());
  const auto& partitions = response.topics(0).partitions();
  EXPECT_FALSE(partitions[0].has_error()) << partitions[0].ShortDebugString();
  EXPECT_EQ(partitions[0].leader_id(), 1);
  EXPECT_EQ(partitions[0].leader_epoch(), 5);
  EXPECT_TRUE(HasReason(partitions[1].error(), v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION));
}

TEST_F(AdminTest, ANodeThatIsNoVoterIsNotElected) {
  one_.shards.on_call = [](shard::ShardCall call) {
    auto& describe = std::get<shard::DescribeCall>(call);
    describe.done(LeaderOf(describe.partition, 1));
  };
  v1::ElectLeaderRequest request;
  request.add_topics()->set_topic("orders");
  request.mutable_topics(0)->add_partitions()->set_partition(0);
  request.mutable_topics(0)->mutable_partitions(0)->set_node_id(3);
  grpc::ClientContext context;
  v1::ElectLeaderResponse response;
  ASSERT_TRUE(one_.admin().ElectLeader(&context, request, &response).ok());
  EXPECT_TRUE(
      HasReason(response.topics(0).partitions(0).error(), v1::ERROR_REASON_VOTER_NOT_FOUND));
}

class DescribeClusterTest : public AdminTest {
 protected:
  DescribeClusterTest() {
    one_.hints.Note(kMetadataPartition, {KeyOf(2), Epoch(8)});
    one_.catalog.nodes[0].live = true;
  }

  v1::DescribeClusterResponse Describe(const v1::DescribeClusterRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_millis(10'000, GPR_TIMESPAN));
    v1::DescribeClusterResponse response;
    const grpc::Status status = one_.admin().DescribeCluster(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
};

TEST_F(DescribeClusterTest, ByTheNodeItself) {
  v1::DescribeClusterRequest request;
  request.set_no_forward(true);
  const v1::DescribeClusterResponse response = Describe(request);
  EXPECT_EQ(response.cluster_id(), "c-1");
  EXPECT_EQ(response.node_id(), 1);
  EXPECT_EQ(response.controller_id(), 2);
  EXPECT_EQ(response.topic_count(), 1u);
  EXPECT_EQ(response.partition_count(), 3u);
  EXPECT_EQ(response.lane_count(), 16u);
  ASSERT_EQ(response.nodes_size(), 2);
  EXPECT_TRUE(response.nodes(0).live());
  EXPECT_FALSE(response.nodes(1).has_live());
}

TEST_F(DescribeClusterTest, ByTheControllerWhichKnowsWhoLives) {
  two_.catalog.nodes[1].live = false;
  const v1::DescribeClusterResponse response = Describe({});
  EXPECT_EQ(response.node_id(), 2);
  ASSERT_EQ(response.nodes_size(), 2);
  EXPECT_TRUE(response.nodes(1).has_live());
}

TEST_F(DescribeClusterTest, OneHopOnly) {
  two_.hints.Note(kMetadataPartition, {KeyOf(1), Epoch(9)});
  EXPECT_EQ(Describe({}).node_id(), 2);
}

TEST_F(DescribeClusterTest, ByTheNodeItselfWhenTheControllerIsGone) {
  two_.Stop();
  const v1::DescribeClusterResponse response = Describe({});
  EXPECT_EQ(response.node_id(), 1);
  EXPECT_EQ(response.nodes_size(), 2);
}

TEST_F(AdminTest, VotersCannotBeChanged) {
  grpc::ClientContext first;
  grpc::ClientContext second;
  grpc::ClientContext third;
  v1::AlterQuorumResponse altered;
  v1::AddVoterResponse added;
  v1::RemoveVoterResponse removed;
  EXPECT_EQ(one_.admin().AlterQuorum(&first, {}, &altered).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(one_.admin().AddVoter(&second, {}, &added).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(one_.admin().RemoveVoter(&third, {}, &removed).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace quorum::transport
