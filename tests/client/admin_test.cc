// Administration against scripted nodes: what is asked, what is repeated, what the answers become.

#include "client/admin.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/quorum_client.h"
#include "tests/client/fake_node.h"

namespace quorum::client {
namespace {

using std::chrono::milliseconds;

constexpr char kNoLeader[] = "LEADER_NOT_AVAILABLE";

std::unique_ptr<QuorumClient> ClientOf(std::vector<std::string> bootstrap) {
  ClientOptions options;
  options.bootstrap = std::move(bootstrap);
  options.spread = false;
  options.seed = 1;
  return std::make_unique<QuorumClient>(options);
}

CallOptions Within(Duration timeout) {
  CallOptions options;
  options.timeout = timeout;
  return options;
}

auto FailWith(const FakeError& error) {
  return [error](auto...) { return ToStatus(error); };
}

auto FailWith(grpc::StatusCode code) {
  return [code](auto...) { return grpc::Status(code, "no details"); };
}

template <typename Request, typename Answer, typename Message>
void SetAnswer(Script<Request, Answer>& script, const Message& message) {
  script.Always([message](grpc::ServerContext*, const Request&, Answer answer) {
    *answer = message;
    return grpc::Status::OK;
  });
}

v1::ListOffsetsResponse OffsetsAnswer(std::optional<FakeError> error) {
  v1::ListOffsetsResponse answer;
  auto* topic = answer.add_topics();
  topic->set_topic("orders");
  auto* entry = topic->add_partitions();
  entry->set_latest_offset(8);
  if (error.has_value()) *entry->mutable_error() = ToRpcStatus(*error);
  return answer;
}

TEST(AdminReadTest, LostConnection_IsAskedAgainElsewhere) {
  FakeNode broken;
  FakeNode node;
  broken.list_offsets.Always(FailWith(grpc::StatusCode::UNAVAILABLE));
  SetAnswer(node.list_offsets, OffsetsAnswer({}));
  const auto client = ClientOf({broken.address(), node.address()});
  const auto result = Admin(*client).ListOffsets("orders", {0});
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(result.value().partitions(0).latest_offset(), 8);
}

TEST(AdminReadTest, EntryThatFailsForNow_IsAskedAgain) {
  FakeNode node;
  node.list_offsets.Then(
      [](grpc::ServerContext*, const v1::ListOffsetsRequest&, v1::ListOffsetsResponse* answer) {
        *answer = OffsetsAnswer(FakeError{google::rpc::UNAVAILABLE, kNoLeader});
        return grpc::Status::OK;
      });
  SetAnswer(node.list_offsets, OffsetsAnswer({}));
  const auto client = ClientOf({node.address()});
  const auto result = Admin(*client).ListOffsets("orders", {0});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().partitions(0).latest_offset(), 8);
  EXPECT_EQ(node.list_offsets.requests().size(), 2u);
}

TEST(AdminReadTest, EntryThatFailsToTheEnd_IsInTheAnswer) {
  FakeNode node;
  SetAnswer(node.list_offsets, OffsetsAnswer(FakeError{google::rpc::UNAVAILABLE, kNoLeader}));
  const auto client = ClientOf({node.address()});
  const auto result = Admin(*client).ListOffsets("orders", {0}, Within(milliseconds(200)));
  ASSERT_TRUE(result.ok());
  const std::optional<Error> error = EntryErrorOf(result.value().partitions(0));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->reason, v1::ERROR_REASON_LEADER_NOT_AVAILABLE);
}

TEST(AdminReadTest, NodeThatHangs_IsLeftForAnother) {
  FakeNode hung;
  FakeNode node;
  hung.describe_cluster.Always(
      [](grpc::ServerContext* context, auto...) { return HangUntilCancelled(context); });
  v1::DescribeClusterResponse answer;
  answer.set_cluster_id("c");
  SetAnswer(node.describe_cluster, answer);
  ClientOptions options;
  options.bootstrap = {hung.address(), node.address()};
  options.spread = false;
  options.attempt_timeout = milliseconds(200);
  const QuorumClient client(options);
  const auto result = Admin(client).DescribeCluster();
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(result.value().cluster_id(), "c");
}

TEST(AdminReadTest, Pages_AreJoined) {
  FakeNode node;
  node.list_topics.Always([](grpc::ServerContext*, const v1::ListTopicsRequest& request,
                             v1::ListTopicsResponse* answer) {
    answer->add_topics()->set_name(request.page_token().empty() ? "orders" : "stock");
    if (request.page_token().empty()) answer->set_next_page_token("more");
    return grpc::Status::OK;
  });
  const auto client = ClientOf({node.address()});
  const auto result = Admin(*client).ListTopics();
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result.value().size(), 2u);
  EXPECT_EQ(result.value()[0].name(), "orders");
  EXPECT_EQ(result.value()[1].name(), "stock");
}

TEST(AdminReadTest, AnswerWithoutWhatWasAsked_IsAnError) {
  FakeNode node;
  SetAnswer(node.describe_quorum, v1::DescribeQuorumResponse());
  const auto client = ClientOf({node.address()});
  Admin admin(*client);
  EXPECT_EQ(admin.DescribeTopicQuorums("orders").error().code, google::rpc::INTERNAL);
  v1::DescribeQuorumResponse answer;
  answer.add_topics()->set_topic("orders");
  SetAnswer(node.describe_quorum, answer);
  EXPECT_TRUE(admin.DescribeTopicQuorums("orders").ok()) << "a topic of no partitions";
  EXPECT_EQ(admin.DescribeQuorum({"orders", 0}).error().code, google::rpc::INTERNAL);
}

