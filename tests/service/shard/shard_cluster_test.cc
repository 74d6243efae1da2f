// Three shards that talk to each other: many partitions, few messages.

#include "tests/service/shard/shard_cluster.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace quorum::shard {
namespace {

constexpr uint64_t kMany = 300;

class ShardClusterTest : public ::testing::Test {
 protected:
  ShardClusterTest() {
    for (uint64_t topic = 1; topic <= kMany; ++topic) cluster_.Birth(Id(topic), topic % 3);
    cluster_.Advance(Ms(2000));
  }

  size_t Led() const {
    size_t led = 0;
    for (uint64_t topic = 1; topic <= kMany; ++topic) {
      if (cluster_.LeaderOf(Id(topic)) != 0) ++led;
    }
    return led;
  }

  ShardCluster cluster_;
};

TEST_F(ShardClusterTest, TheFirstOfEachAssignmentLeads) {
  for (uint64_t topic = 1; topic <= kMany; ++topic) {
    ASSERT_EQ(cluster_.LeaderOf(Id(topic)), static_cast<int32_t>(topic % 3) + 1);
    EXPECT_EQ(cluster_.Replica(1, Id(topic)).election().epoch, Epoch(1)) << "without a race";
  }
}

TEST_F(ShardClusterTest, AppendsOfAllPartitionsShareRequestsAndSyncs) {
  (void)cluster_.TakeTraffic();
  std::vector<std::shared_ptr<bool>> appends;
  for (uint64_t topic = 1; topic <= kMany; ++topic) appends.push_back(cluster_.Append(Id(topic)));
  cluster_.Advance(Ms(20));
  for (const auto& committed : appends) EXPECT_TRUE(*committed);
  const ShardCluster::Traffic traffic = cluster_.TakeTraffic();
  EXPECT_LT(traffic.requests(), 60u);
  EXPECT_LT(traffic.syncs, 30u);
  for (uint64_t topic = 1; topic <= kMany; ++topic) {
    for (int32_t node = 1; node <= 3; ++node) {
      EXPECT_EQ(cluster_.Replica(node, Id(topic)).log().end(), Offset(3));
    }
  }
}

TEST_F(ShardClusterTest, ANodeThatDiesCostsFewElections) {
  (void)cluster_.TakeTraffic();
  cluster_.Stop(1);
  cluster_.Advance(Ms(5000));
  EXPECT_EQ(Led(), kMany);
  const ShardCluster::Traffic traffic = cluster_.TakeTraffic();
  // A hundred partitions elect, at about as many instants of the grid as two nodes have in the
  // random part of the fetch timeout, in two requests to each of two peers.
  EXPECT_LT(traffic.votes, 600u);
  std::vector<std::shared_ptr<bool>> appends;
  for (uint64_t topic = 1; topic <= kMany; ++topic) appends.push_back(cluster_.Append(Id(topic)));
  cluster_.Advance(Ms(100));
  for (const auto& committed : appends) EXPECT_TRUE(*committed);
}

}  // namespace
}  // namespace quorum::shard
