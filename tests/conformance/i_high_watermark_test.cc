// Group I of the conformance list: the high watermark (protocol.md 3.1). C-091 needs voter changes;
// C-092 does not exist here, because every entry has a directory id (8.7).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "service/base/ids.h"
#include "service/raft/effect.h"
#include "service/raft/messages.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using raft::FetchRequest;
using raft::RoleKind;
using testing::IsEmpty;
using testing::SizeIs;

// Leader of epoch 5 among `voters`, whose first record is at 6.
void Lead(ReplicaHarness& replica, int voters) {
  replica.Voters(voters);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.BecomeLeader(Epoch(5));
  replica.Forget();
}

// Follower of 2 in epoch 5, with a log that ends at 6.
void Follow(ReplicaHarness& replica) {
  replica.Voters(3);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.Follow(2, Epoch(5));
  replica.Forget();
}

size_t Advances(const ReplicaHarness& replica) {
  size_t count = 0;
  for (const raft::Trace& trace : replica.Effects<raft::Trace>()) {
    if (trace.event.kind == raft::TraceKind::kHighWatermark) ++count;
  }
  return count;
}

TEST(ConformanceHighWatermark, C087_UnknownUntilAMajorityIsPastTheEpochStart) {
  ReplicaHarness one;
  one.HoldWrites();
  one.Voters(1);
  one.Recover(Epoch(4));
  one.RecoverLog({{1, 3}, {3, 3}});
  one.Start();
  EXPECT_EQ(one.high_watermark(), std::nullopt);
  one.CompleteWrites();
  EXPECT_EQ(one.high_watermark(), Offset(7));

  for (const int voters : {2, 3}) {
    ReplicaHarness replica;
    Lead(replica, voters);
    EXPECT_EQ(replica.high_watermark(), std::nullopt);
    replica.Fetch(2, 6, 3);
    EXPECT_EQ(replica.high_watermark(), std::nullopt) << "at the epoch start is not past it";
    EXPECT_THAT(replica.Effects<raft::CommitAdvanced>(), IsEmpty());
    replica.Fetch(2, 7, 5);
    EXPECT_EQ(replica.high_watermark(), Offset(7));
  }
}

TEST(ConformanceHighWatermark, C088_OneToFiveVoters) {
  const std::vector<int> fetchers_needed = {0, 1, 1, 2, 2};
  for (int voters = 1; voters <= 5; ++voters) {
    ReplicaHarness replica;
    Lead(replica, voters);
    for (int fetchers = 0; fetchers < voters; ++fetchers) {
      const bool known = fetchers >= fetchers_needed[static_cast<size_t>(voters) - 1];
      EXPECT_EQ(replica.high_watermark().has_value(), known) << voters << " voters";
      if (fetchers + 2 <= voters) replica.Fetch(fetchers + 2, 7, 5);
    }
  }
}

TEST(ConformanceHighWatermark, C088_TheSameInputTwiceReportsOneAdvance) {
  ReplicaHarness replica;
  Lead(replica, 3);
  replica.Fetch(2, 7, 5);
  replica.Fetch(2, 7, 5);
  replica.Fetch(3, 7, 5);
  EXPECT_EQ(Advances(replica), 1u);
  EXPECT_THAT(replica.Effects<raft::CommitAdvanced>(), SizeIs(1));
}

// 8.7: within one process life a lower offset is a stale duplicate.
TEST(ConformanceHighWatermark, C089_ALowerFetchOfTheSameLifeIsIgnored) {
  ReplicaHarness replica;
  Lead(replica, 3);
  replica.Append(3);
  replica.Fetch(2, 10, 5);
  ASSERT_EQ(replica.high_watermark(), Offset(10));
  EXPECT_TRUE(replica.Fetch(2, 7, 5).HasRecords());
  EXPECT_EQ(replica.high_watermark(), Offset(10));
  replica.Append(1);
  replica.Fetch(2, 11, 5);
  EXPECT_EQ(replica.high_watermark(), Offset(11));
}

// 8.7: from a newer life it is a disk that went back: served, shown, and not counted any more.
TEST(ConformanceHighWatermark, C089_ALowerFetchOfANewerLifeIsServedAndNotCounted) {
  ReplicaHarness replica;
  Lead(replica, 3);
  replica.Append(3);
  replica.Fetch(2, 10, 5);
  ASSERT_EQ(replica.high_watermark(), Offset(10));
  FetchRequest rolled_back = replica.MakeFetch(2, 7, 5);
  rolled_back.replica_incarnation = Incarnation(2);
  EXPECT_TRUE(replica.Fetch(rolled_back).HasRecords());
  EXPECT_EQ(replica.high_watermark(), Offset(10)) << "it does not go back";
  EXPECT_EQ(replica.replica().Describe(replica.now())[1].log_end, Offset(7));
  replica.Append(1);
  rolled_back.fetch_offset = Offset(11);
  replica.Fetch(rolled_back);
  EXPECT_EQ(replica.high_watermark(), Offset(10)) << "its promises are gone";
  replica.Fetch(3, 11, 5);
  EXPECT_EQ(replica.high_watermark(), Offset(11));
}

TEST(ConformanceHighWatermark, C090_NothingShortensTheLogOfALeader) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.Follow(2, Epoch(4));
  const raft::Correlation asked = replica.Sent<FetchRequest>().back().correlation;
  replica.BecomeLeader(Epoch(5));
  raft::FetchResponse late;
  late.header = replica.HeaderNow();
  late.payload = raft::FetchedDivergence{End(2, 1)};
  replica.Step(raft::FetchResponded{asked, late});
  EXPECT_EQ(replica.log_end(), Offset(7));
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
}