TEST(AdminReadTest, SeveralTopicsInOneCall_EachWithItsOwnError) {
  FakeNode node;
  v1::DescribeQuorumResponse answer;
  answer.add_topics()->set_topic("orders");
  *answer.add_topics()->mutable_error() =
      ToRpcStatus({google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION"});
  SetAnswer(node.describe_quorum, answer);
  const auto client = ClientOf({node.address()});
  const Admin admin(*client);
  const auto quorums = admin.DescribeQuorums({"orders", "stock"});
  ASSERT_TRUE(quorums.ok());
  ASSERT_EQ(quorums.value().size(), 2u);
  EXPECT_FALSE(EntryErrorOf(quorums.value()[0]).has_value());
  ASSERT_TRUE(EntryErrorOf(quorums.value()[1]).has_value());
  const auto incomplete = admin.DescribeQuorums({"orders", "stock", "returns"});
  ASSERT_FALSE(incomplete.ok());
  EXPECT_EQ(incomplete.error().code, google::rpc::INTERNAL);
  const auto none = admin.DescribeQuorums({});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none.value().empty());
  EXPECT_EQ(node.describe_quorum.requests().size(), 2u) << "nothing was asked for";
}

TEST(AdminReadTest, ErrorOfTheTopicOrThePartition_IsTheResult) {
  FakeNode node;
  v1::DescribeQuorumResponse answer;
  auto* entry = answer.add_topics()->add_partitions();
  *entry->mutable_error() = ToRpcStatus({google::rpc::UNAVAILABLE, kNoLeader});
  SetAnswer(node.describe_quorum, answer);
  const auto client = ClientOf({node.address()});
  Admin admin(*client);
  EXPECT_EQ(admin.DescribeQuorum({"orders", 0}).error().reason,
            v1::ERROR_REASON_LEADER_NOT_AVAILABLE);
  EXPECT_TRUE(admin.DescribeTopicQuorums("orders", {0}).ok());
  EXPECT_FALSE(node.describe_quorum.requests()[0].stale_ok());
  *answer.mutable_topics(0)->mutable_error() =
      ToRpcStatus({google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION"});
  SetAnswer(node.describe_quorum, answer);
  EXPECT_EQ(admin.DescribeTopicQuorums("orders", {}, View::kAnyNode).error().reason,
            v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_TRUE(node.describe_quorum.requests().back().stale_ok());
}

TEST(AdminChangeTest, LostConnection_IsNotRepeatedAndMayHaveHappened) {
  FakeNode node;
  node.create_topic.Always(FailWith(grpc::StatusCode::UNAVAILABLE));
  const auto client = ClientOf({node.address()});
  const auto result = Admin(*client).CreateTopic({"orders"});
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(MayHaveHappened(result.error()));
  EXPECT_EQ(node.create_topic.requests().size(), 1u);
}

TEST(AdminChangeTest, NoControllerForNow_IsRepeated) {
  FakeNode node;
  node.delete_topic.Then(FailWith({google::rpc::UNAVAILABLE, kNoLeader}));
  v1::DeleteTopicResponse answer;
  answer.set_topic_id(7);
  SetAnswer(node.delete_topic, answer);
  const auto client = ClientOf({node.address()});
  const auto result = Admin(*client).DeleteTopic("orders", 7);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(result.value(), 7u);
  EXPECT_TRUE(node.delete_topic.requests()[1].has_timeout());
  EXPECT_EQ(node.delete_topic.requests()[1].topic_id(), 7u);
}

TEST(AdminChangeTest, CreateTopic_SendsWhatTheSpecSays) {
  FakeNode node;
  v1::CreateTopicResponse answer;
  answer.mutable_topic()->set_topic_id(9);
  SetAnswer(node.create_topic, answer);
  const auto client = ClientOf({node.address()});
  Admin admin(*client);
  ASSERT_TRUE(admin.CreateTopic({"plain"}).ok());
  const auto result = admin.CreateTopic({"orders", 3, 2});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().topic_id(), 9u);
  const auto requests = node.create_topic.requests();
  EXPECT_FALSE(requests[0].has_partitions());
  EXPECT_FALSE(requests[0].has_replicas());
  EXPECT_EQ(requests[1].name(), "orders");
  EXPECT_EQ(requests[1].partitions(), 3u);
  EXPECT_EQ(requests[1].replicas(), 2u);
}

TEST(AdminChangeTest, ElectLeader_TellsWhoLeadsOrWhyNot) {
  FakeNode node;
  v1::ElectLeaderResponse answer;
  auto* entry = answer.add_topics()->add_partitions();
  entry->set_leader_id(2);
  entry->set_leader_epoch(8);
  SetAnswer(node.elect_leader, answer);
  const auto client = ClientOf({node.address()});
  Admin admin(*client);
  const auto result = admin.ElectLeader({"orders", 1}, NodeId(2));
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_EQ(result.value().leader, NodeId(2));
  EXPECT_EQ(result.value().epoch, Epoch(8));
  const auto asked = node.elect_leader.requests()[0].topics(0);
  EXPECT_EQ(asked.topic(), "orders");
  EXPECT_EQ(asked.partitions(0).partition(), 1u);
  EXPECT_EQ(asked.partitions(0).node_id(), 2);
  *entry->mutable_error() = ToRpcStatus({google::rpc::NOT_FOUND, "VOTER_NOT_FOUND"});
  SetAnswer(node.elect_leader, answer);
  EXPECT_EQ(admin.ElectLeader({"orders", 1}).error().reason, v1::ERROR_REASON_VOTER_NOT_FOUND);
  EXPECT_FALSE(node.elect_leader.requests()[1].topics(0).partitions(0).has_node_id());
}

}  // namespace
}  // namespace quorum::client
