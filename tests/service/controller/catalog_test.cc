#include "service/controller/catalog.h"

#include <gtest/gtest.h>

#include "service/controller/catalog_records.h"
#include "service/controller/placement.h"
#include "service/controller/topic_name.h"

namespace quorum::controller {
namespace {

ReplicaKey Key(int id) { return ReplicaKey{NodeId(id), DirectoryId{7, static_cast<uint64_t>(id)}}; }

PartitionPlan Plan(uint64_t topic, uint32_t index, PartitionLife life) {
  PartitionPlan plan;
  plan.id = PartitionId{TopicId(topic), index};
  plan.assignment = {Key(1), Key(2), Key(3)};
  plan.life = life;
  return plan;
}

TEST(CatalogTest, DeletedTopic_TakesItsPartitionsAndKeepsItsIdUsed) {
  Catalog catalog;
  EXPECT_TRUE(catalog.Apply(Offset(0), Topic{TopicId(2), "a", 2, 3}));
  EXPECT_TRUE(catalog.Apply(Offset(1), Plan(2, 0, PartitionLife::kCreating)));
  EXPECT_TRUE(catalog.Apply(Offset(2), Plan(2, 1, PartitionLife::kCreating)));
  EXPECT_TRUE(catalog.Apply(Offset(3), TopicDeletion{TopicId(2), "a"}));
  EXPECT_EQ(catalog.FindTopic("a"), nullptr);
  EXPECT_TRUE(catalog.partitions().empty());
  EXPECT_EQ(catalog.next_topic_id(), TopicId(3));
  EXPECT_FALSE(catalog.Apply(Offset(4), Plan(2, 0, PartitionLife::kCreating)));
  EXPECT_TRUE(catalog.partitions().empty()) << "a record of a deleted topic resurrects nothing";
}

TEST(CatalogTest, NextIds_NeverFall) {
  Catalog catalog;
  EXPECT_EQ(catalog.next_producer_id(), 0);
  EXPECT_TRUE(catalog.Apply(Offset(0), NextIds{TopicId(9), 500}));
  // What a version without producers writes.
  EXPECT_TRUE(catalog.Apply(Offset(1), NextIds{TopicId(10), 0}));
  EXPECT_EQ(catalog.next_topic_id(), TopicId(10));
  EXPECT_EQ(catalog.next_producer_id(), 500);
  EXPECT_TRUE(catalog.Apply(Offset(2), NextIds{TopicId(3), 501}));
  EXPECT_EQ(catalog.next_topic_id(), TopicId(10));
  EXPECT_EQ(catalog.next_producer_id(), 501);
}

TEST(CatalogTest, SecondTopicOfAName_ChangesNothing) {
  Catalog catalog;
  EXPECT_TRUE(catalog.Apply(Offset(0), Topic{TopicId(2), "a", 1, 1}));
  EXPECT_FALSE(catalog.Apply(Offset(1), Topic{TopicId(3), "a", 1, 1}));
  EXPECT_EQ(catalog.FindTopic("a")->id, TopicId(2));
  EXPECT_EQ(catalog.topics().size(), 1u);
}

TEST(CatalogTest, CreatedPartition_NeverGoesBackToCreating) {
  Catalog catalog;
  ASSERT_TRUE(catalog.Apply(Offset(0), Topic{TopicId(2), "a", 1, 3}));
  ASSERT_TRUE(catalog.Apply(Offset(1), Plan(2, 0, PartitionLife::kCreating)));
  ASSERT_TRUE(catalog.Apply(Offset(9), Plan(2, 0, PartitionLife::kCreated)));
  EXPECT_FALSE(catalog.Apply(Offset(10), Plan(2, 0, PartitionLife::kCreating)));
  const PartitionPlan* plan = catalog.FindPartition(PartitionId{TopicId(2), 0});
  EXPECT_EQ(plan->life, PartitionLife::kCreated);
  EXPECT_EQ(plan->created_at, Offset(1));
  EXPECT_EQ(plan->version, Offset(9));
}

TEST(CatalogRecordsTest, EveryKindSurvivesItsBytes) {
  Broker broker{Key(4), Incarnation(9), {{"client", "host:1"}, {"peer", "host:2"}}, "1.0"};
  const CatalogRecord records[] = {broker, Topic{TopicId(5), "orders", 7, 3},
                                   Plan(5, 6, PartitionLife::kCreated),
                                   TopicDeletion{TopicId(5), "orders"}, NextIds{TopicId(6), 3000}};
  const char* keys[] = {"broker/4", "topic/5", "partition/5/6", "topic/5", "next-id"};
  const auto next_ids = DecodeCatalogRecord(EncodeCatalogRecord(records[4]));
  EXPECT_EQ(std::get<NextIds>(**next_ids).producer, 3000);
  for (size_t i = 0; i < 5; ++i) {
    const RecordFields fields = EncodeCatalogRecord(records[i]);
    EXPECT_EQ(fields.key, keys[i]);
    const auto decoded = DecodeCatalogRecord(fields);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    ASSERT_TRUE(decoded->has_value());
    EXPECT_EQ((*decoded)->index(), records[i].index());
    EXPECT_EQ(EncodeCatalogRecord(**decoded), fields);
  }
}

TEST(CatalogRecordsTest, WhatCannotBeUnderstood_IsAnError) {
  RecordFields fields = EncodeCatalogRecord(NextIds{TopicId(6), 3000});
  fields.value = "\xff\xff";
  EXPECT_EQ(DecodeCatalogRecord(fields).status().code(), absl::StatusCode::kDataLoss);
  fields.value = std::string("\x08\x02", 2);
  EXPECT_EQ(DecodeCatalogRecord(fields).status().code(), absl::StatusCode::kUnimplemented);
  fields.value = std::string("\x08\x01", 2);
  EXPECT_EQ(DecodeCatalogRecord(fields).status().code(), absl::StatusCode::kUnimplemented);
  const auto tombstone = DecodeCatalogRecord(EncodePartitionTombstone(PartitionId{TopicId(5), 1}));
  ASSERT_TRUE(tombstone.ok());
  EXPECT_FALSE(tombstone->has_value());
}

TEST(PlacementTest, ReplicasAndLeadersAreSpread) {
  for (int nodes = 1; nodes <= 7; ++nodes) {
    std::vector<ReplicaKey> live;
    for (int id = 1; id <= nodes; ++id) live.push_back(Key(id));
    for (uint32_t replicas = 1; replicas <= static_cast<uint32_t>(nodes); ++replicas) {
      std::map<NodeId, NodeLoad> load;
      for (const auto& assignment : Place(live, 42, replicas, {})) {
        ASSERT_EQ(assignment.size(), replicas);
        EXPECT_EQ(std::set<ReplicaKey>(assignment.begin(), assignment.end()).size(), replicas);
        for (const ReplicaKey& key : assignment) ++load[key.id].replicas;
        ++load[assignment.front().id].leaders;
      }
      const double fair_replicas = 42.0 * replicas / nodes;
      const double fair_leaders = 42.0 / nodes;
      for (const auto& [id, carried] : load) {
        EXPECT_NEAR(static_cast<double>(carried.replicas), fair_replicas, 1.0)
            << nodes << '/' << replicas;
        EXPECT_NEAR(static_cast<double>(carried.leaders), fair_leaders, 2.0)
            << nodes << '/' << replicas;
      }
    }
  }
}

TEST(PlacementTest, ALoadedNodeIsPassedOver) {
  const std::map<NodeId, NodeLoad> load = {{NodeId(1), NodeLoad{100, 50}}};
  for (const auto& assignment : Place({Key(1), Key(2), Key(3)}, 10, 2, load)) {
    for (const ReplicaKey& key : assignment) EXPECT_NE(key.id, NodeId(1));
  }
}

TEST(TopicNameTest, NamesAreSafeEverywhere) {
  EXPECT_EQ(FindTopicNameFault("orders.v1_a-B"), "");
  EXPECT_EQ(FindTopicNameFault(std::string(249, 'a')), "");
  for (const std::string& bad :
       {std::string(), std::string(250, 'a'), std::string("."), std::string(".."),
        std::string("a/b"), std::string("a b"), std::string("a\n"), std::string("a\0b", 3),
        std::string("__a"), std::string("\xc3\xa4")}) {
    EXPECT_NE(FindTopicNameFault(bad), "") << bad;
  }
}

}  // namespace
}  // namespace quorum::controller
