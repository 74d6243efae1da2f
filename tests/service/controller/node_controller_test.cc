// The catalog at work: nodes register, topics are created and deleted, replicas are born and buried
// by the rules of docs/architecture.md 7, over real shards and simulated disks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "service/base/prng.h"
#include "tests/service/controller/mini_cluster.h"

namespace quorum::controller {
namespace {

PartitionId FirstOf(const ControllerResult& created, uint32_t index = 0) {
  return PartitionId{created.topic->id, index};
}

bool AllCreated(MiniCluster& cluster, TopicId topic) {
  MiniNode* controller = cluster.Controller();
  if (controller == nullptr) return false;
  const Catalog& catalog = controller->controller().catalog();
  const Topic* found = catalog.FindTopic(topic);
  if (found == nullptr) return false;
  for (uint32_t index = 0; index < found->partition_count; ++index) {
    if (catalog.FindPartition(PartitionId{topic, index})->life != PartitionLife::kCreated)
      return false;
  }
  return true;
}

TEST(NodeControllerTest, NodesRegisterAndOneControls) {
  MiniCluster cluster(3, 2);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  int controllers = 0;
  for (MiniNode* node : cluster.Up()) controllers += node->controller().leads() ? 1 : 0;
  EXPECT_EQ(controllers, 1);
  EXPECT_EQ(cluster.Controller()->Find(kMetadataPartition)->voters().Latest().size(), 3u);
  EXPECT_TRUE(
      cluster.RunUntil([&] { return cluster.node(5).controller().view().Nodes().size() == 5; }));
}

TEST(NodeControllerTest, CreateTopic_SpreadsReplicasAndLeadersAndIsLed) {
  MiniCluster cluster(3, 2);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  const ControllerResult created = cluster.Create("orders", 10, 3);
  ASSERT_EQ(created.error, ControllerError::kNone) << created.message;
  ASSERT_TRUE(cluster.RunUntil([&] { return AllCreated(cluster, created.topic->id); }));
  std::map<NodeId, int> leaders;
  std::map<NodeId, int> replicas;
  for (uint32_t index = 0; index < 10; ++index) {
    MiniNode* leader = cluster.LeaderOf(FirstOf(created, index));
    ASSERT_NE(leader, nullptr) << index;
    ++leaders[leader->key().id];
    EXPECT_EQ(leader->key(), created.topic->partitions[index].assignment.front())
        << "the first of the assignment leads";
    for (MiniNode* node : cluster.Up())
      replicas[node->key().id] += node->HasReplica(FirstOf(created, index));
  }
  EXPECT_EQ(leaders.size(), 5u);
  for (const auto& [id, count] : leaders) EXPECT_EQ(count, 2) << id;
  for (const auto& [id, count] : replicas) EXPECT_EQ(count, 6) << id;
}

TEST(NodeControllerTest, CreateTopic_SaysWhatIsWrong) {
  MiniCluster cluster(3, 0);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  EXPECT_EQ(cluster.Create("a/b", 1, 3).error, ControllerError::kInvalidRequest);
  EXPECT_EQ(cluster.Create("__x", 1, 3).error, ControllerError::kInvalidRequest);
  EXPECT_EQ(cluster.Create("", 1, 3).error, ControllerError::kInvalidRequest);
  EXPECT_EQ(cluster.Create("a", 0, 3).error, ControllerError::kInvalidRequest);
  EXPECT_EQ(cluster.Create("a", 10'001, 3).error, ControllerError::kInvalidRequest);
  EXPECT_EQ(cluster.Create("a", 1, 0).error, ControllerError::kInvalidRequest);
  const ControllerResult many = cluster.Create("a", 1, 4);
  EXPECT_EQ(many.error, ControllerError::kNotEnoughNodes);
  EXPECT_EQ(many.live_nodes, 3u);
  EXPECT_EQ(cluster.Create("a", 2, std::nullopt).error, ControllerError::kNone);
  const ControllerResult again = cluster.Create("a", 1, 3);
  EXPECT_EQ(again.error, ControllerError::kTopicAlreadyExists);
  EXPECT_EQ(again.topic->partitions.size(), 2u);
  EXPECT_EQ(cluster.Delete("b").error, ControllerError::kUnknownTopic);
  EXPECT_EQ(cluster.Delete("__metadata").error, ControllerError::kInternalTopic);
}

TEST(NodeControllerTest, CreateTopic_PassesOverDeadNodes) {
  MiniCluster cluster(3, 1);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  cluster.node(4).Stop();
  cluster.RunFor(std::chrono::seconds(4));
  const ControllerResult created = cluster.Create("orders", 4, std::nullopt);
  ASSERT_EQ(created.error, ControllerError::kNone) << created.message;
  for (const PartitionView& partition : created.topic->partitions) {
    for (const ReplicaKey& key : partition.assignment) EXPECT_NE(key.id, NodeId(4));
  }
  EXPECT_EQ(cluster.Create("wide", 1, 4).error, ControllerError::kNotEnoughNodes);
}

TEST(NodeControllerTest, Live_FollowsTheNodesWhileNothingChanges) {
  MiniCluster cluster(3, 1);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  const auto live = [&] {
    std::vector<int32_t> nodes;
    for (const NodeView& node : cluster.Controller()->controller().view().Nodes()) {
      if (node.live == true) nodes.push_back(node.key.id.value());
    }
    return nodes;
  };
  using Nodes = std::vector<int32_t>;
  EXPECT_TRUE(cluster.RunUntil([&] { return live() == Nodes({1, 2, 3, 4}); }));
  cluster.node(4).Stop();
  EXPECT_TRUE(cluster.RunUntil([&] { return live() == Nodes({1, 2, 3}); }));
  cluster.node(4).Start();
  EXPECT_TRUE(cluster.RunUntil([&] { return live() == Nodes({1, 2, 3, 4}); }));
}

// The leader has no timer of its own then, and whoever has nothing to fetch is vouched for by his
// session only.
TEST(NodeControllerTest, Live_WhoFollowsASoleVoterIsNotForgottenWhileNothingChanges) {
  MiniCluster cluster(1, 1);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  cluster.RunFor(std::chrono::seconds(330));
  for (const NodeView& node : cluster.Controller()->controller().view().Nodes()) {
    EXPECT_EQ(node.live, true) << node.key.id;
  }
}

TEST(NodeControllerTest, NotController_ChangesNothingAndNamesTheLeader) {
  MiniCluster cluster(3, 0);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  MiniNode* controller = cluster.Controller();
  MiniNode& other = controller->key().id == NodeId(1) ? cluster.node(2) : cluster.node(1);
  std::optional<ControllerResult> answer;
  TopicCreation creation;
  creation.name = "orders";
  other.controller().CreateTopic(creation,
                                 [&](ControllerResult result) { answer = std::move(result); });
  ASSERT_TRUE(cluster.RunUntil([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->error, ControllerError::kNotController);
  EXPECT_EQ(answer->hint.leader, controller->key());
}

TEST(NodeControllerTest, DeleteAndRecreate_NeverMixesData) {
  MiniCluster cluster(3, 0);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  const ControllerResult first = cluster.Create("orders", 1, 3);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LeaderOf(FirstOf(first)) != nullptr; }));
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(cluster.Append(*cluster.LeaderOf(FirstOf(first)), FirstOf(first), "old").outcome,
              shard::AppendResult::Outcome::kCommitted);
  }
  const ControllerResult deleted = cluster.Delete("orders");
  ASSERT_EQ(deleted.error, ControllerError::kNone);
  EXPECT_EQ(deleted.deleted, first.topic->id);
  ASSERT_TRUE(cluster.RunUntil([&] {
    for (MiniNode* node : cluster.Up()) {
      if (node->HasReplica(FirstOf(first))) return false;
    }
    return true;
  }));
  const ControllerResult second = cluster.Create("orders", 1, 3);
  ASSERT_EQ(second.error, ControllerError::kNone);
  EXPECT_NE(second.topic->id, first.topic->id);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LeaderOf(FirstOf(second)) != nullptr; }));
  const shard::AppendResult appended =
      cluster.Append(*cluster.LeaderOf(FirstOf(second)), FirstOf(second), "new");
  EXPECT_EQ(appended.outcome, shard::AppendResult::Outcome::kCommitted);
  EXPECT_EQ(appended.base_offset, Offset(2)) << "behind the first leader's own two records";
}

