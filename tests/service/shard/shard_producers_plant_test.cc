// Planted bugs that break what shard_producers_test.cc demands.

#include <gtest/gtest.h>

#include "service/base/plant.h"
#include "tests/service/shard/producer_calls.h"

namespace quorum::shard {
namespace {

using Outcome = AppendResult::Outcome;

const PartitionId kA = Id(10);

class ShardProducersPlantTest : public testing::TestWithParam<bool> {
 protected:
  ~ShardProducersPlantTest() override { plants::SetPlant(Plant::kNone); }

  // Each test runs with the plant and without it.
  static bool Plant(quorum::Plant plant) {
    if (GetParam()) plants::SetPlant(plant);
    return GetParam();
  }
};

TEST_P(ShardProducersPlantTest, M42_ADuplicateOfAnUncommittedBatchIsAcknowledged) {
  const bool planted = Plant(quorum::Plant::kM42);
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 0);
  (void)Append(shard, kA, wanted);
  EXPECT_EQ(Append(shard, kA, wanted)->has_value(), planted);
}

TEST_P(ShardProducersPlantTest, M45_AClockLetsAProducerExpire) {
  const bool planted = Plant(quorum::Plant::kM45);
  ShardHarness shard;
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 0);
  (void)Append(shard, kA, wanted);
  shard.Sync();
  shard.MoveWall(int64_t{25} * 3600 * 1000);
  const auto retry = Append(shard, kA, wanted);
  shard.Sync();
  ASSERT_TRUE(retry->has_value());
  EXPECT_EQ((*retry)->outcome, Outcome::kCommitted);
  EXPECT_EQ((*retry)->duplicate, !planted) << "else it is in the log twice";
}

TEST_P(ShardProducersPlantTest, M47_TwoAppendsUnderTheSameConditionSucceed) {
  const bool planted = Plant(quorum::Plant::kM47);
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  Wanted wanted;
  wanted.expected_offset = 2;
  const auto first = Append(shard, kA, wanted);
  const auto second = Append(shard, kA, wanted);
  CommitAll(shard, kA);
  ProveLeadership(shard, kA, 1);
  EXPECT_EQ((*first)->outcome, Outcome::kCommitted);
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->outcome, planted ? Outcome::kCommitted : Outcome::kRefused);
}

TEST_P(ShardProducersPlantTest, M50_AControlRecordBreaksACondition) {
  const bool planted = Plant(quorum::Plant::kM50);
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  (void)Bind(shard, kA, "writer");
  Wanted wanted;
  wanted.expected_offset = 2;
  const auto result = Append(shard, kA, wanted);
  CommitAll(shard, kA);
  ProveLeadership(shard, kA, 1);
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((*result)->outcome, planted ? Outcome::kRefused : Outcome::kCommitted);
}

TEST_P(ShardProducersPlantTest, M50_ARefusalIsToldBeforeItsReasonIsCommitted) {
  const bool planted = Plant(quorum::Plant::kM50);
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  CommitAll(shard, kA);
  (void)Append(shard, kA, Wanted{});
  Wanted wanted;
  wanted.expected_offset = 2;
  const int64_t committed = shard.Replica(kA).committed().value();
  const auto result = Append(shard, kA, wanted);
  (void)FetchSeen(shard, 1, 1, 0, {FetchAt(kA, 1, committed, 1, committed)});
  (void)FetchSeen(shard, 1, 2, 1, {});
  EXPECT_EQ(result->has_value(), planted);
}

TEST_P(ShardProducersPlantTest, M33_ARefusalIsToldWithoutProofOfLeadership) {
  const bool planted = Plant(quorum::Plant::kM33);
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 7);
  EXPECT_EQ(Append(shard, kA, wanted)->has_value(), planted);
}

TEST_P(ShardProducersPlantTest, M48_AnAnswerFromBeforeCountsAsProof) {
  const bool planted = Plant(quorum::Plant::kM48);
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  const int64_t end = shard.Replica(kA).log().end().value();
  (void)FetchSeen(shard, 1, 1, 0, {FetchAt(kA, 1, end, 1, end)});
  (void)FetchSeen(shard, 1, 2, 0, {});
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 7);
  const auto refused = Append(shard, kA, wanted);
  (void)FetchSeen(shard, 1, 3, 1, {});
  EXPECT_EQ(refused->has_value(), planted);
}

TEST_P(ShardProducersPlantTest, M51_ARestartForgetsABatchThatIsOnTheDisk) {
  const bool planted = Plant(quorum::Plant::kM51);
  ShardHarness shard(1);
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 0);
  (void)Append(shard, kA, wanted);
  shard.Sync();
  shard.Restart();
  for (int i = 0; i < 1000 && shard.Replica(kA).role() != raft::RoleKind::kLeader; ++i) {
    shard.Advance(Ms(10));
    shard.Sync();
  }
  const auto retry = Append(shard, kA, wanted);
  shard.Sync();
  ASSERT_TRUE(retry->has_value());
  EXPECT_EQ((*retry)->outcome, Outcome::kCommitted);
  EXPECT_EQ((*retry)->duplicate, !planted) << "else it is in the log twice";
}

TEST_P(ShardProducersPlantTest, M52_ARetryIsRefusedByItsOwnSuccess) {
  const bool planted = Plant(quorum::Plant::kM52);
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 0);
  wanted.expected_offset = 2;
  (void)Append(shard, kA, wanted);
  CommitAll(shard, kA);
  const auto retry = Append(shard, kA, wanted);
  ProveLeadership(shard, kA, 1);
  ASSERT_TRUE(retry->has_value());
  EXPECT_EQ((*retry)->outcome, planted ? Outcome::kRefused : Outcome::kCommitted);
}

INSTANTIATE_TEST_SUITE_P(Flavours, ShardProducersPlantTest, testing::Bool());

}  // namespace
}  // namespace quorum::shard
