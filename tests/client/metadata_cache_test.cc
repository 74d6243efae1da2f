#include "client/metadata_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/learn.h"

namespace quorum::client {
namespace {

using ::testing::ElementsAre;

const PartitionName kOrders{"orders", 0};

MonoTime At(int64_t ms) { return MonoTime(std::chrono::milliseconds(ms)); }

TEST(MetadataCacheTest, NothingKnown_KeepsTheOrderOfBootstrap) {
  const MetadataCache cache({"a:1", "b:1"});
  EXPECT_THAT(cache.Candidates(kOrders, At(0)), ElementsAre("a:1", "b:1"));
  EXPECT_THAT(cache.Candidates(std::nullopt, At(0)), ElementsAre("a:1", "b:1"));
}

TEST(MetadataCacheTest, Leader_ComesFirstForItsPartitionOnly) {
  MetadataCache cache({"a:1", "b:1"});
  cache.NoteNode(NodeId(3), "c:1");
  cache.NoteLeader(kOrders, NodeId(3), Epoch(5), "");
  EXPECT_THAT(cache.Candidates(kOrders, At(0)), ElementsAre("c:1", "a:1", "b:1"));
  EXPECT_THAT(cache.Candidates(PartitionName{"orders", 1}, At(0)),
              ElementsAre("a:1", "b:1", "c:1"));
  cache.ForgetLeader(kOrders);
  EXPECT_THAT(cache.Candidates(kOrders, At(0)), ElementsAre("a:1", "b:1", "c:1"));
}

TEST(MetadataCacheTest, HintOfAnOlderEpoch_IsIgnored) {
  MetadataCache cache({"a:1"});
  cache.NoteLeader(kOrders, NodeId(2), Epoch(5), "b:1");
  cache.NoteLeader(kOrders, NodeId(1), Epoch(4), "a:1");
  EXPECT_EQ(cache.LeaderAddress(kOrders), "b:1");
  cache.NoteLeader(kOrders, NodeId(1), Epoch(6), "a:1");
  EXPECT_EQ(cache.LeaderAddress(kOrders), "a:1");
  // Without an epoch nothing says that it is older.
  cache.NoteLeader(kOrders, NodeId(2), std::nullopt, "b:1");
  EXPECT_EQ(cache.LeaderAddress(kOrders), "b:1");
  cache.NoteLeader(kOrders, NodeId(1), Epoch(5), "a:1");
  EXPECT_EQ(cache.LeaderAddress(kOrders), "b:1");
}

TEST(MetadataCacheTest, SameLeaderWithoutAddress_KeepsTheKnownOne) {
  MetadataCache cache({"a:1"});
  cache.NoteLeader(kOrders, NodeId(2), Epoch(5), "b:1");
  cache.NoteLeader(kOrders, NodeId(2), Epoch(6), "");
  EXPECT_EQ(cache.LeaderAddress(kOrders), "b:1");
  cache.NoteLeader(kOrders, NodeId(3), Epoch(7), "");
  EXPECT_EQ(cache.LeaderAddress(kOrders), "");
  EXPECT_TRUE(cache.LacksLeaderAddress(kOrders));
  cache.NoteNode(NodeId(3), "c:1");
  EXPECT_EQ(cache.LeaderAddress(kOrders), "c:1");
  EXPECT_FALSE(cache.LacksLeaderAddress(kOrders));
}

TEST(MetadataCacheTest, Unreachable_ComesLastForATimeAndOldestFirst) {
  MetadataCache cache({"a:1", "b:1", "c:1"});
  cache.NoteUnreachable("b:1", At(100));
  cache.NoteUnreachable("a:1", At(200));
  EXPECT_THAT(cache.Candidates(std::nullopt, At(0)), ElementsAre("c:1", "b:1", "a:1"));
  EXPECT_THAT(cache.Candidates(std::nullopt, At(100)), ElementsAre("b:1", "c:1", "a:1"));
  EXPECT_THAT(cache.Candidates(std::nullopt, At(200)), ElementsAre("a:1", "b:1", "c:1"));
}

TEST(MetadataCacheTest, AddressThatAnswered_ComesFirst) {
  MetadataCache cache({"a:1", "b:1"});
  cache.NoteUnreachable("b:1", At(100));
  cache.NoteReachable("b:1");
  EXPECT_THAT(cache.Candidates(std::nullopt, At(0)), ElementsAre("b:1", "a:1"));
  cache.NoteUnreachable("b:1", At(100));
  EXPECT_THAT(cache.Candidates(std::nullopt, At(200)), ElementsAre("a:1", "b:1"));
}

TEST(MetadataCacheTest, ManyPartitions_StayWithinTheBound) {
  MetadataCache cache({"a:1"});
  for (uint32_t i = 0; i <= MetadataCache::kPartitionsMax; ++i) {
    cache.NoteLeader(PartitionName{"orders", i}, NodeId(1), Epoch(1), "b:1");
  }
  EXPECT_EQ(cache.LeaderAddress(PartitionName{"orders", 0}), "");
  EXPECT_EQ(cache.LeaderAddress(PartitionName{"orders", MetadataCache::kPartitionsMax}), "b:1");
}

TEST(LearnTest, Answers_FillTheCache) {
  MetadataCache cache({"a:1"});
  v1::AppendResponse append;
  append.set_leader_id(2);
  append.set_leader_epoch(5);
  Learn(kOrders, append, &cache);
  EXPECT_TRUE(cache.LacksLeaderAddress(kOrders));

  v1::DescribeClusterResponse cluster;
  auto* node = cluster.add_nodes();
  node->set_node_id(2);
  auto* peer = node->add_endpoints();
  peer->set_listener("peer");
  peer->set_address("b:2");
  auto* client = node->add_endpoints();
  client->set_listener("client");
  client->set_address("b:1");
  Learn(cluster, &cache);
  EXPECT_EQ(cache.LeaderAddress(kOrders), "b:1");
}

TEST(LearnTest, LeadersOfDescriptions_AreTaken) {
  MetadataCache cache({"a:1"});
  for (const int32_t id : {1, 2, 3}) cache.NoteNode(NodeId(id), "n:" + std::to_string(id));
  v1::DescribeTopicResponse topic;
  topic.mutable_topic()->set_name("t");
  topic.mutable_topic()->add_partitions()->set_partition(0);
  topic.mutable_topic()->mutable_partitions(0)->set_leader_id(1);
  Learn(topic, &cache);
  EXPECT_EQ(cache.LeaderAddress(PartitionName{"t", 0}), "n:1");

  v1::ListOffsetsResponse offsets;
  offsets.add_topics()->set_topic("t");
  offsets.mutable_topics(0)->add_partitions()->set_partition(1);
  offsets.mutable_topics(0)->mutable_partitions(0)->set_leader_id(2);
  Learn(offsets, &cache);
  EXPECT_EQ(cache.LeaderAddress(PartitionName{"t", 1}), "n:2");

  v1::DescribeQuorumResponse quorum;
  quorum.add_topics()->set_topic("t");
  quorum.mutable_topics(0)->add_partitions()->set_partition(2);
  quorum.mutable_topics(0)->mutable_partitions(0)->set_leader_id(3);
  auto* endpoints = quorum.add_nodes();
  endpoints->set_node_id(3);
  endpoints->add_endpoints()->set_address("everything:3");
  Learn(quorum, &cache);
  EXPECT_EQ(cache.LeaderAddress(PartitionName{"t", 2}), "everything:3");
}

}  // namespace
}  // namespace quorum::client