TEST(NodeControllerTest, ReplayedCatalog_ResurrectsNothing) {
  MiniCluster cluster(3, 0);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  const ControllerResult gone = cluster.Create("gone", 2, 3);
  const ControllerResult kept = cluster.Create("kept", 2, 3);
  ASSERT_TRUE(cluster.RunUntil([&] { return AllCreated(cluster, kept.topic->id); }));
  ASSERT_EQ(cluster.Delete("gone").error, ControllerError::kNone);
  cluster.RunFor(std::chrono::seconds(1));
  cluster.node(2).Stop();
  cluster.RunFor(std::chrono::seconds(1));
  cluster.node(2).Start();
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.node(2).controller().caught_up(); }));
  cluster.RunFor(std::chrono::seconds(2));
  for (uint32_t index = 0; index < 2; ++index) {
    EXPECT_FALSE(cluster.node(2).HasReplica(FirstOf(gone, index)));
    EXPECT_TRUE(cluster.node(2).HasReplica(FirstOf(kept, index)));
  }
}

TEST(NodeControllerTest, DeletedWhileDown_IsBuriedAfterTheStart) {
  MiniCluster cluster(3, 0);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  const ControllerResult created = cluster.Create("orders", 1, 3);
  ASSERT_TRUE(cluster.RunUntil([&] { return AllCreated(cluster, created.topic->id); }));
  MiniNode& down = cluster.Controller()->key().id == NodeId(3) ? cluster.node(2) : cluster.node(3);
  down.Stop();
  ASSERT_EQ(cluster.Delete("orders").error, ControllerError::kNone);
  cluster.RunFor(std::chrono::seconds(1));
  down.Start();
  EXPECT_TRUE(down.HasReplica(FirstOf(created))) << "nothing is closed before the catalog is read";
  EXPECT_TRUE(cluster.RunUntil([&] { return !down.HasReplica(FirstOf(created)); }));
}

