// A refusal is a read of the log: it waits for the proof that the replica had not been replaced
// when it was asked.

#include <gtest/gtest.h>

#include "tests/service/shard/shard_producers_fixture.h"

namespace quorum::shard {
namespace {

using ShardReadRoundsTest = ShardProducersTest;

TEST_F(ShardReadRoundsTest, ARefusalWaitsForTheProofThatThisReplicaStillLeads) {
  const int64_t end = End().value();
  (void)FetchSeen(shard_, 1, 1, 0, {FetchAt(kJudged, 1, end, 1, end)});
  // Under way when the append comes, as after a pause of this process.
  const auto gap = Add(Stamp(1, 0, 4));
  EXPECT_FALSE(gap->has_value());
  const auto released = FetchSeen(shard_, 1, 2, 0, {});
  (void)FetchSeen(shard_, 1, 3, 0, {});
  ASSERT_TRUE(released->has_value()) << "answered at once, for the sake of the refusal";
  EXPECT_FALSE(gap->has_value()) << "it may have been sent before another leader was elected";
  (void)FetchSeen(shard_, 1, 4, 1, {});
  ASSERT_TRUE(gap->has_value()) << "sent after the append came";
  ExpectRefused(gap, AppendRefusal::kUnknownProducer);
  EXPECT_EQ(shard_.shard().waiter_count(), 1u) << "the parked Fetch";
}

TEST_F(ShardReadRoundsTest, AnAnswerFromBeforeTheAppendProvesNothing) {
  const int64_t end = End().value();
  (void)FetchSeen(shard_, 1, 1, 0, {FetchAt(kJudged, 1, end, 1, end)});
  (void)FetchSeen(shard_, 1, 2, 0, {});
  // The first request has been answered. The next one may name it and be old.
  const auto gap = Add(Stamp(1, 0, 4));
  (void)FetchSeen(shard_, 1, 3, 1, {});
  EXPECT_FALSE(gap->has_value());
  (void)FetchSeen(shard_, 1, 4, 2, {});
  EXPECT_TRUE(gap->has_value());
}

TEST_F(ShardReadRoundsTest, AFollowerThatWithdrawsProvesNothing) {
  const int64_t end = End().value();
  (void)FetchSeen(shard_, 1, 1, 0, {FetchAt(kJudged, 1, end, 1, end)});
  const auto gap = Add(Stamp(1, 0, 4));
  (void)FetchSeen(shard_, 1, 2, 1, {WithdrawalOf(kJudged)});
  EXPECT_FALSE(gap->has_value());
  (void)FetchSeen(shard_, 1, 3, 1, {FetchAt(kJudged, 1, end, 1, end)});
  EXPECT_TRUE(gap->has_value()) << "it follows again, and says so after the append came";
}

// Its sessions are numbered from 1 again.
TEST_F(ShardReadRoundsTest, TheFirstAnswerOfANewLifeOfAFollowerIsProofEnough) {
  const int64_t end = End().value();
  const FetchEntry entry = FetchAt(kJudged, 1, end, 1, end);
  (void)FetchSeen(shard_, 1, 1, 0, {entry});
  for (uint64_t number = 2; number < 10; ++number) (void)FetchSeen(shard_, 1, number, 0, {});
  const auto gap = Add(Stamp(1, 0, 4));
  FetchBatch batch;
  batch.session = SessionRequestPlace{1, 1, 0, 1};
  batch.entries = {entry};
  (void)shard_.Request(LaneRequest{shard_.From(2, 2), batch});
  batch.session = SessionRequestPlace{1, 2, 1, 1};
  batch.entries.clear();
  (void)shard_.Request(LaneRequest{shard_.From(2, 2), batch});
  EXPECT_TRUE(gap->has_value());
}

TEST_F(ShardReadRoundsTest, AnObserverProvesNothing) {
  const int64_t end = End().value();
  const auto gap = Add(Stamp(1, 0, 4));
  (void)shard_.Fetch(9, 1, 1, {FetchAt(kJudged, 1, end, 1, end)});
  FetchBatch next;
  next.session = SessionRequestPlace{1, 2, 0, 1};
  (void)shard_.Request(9, next);
  next.session = SessionRequestPlace{1, 3, 1, 1};
  (void)shard_.Request(9, next);
  EXPECT_FALSE(gap->has_value());
  ProveLeadership(shard_, kJudged, 1);
  EXPECT_TRUE(gap->has_value());
}

TEST_F(ShardReadRoundsTest, ARefusalThatIsNotProvenIsARefusalAllTheSame) {
  const auto deposed = Add(Stamp(1, 0, 4));
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 4);
  wanted.deadline = shard_.now() + Ms(50);
  const auto late = Add(wanted);
  shard_.Advance(Ms(60));
  ExpectNotLeader(late);
  LoseLeadership();
  ExpectNotLeader(deposed);
  EXPECT_EQ(shard_.shard().waiter_count(), 0u);
}

TEST_F(ShardReadRoundsTest, WhatIsInTheLogNeedsNoProof) {
  const auto first = Add(Stamp(1, 0, 0));
  Commit();
  ExpectCommitted(first, 2, false);
  const auto retry = Add(Stamp(1, 0, 0));
  EXPECT_TRUE(retry->has_value());
}

}  // namespace
}  // namespace quorum::shard