TEST(ConformanceHighWatermark, C093_AFollowersIsTheLesserOfItsEndAndTheLeaders) {
  ReplicaHarness replica;
  Follow(replica);
  replica.AnswerFetch(raft::FetchedNothing{});
  EXPECT_EQ(replica.high_watermark(), std::nullopt) << "the leader knows none";
  replica.AnswerFetch(BatchesFrom(6, {{5, 2}}), 20);
  EXPECT_EQ(replica.high_watermark(), Offset(8));
  replica.AnswerFetch(BatchesFrom(8, {{5, 4}}), 9);
  EXPECT_EQ(replica.high_watermark(), Offset(9));
  replica.AnswerFetch(raft::FetchedNothing{}, 11);
  EXPECT_EQ(replica.high_watermark(), Offset(11)) << "it may rise on an empty answer";
  replica.Forget();
  replica.AnswerFetch(raft::FetchedNothing{}, 11);
  EXPECT_EQ(Advances(replica), 0u);
  replica.AnswerFetch(raft::FetchedNothing{});
  EXPECT_EQ(replica.high_watermark(), Offset(11)) << "an unknown one is ignored";
}

// 8.7: the partition is quarantined, the process goes on.
TEST(ConformanceHighWatermark, C093_ALeadersBelowItsOwnIsFatal) {
  ReplicaHarness replica;
  Follow(replica);
  replica.AnswerFetch(BatchesFrom(6, {{5, 4}}), 9);
  replica.AnswerFetch(raft::FetchedNothing{}, 8);
  EXPECT_TRUE(replica.quarantined());
  EXPECT_EQ(replica.log_end(), Offset(10));
}

TEST(ConformanceHighWatermark, C093_ReadersSeeWhatIsCommittedAndSyncedHere) {
  ReplicaHarness replica;
  Follow(replica);
  replica.HoldWrites();
  replica.AnswerFetch(BatchesFrom(6, {{5, 4}}), 9);
  EXPECT_EQ(replica.high_watermark(), Offset(9));
  EXPECT_EQ(replica.replica().exposed(), Offset(6));
  replica.CompleteWrites();
  EXPECT_EQ(replica.replica().exposed(), Offset(9));
}

TEST(ConformanceHighWatermark, C094_ItSurvivesTheRolesWithoutALeader) {
  ReplicaHarness replica;
  Follow(replica);
  replica.AnswerFetch(BatchesFrom(6, {{5, 4}}), 9);
  replica.AdvanceUntil(RoleKind::kProspective);
  EXPECT_EQ(replica.high_watermark(), Offset(9));
  replica.GrantAll();
  ASSERT_EQ(replica.role(), RoleKind::kCandidate);
  EXPECT_EQ(replica.high_watermark(), Offset(9));
  replica.RequestVote(3, Epoch(8), End(20, 7));
  ASSERT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_EQ(replica.high_watermark(), Offset(9));
  replica.Follow(3, Epoch(8));
  EXPECT_EQ(replica.high_watermark(), Offset(9));
}

TEST(ConformanceHighWatermark, C094_ANewLeaderKnowsNone_AndNeverShowsLess) {
  ReplicaHarness replica;
  Follow(replica);
  replica.AnswerFetch(BatchesFrom(6, {{5, 4}}), 9);
  replica.BecomeLeader(Epoch(6));
  EXPECT_EQ(replica.high_watermark(), std::nullopt);
  EXPECT_EQ(replica.replica().exposed(), Offset(9)) << "what readers have seen stays";
  replica.Fetch(3, 10, 5);
  EXPECT_EQ(replica.high_watermark(), std::nullopt);
  replica.Fetch(3, 11, 6);
  EXPECT_EQ(replica.high_watermark(), Offset(11));
}

// 8.7: a lazily stored lower bound is known after a restart, and nothing else.
TEST(ConformanceHighWatermark, C094_AfterARestartItIsTheStoredBound) {
  ReplicaHarness replica;
  Follow(replica);
  replica.AnswerFetch(BatchesFrom(6, {{5, 4}}), 9);
  replica.Restart();
  EXPECT_EQ(replica.high_watermark(), std::nullopt);
  EXPECT_EQ(replica.replica().exposed(), Offset(0));
  replica.RecoverHighWatermarkBound(8);
  replica.Restart();
  EXPECT_EQ(replica.high_watermark(), Offset(8));
  EXPECT_EQ(replica.replica().exposed(), Offset(8));
}

TEST(ConformanceHighWatermark, C095_ASoleVoterCommitsAfterItsSync) {
  ReplicaHarness replica;
  replica.Voters(1);
  replica.Start();
  ASSERT_EQ(replica.high_watermark(), Offset(2));
  replica.HoldWrites();
  const raft::Token append = replica.Append(3);
  EXPECT_EQ(replica.high_watermark(), Offset(2));
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kPending);
  replica.CompleteWrites();
  EXPECT_EQ(replica.high_watermark(), Offset(5));
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kCommitted);
}

// A client waits for the watermark and for nothing more: two of three have synced.
TEST(ConformanceHighWatermark, C095_AMajorityOfTheOthersCommitsWithoutTheLeadersDisk) {
  ReplicaHarness replica;
  Lead(replica, 3);
  replica.HoldWrites();
  const raft::Token append = replica.Append(3);
  replica.Fetch(2, 10, 5);
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kPending) << "2 alone is no majority";
  replica.Fetch(3, 10, 5);
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kCommitted);
  EXPECT_EQ(replica.high_watermark(), Offset(10));
  EXPECT_EQ(replica.replica().exposed(), Offset(7)) << "readers here wait for the disk";
  replica.CompleteWrites();
  EXPECT_EQ(replica.replica().exposed(), Offset(10));
}

}  // namespace
}  // namespace quorum::conformance