// Architecture 7: a replica of the first voter set whose disk was wiped, and another that opens
// late, must never elect each other on blank logs.
TEST(NodeControllerTest, DirectoryFoundedAgainUnderItsOldId_IsFenced) {
  MiniCluster cluster(3, 1);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  cluster.node(4).Stop();
  cluster.node(4).Start();
  ASSERT_TRUE(cluster.RunUntil([&] {
    return cluster.Controller()->controller().catalog().FindBroker(NodeId(4))->incarnation ==
           Incarnation(2);
  }));
  EXPECT_EQ(cluster.node(4).fenced(), "") << "a start of its own has an incarnation of its own";
  // The first start on a blank disk under the old id: an incarnation that was there before.
  cluster.node(4).Stop();
  cluster.node(4).Wipe(cluster.node(4).key().directory);
  cluster.node(4).Start();
  EXPECT_TRUE(cluster.RunUntil([&] { return !cluster.node(4).fenced().empty(); }));
  // And a disk that was started as often as the lost one.
  cluster.node(4).Stop();
  cluster.node(4).Start();
  EXPECT_TRUE(cluster.RunUntil([&] { return !cluster.node(4).fenced().empty(); }));
}

// A copy of a directory that was started as often as the original.
TEST(NodeControllerTest, SameIncarnationAtAnotherAddress_IsFenced) {
  MiniCluster cluster(3, 1);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  NodeController& controller = cluster.Controller()->controller();
  const Broker known = *controller.catalog().FindBroker(NodeId(4));
  BrokerRegistration copy;
  copy.key = known.key;
  copy.incarnation = known.incarnation;
  copy.endpoints = {NodeEndpoint{"", "elsewhere:1"}};
  copy.lane_count = 16;
  copy.software_version = known.software_version;
  copy.deadline = cluster.clock().Now() + std::chrono::seconds(10);
  std::optional<ControllerError> error;
  controller.RegisterBroker(copy, [&](const ControllerResult& result) { error = result.error; });
  ASSERT_TRUE(cluster.RunUntil([&] { return error.has_value(); }));
  EXPECT_EQ(*error, ControllerError::kFencedIncarnation);
  error.reset();
  copy.incarnation = Incarnation(known.incarnation.value() + 1);
  controller.RegisterBroker(copy, [&](const ControllerResult& result) { error = result.error; });
  ASSERT_TRUE(cluster.RunUntil([&] { return error.has_value(); }));
  EXPECT_EQ(*error, ControllerError::kNone) << "a restart may have another address";
}

