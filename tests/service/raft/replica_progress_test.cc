// ReplicaProgress: what a Fetch teaches a leader (protocol.md 1.6), C-089 and C-147.

#include "service/raft/replica_progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "service/base/ids.h"
#include "service/base/time.h"

namespace quorum::raft {
namespace {

MonoTime At(int64_t ms) { return MonoTime(std::chrono::milliseconds(ms)); }

bool Fetch(ReplicaProgress& progress, int64_t offset, int64_t leader_end, int64_t at_ms,
           uint64_t incarnation = 1) {
  return progress.OnFetch(Offset(offset), Incarnation(incarnation), Offset(leader_end), At(at_ms));
}

TEST(ReplicaProgress, BeforeTheFirstFetch_NothingIsKnown) {
  const ReplicaProgress progress;
  EXPECT_EQ(progress.Counted(), std::nullopt);
  EXPECT_EQ(progress.last_fetch, std::nullopt);
  EXPECT_EQ(progress.last_caught_up, std::nullopt);
}

TEST(ReplicaProgress, C147_OnFetch_NotesOffsetAndTime) {
  ReplicaProgress progress;
  EXPECT_TRUE(Fetch(progress, 3, 10, 100));
  EXPECT_EQ(progress.Counted(), Offset(3));
  EXPECT_EQ(progress.last_fetch, At(100));
  EXPECT_EQ(progress.last_caught_up, std::nullopt) << "it has never held all that the leader had";
  EXPECT_TRUE(Fetch(progress, 3, 10, 150));
  EXPECT_EQ(progress.last_fetch, At(150)) << "the same offset again is a sign of life";
}

TEST(ReplicaProgress, C147_AtTheLeadersEnd_ItIsCaughtUpNow) {
  ReplicaProgress progress;
  EXPECT_TRUE(Fetch(progress, 10, 10, 100));
  EXPECT_EQ(progress.last_caught_up, At(100));
}

TEST(ReplicaProgress, C147_AtTheEndOfThePreviousFetch_ItWasCaughtUpThen) {
  ReplicaProgress progress;
  EXPECT_TRUE(Fetch(progress, 3, 10, 100));
  EXPECT_TRUE(Fetch(progress, 9, 20, 200));
  EXPECT_EQ(progress.last_caught_up, std::nullopt) << "the leader had 10 at the previous fetch";
  EXPECT_TRUE(Fetch(progress, 20, 30, 300));
  EXPECT_EQ(progress.last_caught_up, At(200));
  EXPECT_TRUE(Fetch(progress, 25, 40, 400));
  EXPECT_EQ(progress.last_caught_up, At(200)) << "it never goes back";
}

// The leader had 100 long before the sign of life, so the follower did not hold all of it then.
TEST(ReplicaProgress, C147_ASignOfLifeIsNoPosition) {
  ReplicaProgress progress;
  progress.OnSeen(At(50), Offset(10));
  EXPECT_EQ(progress.last_fetch, std::nullopt) << "it has never fetched";
  EXPECT_TRUE(Fetch(progress, 10, 10, 100));
  progress.OnSeen(At(500), Offset(100));
  EXPECT_EQ(progress.last_fetch, At(500));
  EXPECT_EQ(progress.last_caught_up, At(100));
  EXPECT_TRUE(Fetch(progress, 12, 200, 600));
  EXPECT_EQ(progress.last_caught_up, At(100));
  EXPECT_TRUE(Fetch(progress, 200, 300, 700));
  EXPECT_EQ(progress.last_caught_up, At(600));
  EXPECT_EQ(progress.last_fetch, At(700));
}

TEST(ReplicaProgress, C147_ASignOfLifeOfAnIdleReplicaThatHoldsEverythingKeepsItCaughtUp) {
  ReplicaProgress progress;
  EXPECT_TRUE(Fetch(progress, 10, 10, 100));
  progress.OnSeen(At(500), Offset(10));
  EXPECT_EQ(progress.last_caught_up, At(500));
  progress.OnSeen(At(400), Offset(10));
  EXPECT_EQ(progress.last_caught_up, At(500)) << "it never goes back";
}

TEST(ReplicaProgress, C089_ALowerOffsetOfTheSameLife_IsAStaleDuplicate) {
  ReplicaProgress progress;
  EXPECT_TRUE(Fetch(progress, 8, 10, 100));
  EXPECT_FALSE(Fetch(progress, 5, 10, 200));
  EXPECT_EQ(progress.Counted(), Offset(8));
  EXPECT_EQ(progress.last_fetch, At(100)) << "a duplicate is no sign of life";
}

TEST(ReplicaProgress, C089_ALowerOffsetOfANewerLife_IsARollBack) {
  ReplicaProgress progress;
  EXPECT_TRUE(Fetch(progress, 8, 10, 100));
  EXPECT_TRUE(Fetch(progress, 5, 10, 200, 2)) << "it is served";
  EXPECT_EQ(progress.Counted(), std::nullopt);
  EXPECT_EQ(progress.durable_end, Offset(5)) << "shown as it is";
  EXPECT_EQ(progress.last_fetch, At(200));
  EXPECT_TRUE(Fetch(progress, 10, 10, 300, 2));
  EXPECT_EQ(progress.Counted(), std::nullopt) << "not in this epoch any more";
}

TEST(ReplicaProgress, ANewerLife_WithAllThatItAcknowledged_CountsOn) {
  ReplicaProgress progress;
  EXPECT_TRUE(Fetch(progress, 8, 10, 100));
  EXPECT_TRUE(Fetch(progress, 8, 10, 200, 2));
  EXPECT_EQ(progress.Counted(), Offset(8));
  EXPECT_FALSE(Fetch(progress, 9, 10, 300, 1)) << "a delayed Fetch of the dead life";
  EXPECT_EQ(progress.Counted(), Offset(8));
  EXPECT_EQ(progress.last_fetch, At(200));
}

TEST(ReplicaProgress, C148_AnObserverVanishesFiveMinutesAfterItsLastFetch) {
  ReplicaProgress progress;
  EXPECT_TRUE(progress.HasVanished(At(100))) << "it has never fetched";
  EXPECT_TRUE(Fetch(progress, 3, 10, 100));
  EXPECT_FALSE(progress.HasVanished(At(300'100)));
  EXPECT_TRUE(progress.HasVanished(At(300'101)));
}

}  // namespace
}  // namespace quorum::raft
