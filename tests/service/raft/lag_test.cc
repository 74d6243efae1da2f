// What readiness rests on: whether a replica has been in step with its leader, and for how long it
// is behind.

#include <gtest/gtest.h>

#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

// Follower of 2 in epoch 5, with a log that ends at 6.
void FollowTwo(ReplicaHarness& replica) {
  replica.Voters(3);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.Follow(2, Epoch(5));
}

TEST(LagTest, AFollowerIsInStepOnceItsLogReachesWhatItsLeaderCallsCommitted) {
  ReplicaHarness replica;
  FollowTwo(replica);
  EXPECT_FALSE(replica.replica().was_in_step()) << "it has heard nothing";
  replica.AnswerFetch(BatchesFrom(6, {{5, 2}}), 100);
  EXPECT_FALSE(replica.replica().was_in_step());
  replica.AnswerFetch(BatchesFrom(8, {{5, 92}}), 100);
  EXPECT_TRUE(replica.replica().was_in_step());
  replica.AnswerFetch(BatchesFrom(100, {{5, 2}}), 500);
  EXPECT_TRUE(replica.replica().was_in_step()) << "once is enough";
}

TEST(LagTest, LastsFromTheFirstWatermarkAboveTheLogToTheOneThatIsReached) {
  ReplicaHarness replica;
  FollowTwo(replica);
  EXPECT_EQ(replica.replica().Lag(replica.now()), Ms(0));
  replica.AnswerFetch(BatchesFrom(6, {{5, 2}}), 100);
  replica.Advance(Ms(300));
  EXPECT_EQ(replica.replica().Lag(replica.now()), Ms(300));
  replica.AnswerFetch(BatchesFrom(8, {{5, 2}}), 100);
  replica.Advance(Ms(300));
  EXPECT_EQ(replica.replica().Lag(replica.now()), Ms(600)) << "progress is not arrival";
  replica.AnswerFetch(BatchesFrom(10, {{5, 90}}), 100);
  replica.Advance(Ms(300));
  EXPECT_EQ(replica.replica().Lag(replica.now()), Ms(0)) << "silence is no lag";
}

TEST(LagTest, WithoutALeaderThereIsNone) {
  ReplicaHarness replica;
  FollowTwo(replica);
  replica.AnswerFetch(BatchesFrom(6, {{5, 2}}), 100);
  replica.AdvanceUntil(raft::RoleKind::kProspective);
  EXPECT_EQ(replica.replica().Lag(replica.now()), Ms(0));
}

TEST(LagTest, ALeaderIsInStepWhenItHasCommitted) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.BecomeLeader(Epoch(1));
  EXPECT_FALSE(replica.replica().was_in_step());
  (void)replica.Fetch(2, replica.log_end().value(), 1);
  EXPECT_TRUE(replica.replica().was_in_step());
}

}  // namespace
}  // namespace quorum::conformance