// A voter that the first set names and that opens the partition only after another one was wiped:
// the two are a majority of that set, and know nothing.
class LateVoterTest : public testing::TestWithParam<bool> {};

TEST_P(LateVoterTest, BesideAWipedOne_ElectsNobody) {
  const bool under_the_old_id = GetParam();
  MiniCluster cluster(3, 3);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  // It still counts as alive, and is down before it hears of the topic.
  MiniNode& late = cluster.node(6);
  late.Stop();
  const ControllerResult created = cluster.Create("orders", 20, 3);
  ASSERT_EQ(created.error, ControllerError::kNone) << created.message;
  ASSERT_TRUE(cluster.RunUntil([&] { return AllCreated(cluster, created.topic->id); }));
  // A partition of the late one whose others leave the catalog its majority.
  std::optional<PartitionId> found;
  std::vector<ReplicaKey> others;
  for (uint32_t index = 0; index < created.topic->partitions.size() && !found; ++index) {
    others.clear();
    int of_the_catalog = 0;
    for (const ReplicaKey& key : created.topic->partitions[index].assignment) {
      if (key != late.key()) others.push_back(key);
      of_the_catalog += key.id <= NodeId(3) ? 1 : 0;
    }
    if (others.size() == 2 && of_the_catalog <= 1) found = FirstOf(created, index);
  }
  ASSERT_TRUE(found.has_value());
  const PartitionId id = *found;
  ASSERT_EQ(cluster.Append(*cluster.LeaderOf(id), id, "committed").outcome,
            shard::AppendResult::Outcome::kCommitted);
  MiniNode& wiped = *cluster.Find(others[0].id);
  MiniNode& sound = *cluster.Find(others[1].id);
  sound.Stop();
  wiped.Stop();
  wiped.Wipe(under_the_old_id ? wiped.key().directory : DirectoryId{0xe0, 1});
  wiped.Start();
  late.Start();
  const auto led = [&] { return cluster.LeaderOf(id) != nullptr; };
  ASSERT_TRUE(cluster.RunUntil([&] { return late.HasReplica(id); }));
  EXPECT_FALSE(cluster.RunUntil(led, std::chrono::seconds(20))) << "two blank logs have a leader";
  EXPECT_EQ(wiped.HasReplica(id), under_the_old_id) << "the assignment names the directory";
  // With the one that remembers, and the late one's vote, there is a leader that has the record.
  sound.Start();
  EXPECT_TRUE(cluster.RunUntil(led));
  EXPECT_EQ(cluster.LeaderOf(id), &sound);
  EXPECT_GE(sound.Find(id)->log().end(), Offset(3));
}

INSTANTIATE_TEST_SUITE_P(Directories, LateVoterTest, testing::Bool());

TEST(NodeControllerTest, CreateTopic_IsSeenBehindManyThatNobodyLeads) {
  MiniCluster cluster(3, 3);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  cluster.creations_asked_max = 2;
  for (const int id : {1, 2, 3}) {
    cluster.node(id).Stop();
    cluster.node(id).Start();
  }
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Controller() != nullptr; }));
  cluster.RunFor(std::chrono::seconds(1));
  // They count as alive, and are gone before they hear of the topic.
  for (const int id : {4, 5, 6}) cluster.node(id).Stop();
  const ControllerResult stuck = cluster.Create("stuck", 12, 2);
  ASSERT_EQ(stuck.error, ControllerError::kNone) << stuck.message;
  cluster.RunFor(std::chrono::seconds(5));
  ASSERT_FALSE(AllCreated(cluster, stuck.topic->id));
  const ControllerResult later = cluster.Create("later", 3, 3);
  ASSERT_EQ(later.error, ControllerError::kNone) << later.message;
  EXPECT_TRUE(cluster.RunUntil([&] { return AllCreated(cluster, later.topic->id); }));
}

