// Three nodes under a stream of appends, and harm: whatever is killed, stopped or paused, the
// appends go on, and the history keeps every promise.

#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/integration/cluster.h"
#include "tests/integration/workload.h"

namespace quorum::integration {
namespace {

constexpr char kTopic[] = "orders";
constexpr uint32_t kPartitions = 3;
// What shows that appends go on.
constexpr int kSome = 20;

class FailoverTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Start());
    ASSERT_TRUE(cluster_.CreateTopic(kTopic, kPartitions, 3));
    ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &before_));
  }

  std::unique_ptr<Workload> StartWorkload() {
    WorkloadOptions options;
    options.topic = kTopic;
    options.partitions = kPartitions;
    options.readers = kPartitions;
    return std::make_unique<Workload>(&cluster_, options);
  }

  int32_t Follower() const { return before_.leader % 3 + 1; }

  Cluster cluster_{ClusterOptions()};
  Leadership before_;
};

TEST_F(FailoverTest, EveryPartitionHasOneLeaderThatAllNodesKnow) {
  for (uint32_t partition = 0; partition < kPartitions; ++partition) {
    Leadership leadership;
    ASSERT_TRUE(cluster_.AwaitLeader(kTopic, partition, &leadership));
    for (const int32_t id : cluster_.ids()) {
      ASSERT_TRUE(Await(absl::StrCat("node ", id, " knows the leader"), [&]() -> std::string {
        v1::DescribeQuorumRequest request;
        request.set_stale_ok(true);
        request.add_topics()->set_topic(kTopic);
        request.mutable_topics(0)->add_partitions(partition);
        v1::DescribeQuorumResponse response;
        const grpc::Status status = Call(
            *cluster_.stubs(id).admin, &v1::AdminService::Stub::DescribeQuorum, request, &response);
        if (!status.ok()) return status.error_message();
        const PartitionQuorum& quorum = response.topics(0).partitions(0);
        const bool agrees =
            quorum.leader_id() == leadership.leader && quorum.leader_epoch() == leadership.epoch;
        return agrees ? "" : quorum.ShortDebugString();
      }));
    }
  }
}

TEST_F(FailoverTest, LeaderKilled) {
  const auto workload = StartWorkload();
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  cluster_.node(before_.leader).Kill();
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  Leadership after;
  ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &after, before_.epoch));
  EXPECT_NE(after.leader, before_.leader);
  ASSERT_TRUE(cluster_.Start());
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  workload->StopAndCheck();
}

TEST_F(FailoverTest, ControllerKnowsWhoIsAlive) {
  ASSERT_TRUE(cluster_.AwaitLiveness());
  cluster_.node(Follower()).Kill();
  ASSERT_TRUE(cluster_.AwaitLiveness());
  ASSERT_TRUE(cluster_.Start());
  ASSERT_TRUE(cluster_.AwaitLiveness());
}

TEST_F(FailoverTest, FollowerKilled) {
  const auto workload = StartWorkload();
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  cluster_.node(Follower()).Kill();
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  ASSERT_TRUE(cluster_.Start());
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  workload->StopAndCheck();
}

TEST_F(FailoverTest, AllKilledAtOnce) {
  const auto workload = StartWorkload();
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(workload->AwaitAcks(kSome));
    for (const int32_t id : cluster_.ids()) cluster_.node(id).Kill();
    // A majority is enough; the last one comes back later.
    cluster_.node(before_.leader).Start();
    cluster_.node(Follower()).Start();
    ASSERT_TRUE(workload->AwaitAcks(kSome));
    ASSERT_TRUE(cluster_.Start());
  }
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  workload->StopAndCheck();
}

TEST_F(FailoverTest, KilledOneAfterTheOther) {
  const auto workload = StartWorkload();
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(workload->AwaitAcks(kSome));
    cluster_.node(round % 3 + 1).Kill();
    // It comes back in the middle of the election.
    ASSERT_TRUE(cluster_.Start());
  }
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  workload->StopAndCheck();
}

TEST_F(FailoverTest, StoppedOneAfterTheOther) {
  const auto workload = StartWorkload();
  for (const int32_t id : cluster_.ids()) {
    ASSERT_TRUE(workload->AwaitAcks(kSome));
    ASSERT_EQ(cluster_.node(id).Terminate(), 0) << "node " << id;
    ASSERT_TRUE(workload->AwaitAcks(kSome));
    ASSERT_TRUE(cluster_.Start());
  }
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  workload->StopAndCheck();
}

// A stopped leader names its successor: nobody waits for a fetch timeout of ten minutes.
TEST(HandOverTest, SuccessorDoesNotWaitForATimeout) {
  ClusterOptions options;
  options.flags = {"--election-timeout-ms=1000", "--fetch-timeout-ms=600000",
                   "--disk-stuck-exit-after-ms=1200000"};
  Cluster cluster(options);
  ASSERT_TRUE(cluster.Start());
  ASSERT_TRUE(cluster.CreateTopic(kTopic, kPartitions, 3));
  for (uint32_t partition = 0; partition < kPartitions; ++partition) {
    Leadership before;
    ASSERT_TRUE(cluster.AwaitLeader(kTopic, partition, &before));
    ASSERT_EQ(cluster.node(before.leader).Terminate(), 0);
    Leadership after;
    ASSERT_TRUE(cluster.AwaitLeader(kTopic, partition, &after, before.epoch));
    EXPECT_NE(after.leader, before.leader);
    ASSERT_TRUE(cluster.Start());
  }
}

TEST_F(FailoverTest, AllStoppedAndStartedAgain) {
  const auto workload = StartWorkload();
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  for (const int32_t id : cluster_.ids()) ASSERT_EQ(cluster_.node(id).Terminate(), 0);
  for (const int32_t id : cluster_.ids()) {
    EXPECT_EQ(cluster_.node(id).Run({"verify"}).exit_code, 0) << "node " << id;
  }
  ASSERT_TRUE(cluster_.Start());
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  workload->StopAndCheck();
}

TEST_F(FailoverTest, LeaderPausedAndResumed) {
  const auto workload = StartWorkload();
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  cluster_.node(before_.leader).Pause();
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  cluster_.node(before_.leader).Resume();
  Leadership after;
  ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &after, before_.epoch));
  EXPECT_NE(after.leader, before_.leader);
  ASSERT_TRUE(workload->AwaitAcks(kSome));
  workload->StopAndCheck();
}

}  // namespace
}  // namespace quorum::integration
