// Five nodes: the catalog has three voters and two observers, which carry topics like the others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/cluster.h"
#include "tests/integration/workload.h"

namespace quorum::integration {
namespace {

using testing::UnorderedElementsAre;

constexpr char kTopic[] = "orders";

std::vector<int32_t> NodesOf(
    const google::protobuf::RepeatedPtrField<v1::DescribeQuorumResponse::ReplicaState>& states) {
  std::vector<int32_t> nodes;
  for (const auto& state : states) nodes.push_back(state.node_id());
  return nodes;
}

class FiveNodesTest : public testing::Test {
 protected:
  FiveNodesTest() : cluster_(Options()) {}

  static ClusterOptions Options() {
    ClusterOptions options;
    options.joiners = 2;
    return options;
  }

  void SetUp() override { ASSERT_TRUE(cluster_.Start()); }

  Cluster cluster_;
};

TEST_F(FiveNodesTest, CatalogHasThreeVotersAndTwoObservers) {
  for (const int32_t asked : cluster_.ids()) {
    v1::DescribeQuorumRequest request;
    request.add_topics()->set_topic("__metadata");
    v1::DescribeQuorumResponse response;
    ASSERT_TRUE(Await("both observers are seen", [&]() -> std::string {
      const grpc::Status status = Call(*cluster_.stubs(asked).admin,
                                       &v1::AdminService::Stub::DescribeQuorum, request, &response);
      if (!status.ok()) return status.error_message();
      const PartitionQuorum& quorum = response.topics(0).partitions(0);
      for (const auto& observer : quorum.observers()) {
        if (observer.log_end_offset() < quorum.high_watermark()) return quorum.ShortDebugString();
      }
      return quorum.observers_size() == 2 ? "" : quorum.ShortDebugString();
    }));
    const PartitionQuorum& quorum = response.topics(0).partitions(0);
    EXPECT_THAT(NodesOf(quorum.current_voters()), UnorderedElementsAre(1, 2, 3));
    EXPECT_THAT(NodesOf(quorum.observers()), UnorderedElementsAre(4, 5));
    for (const auto& observer : quorum.observers()) {
      EXPECT_EQ(observer.role(), v1::REPLICA_ROLE_OBSERVER);
      EXPECT_TRUE(observer.has_last_fetch_time());
      EXPECT_EQ(observer.directory_id(), cluster_.node(observer.node_id()).directory_id());
    }
    EXPECT_FALSE(quorum.stale());
  }
  v1::DescribeClusterRequest here;
  here.set_no_forward(true);
  v1::DescribeClusterResponse described;
  const grpc::Status status =
      Call(*cluster_.stubs(5).admin, &v1::AdminService::Stub::DescribeCluster, here, &described);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  ASSERT_EQ(described.nodes_size(), 5);
  EXPECT_EQ(described.cluster_id(), "test");
  EXPECT_EQ(described.node_id(), 5);
  for (const auto& node : described.nodes()) {
    ASSERT_EQ(node.endpoints_size(), 1);
    EXPECT_EQ(node.endpoints(0).address(), cluster_.node(node.node_id()).address());
  }
}

TEST_F(FiveNodesTest, AppendsGoOnWhileAnyTwoAreDead) {
  ASSERT_TRUE(cluster_.CreateTopic(kTopic, 3, 5, /*through=*/4));
  WorkloadOptions options;
  options.topic = kTopic;
  options.partitions = 3;
  options.readers = 3;
  Workload workload(&cluster_, options);
  ASSERT_TRUE(workload.AwaitAcks(10));
  Leadership catalog;
  ASSERT_TRUE(cluster_.AwaitLeader("__metadata", 0, &catalog));
  // The controller and a node without a vote in the catalog.
  cluster_.node(catalog.leader).Kill();
  cluster_.node(5).Kill();
  ASSERT_TRUE(workload.AwaitAcks(10));
  Leadership next;
  ASSERT_TRUE(cluster_.AwaitLeader("__metadata", 0, &next, catalog.epoch));
  // The catalog still takes changes, once its new leader has heard from everybody.
  ASSERT_TRUE(cluster_.AwaitLiveness());
  ASSERT_TRUE(cluster_.CreateTopic("meanwhile", 2, 3, /*through=*/4));
  ASSERT_TRUE(cluster_.Start());
  ASSERT_TRUE(workload.AwaitAcks(10));
  // The leader of the topic and the node behind it.
  Leadership orders;
  ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &orders));
  const auto live_without = [&](int32_t one, int32_t other) {
    SCOPED_TRACE(absl::StrCat("without ", one, " and ", other));
    cluster_.node(one).Kill();
    cluster_.node(other).Kill();
    ASSERT_TRUE(workload.AwaitAcks(10));
    ASSERT_TRUE(cluster_.Start());
    ASSERT_TRUE(workload.AwaitAcks(10));
  };
  ASSERT_NO_FATAL_FAILURE(live_without(orders.leader, orders.leader % 5 + 1));
  // Two of the catalog's three voters: nobody can change it, and nobody needs it to append.
  ASSERT_NO_FATAL_FAILURE(live_without(next.leader, next.leader % 3 + 1));
  ASSERT_NO_FATAL_FAILURE(live_without(4, 5));
  workload.StopAndCheck();
}

}  // namespace
}  // namespace quorum::integration