// Found by the simulator (seed 373).
TEST(NodeControllerTest, CreateTopic_IsSeenByAControllerWhoseOwnReplicaIsQuarantined) {
  MiniCluster cluster(3, 0);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  MiniNode& first = *cluster.Controller();
  const ControllerResult created = cluster.Create("orders", 3, 3);
  std::optional<PartitionId> led;
  for (uint32_t index = 0; index < 3; ++index) {
    if (created.topic->partitions[index].assignment.front() == first.key()) {
      led = FirstOf(created, index);
    }
  }
  ASSERT_TRUE(led.has_value());
  // It has its epoch's first records on disk, and the others have not.
  ASSERT_TRUE(cluster.RunUntil(
      [&] { return first.HasReplica(*led) && first.Find(*led)->log().end() > Offset(0); }));
  cluster.RunFor(std::chrono::milliseconds(1));
  ASSERT_EQ(first.Find(*led)->committed(), Offset(0));
  std::vector<MiniNode*> nodes = cluster.Up();
  for (MiniNode* node : nodes) node->Stop();
  Prng prng(1);
  ASSERT_TRUE(first.disk().FlipBitOfLog(*led, &prng));
  // Two of them can elect a controller, and nobody for that partition.
  MiniNode& last = nodes.back() == &first ? *nodes.front() : *nodes.back();
  for (MiniNode* node : nodes) {
    if (node != &last) node->Start();
  }
  ASSERT_TRUE(cluster.RunUntil([&] {
    MiniNode* controller = cluster.LeaderOf(kMetadataPartition);
    if (controller == nullptr || controller == &first) return controller != nullptr;
    (void)controller->shard()->Post(
        shard::ResignCall{kMetadataPartition, first.key(), [](const auto&, const auto&) {}});
    return false;
  }));
  ASSERT_TRUE(first.Find(*led)->quarantine().has_value());
  ASSERT_FALSE(AllCreated(cluster, created.topic->id));
  last.Start();
  EXPECT_TRUE(cluster.RunUntil([&] { return AllCreated(cluster, created.topic->id); }));
  EXPECT_EQ(cluster.Controller(), &first);
}

TEST(NodeControllerTest, Registration_FencesAnOlderProcess) {
  MiniCluster cluster(3, 1);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  cluster.node(4).Stop();
  cluster.node(4).Start();
  const auto registered = [&] {
    const Broker* broker = cluster.Controller()->controller().catalog().FindBroker(NodeId(4));
    return broker->incarnation == Incarnation(2);
  };
  ASSERT_TRUE(cluster.RunUntil(registered));
  BrokerRegistration stale;
  stale.key = cluster.node(4).key();
  stale.incarnation = Incarnation(1);
  stale.endpoints = {NodeEndpoint{"client", "127.0.0.1:1"}};
  stale.lane_count = 16;
  BrokerRegistration nobody = stale;
  nobody.incarnation = Incarnation(0);
  BrokerRegistration other = stale;
  other.key.directory = DirectoryId{1, 1};
  BrokerRegistration lanes = stale;
  lanes.lane_count = 8;
  std::vector<ControllerError> errors;
  for (const BrokerRegistration& registration : {stale, nobody, other, lanes}) {
    cluster.Controller()->controller().RegisterBroker(
        registration, [&](ControllerResult result) { errors.push_back(result.error); });
  }
  ASSERT_TRUE(cluster.RunUntil([&] { return errors.size() == 4; }));
  EXPECT_EQ(errors[0], ControllerError::kFencedIncarnation);
  EXPECT_EQ(errors[1], ControllerError::kInvalidRequest) << "incarnation 0 is no process";
  EXPECT_EQ(errors[2], ControllerError::kDuplicateRegistration);
  EXPECT_EQ(errors[3], ControllerError::kInconsistentLaneCount);
  EXPECT_TRUE(registered()) << "nothing of it reached the catalog";
}

TEST(NodeControllerTest, Registration_RefusedIsToldOnceAndAskedForAgain) {
  MiniCluster cluster(3, 1);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  // Under another directory before the cluster has noticed that the first one is gone.
  MiniNode& node = cluster.node(4);
  node.Stop();
  node.Wipe(DirectoryId{0xe0, 4});
  node.Start();
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  EXPECT_THAT(node.refusals(),
              testing::ElementsAre("another data directory of this node id is alive"));
}

// The catalog keeps a registration for ever and repeats it to everybody, so it has a size.
TEST(NodeControllerTest, Registration_IsBounded) {
  MiniCluster cluster(3, 0);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  BrokerRegistration largest;
  largest.key = ReplicaKey{NodeId(9), DirectoryId{9, 9}};
  largest.incarnation = Incarnation(shard::kIncarnationLimit.value() - 1);
  largest.lane_count = 16;
  largest.endpoints.assign(kEndpointsMax, NodeEndpoint{std::string(kEndpointTextMax, 'l'),
                                                       std::string(kEndpointTextMax, 'a')});
  largest.software_version = std::string(kSoftwareVersionMax, 'v');
  const auto answer = [&](const BrokerRegistration& registration) {
    std::optional<ControllerResult> result;
    cluster.Controller()->controller().RegisterBroker(
        registration, [&](ControllerResult got) { result = std::move(got); });
    EXPECT_TRUE(cluster.RunUntil([&] { return result.has_value(); }));
    return result->error;
  };
  const auto known = [&] {
    return cluster.Controller()->controller().catalog().FindBroker(NodeId(9)) != nullptr;
  };
  std::vector<BrokerRegistration> wrong(6, largest);
  wrong[0].endpoints.emplace_back(NodeEndpoint{"", "a:1"});
  wrong[1].endpoints[3].listener += "l";
  wrong[2].endpoints.back().address += "a";
  wrong[3].software_version += "v";
  wrong[4].incarnation = shard::kIncarnationLimit;
  wrong[5].incarnation = Incarnation(0);
  for (size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_EQ(answer(wrong[i]), ControllerError::kInvalidRequest) << i;
  }
  EXPECT_FALSE(known());
  EXPECT_EQ(answer(largest), ControllerError::kNone);
  EXPECT_TRUE(known());
}

TEST(NodeControllerTest, ControllerFailover_GoesOnWhereTheLogEnds) {
  MiniCluster cluster(3, 0);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  const ControllerResult first = cluster.Create("one", 1, 2);
  ASSERT_EQ(first.error, ControllerError::kNone);
  MiniNode* old = cluster.Controller();
  old->Stop();
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Controller() != nullptr; }));
  cluster.RunFor(std::chrono::seconds(3));
  const ControllerResult second = cluster.Create("two", 1, 2);
  ASSERT_EQ(second.error, ControllerError::kNone) << second.message;
  EXPECT_GT(second.topic->id, first.topic->id);
  old->Start();
  EXPECT_TRUE(cluster.RunUntil([&] {
    if (cluster.Controller() == nullptr) return false;
    const Broker* again = cluster.Controller()->controller().catalog().FindBroker(old->key().id);
    return again->incarnation == Incarnation(2) &&
           old->controller().catalog().FindTopic("two") != nullptr;
  }));
}

TEST(NodeControllerTest, ProducerIds_AreGivenOutOnceByWhoeverControls) {
  MiniCluster cluster(3, 0);
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.AllRegistered(); }));
  const ControllerResult first = cluster.AllocateProducerIds(1'000);
  ASSERT_EQ(first.error, ControllerError::kNone) << first.message;
  EXPECT_EQ(first.first_producer_id, 0);
  EXPECT_EQ(cluster.AllocateProducerIds(10).first_producer_id, 1'000);
  // A topic takes an id of its own and leaves those of producers alone, and the other way round.
  const ControllerResult topic = cluster.Create("one", 1, 2);
  EXPECT_EQ(cluster.AllocateProducerIds(10).first_producer_id, 1'010);
  cluster.Controller()->Stop();
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Controller() != nullptr; }));
  cluster.RunFor(std::chrono::seconds(3));
  EXPECT_EQ(cluster.AllocateProducerIds(10).first_producer_id, 1'020);
  EXPECT_GT(cluster.Create("two", 1, 2).topic->id, topic.topic->id);
  for (const uint32_t count : {0u, kProducerIdsMax + 1}) {
    const ControllerResult refused = cluster.AllocateProducerIds(count);
    EXPECT_EQ(refused.error, ControllerError::kInvalidRequest);
    EXPECT_EQ(refused.field, "count");
  }
  EXPECT_EQ(cluster.AllocateProducerIds(kProducerIdsMax).first_producer_id, 1'030);
}

}  // namespace
}  // namespace quorum::controller
