// Group J of the conformance list: reconciliation of logs (protocol.md 3.3).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "service/base/ids.h"
#include "service/base/voter_set.h"
#include "service/raft/effect.h"
#include "service/raft/errors.h"
#include "service/raft/messages.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using raft::FetchedBatches;
using raft::FetchedDivergence;
using raft::FetchRequest;
using raft::RaftError;
using raft::RoleKind;
using testing::IsEmpty;
using testing::SizeIs;

FetchRequest LastFetch(const ReplicaHarness& replica) {
  const auto sent = replica.Sent<FetchRequest>();
  return sent.empty() ? FetchRequest{} : sent.back().message;
}

// Follower of 2 in `epoch`, with that log.
void Follow(ReplicaHarness& replica, int64_t epoch,
            std::initializer_list<std::pair<int64_t, int64_t>> log) {
  replica.Voters(3);
  replica.Recover(Epoch(epoch - 1));
  replica.RecoverLog(log);
  replica.Follow(2, Epoch(epoch));
}

TEST(ConformanceReconciliation, C096_TheLeaderNamesItsLargestEpochAtOrBelow) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.BecomeLeader(Epoch(5));
  replica.Append(2);
  ASSERT_EQ(replica.log_end(), Offset(9));
  EXPECT_EQ(replica.Fetch(2, 6, 2).Divergence(), End(3, 1));
  EXPECT_EQ(replica.Fetch(2, 7, 3).Divergence(), End(6, 3));
  EXPECT_EQ(replica.Fetch(2, 4, 4).Divergence(), End(6, 3));
  EXPECT_TRUE(replica.Fetch(2, 9, 5).parked);
  EXPECT_TRUE(replica.Fetch(3, 0, 0).HasRecords()) << "an empty log agrees with every log";
}

TEST(ConformanceReconciliation, C097_TheFollowerTruncatesSyncsAndFetchesThere) {
  ReplicaHarness replica;
  Follow(replica, 3, {{1, 3}, {2, 4}});
  EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(7));
  EXPECT_EQ(LastFetch(replica).last_fetched_epoch, Epoch(2));
  replica.Forget();
  replica.HoldWrites();
  replica.AnswerFetch(FetchedDivergence{End(3, 1)});
  EXPECT_EQ(replica.end_point(), End(3, 1));
  ASSERT_THAT(replica.Effects<raft::TruncateTo>(), SizeIs(1));
  EXPECT_THAT(replica.Sent<FetchRequest>(), IsEmpty()) << "the truncation is not synced";
  replica.CompleteWrites();
  ASSERT_THAT(replica.Sent<FetchRequest>(), SizeIs(1));
  EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(3));
  EXPECT_EQ(LastFetch(replica).last_fetched_epoch, Epoch(1));
}

TEST(ConformanceReconciliation, C098_AnUnknownEpochCutsToTheEndOfTheLargestBelow) {
  ReplicaHarness replica;
  Follow(replica, 6, {{1, 3}, {2, 4}, {4, 2}});
  replica.AnswerFetch(FetchedDivergence{End(6, 3)});
  EXPECT_EQ(replica.end_point(), End(7, 2));
  EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(7));
  EXPECT_EQ(LastFetch(replica).last_fetched_epoch, Epoch(2));
  replica.AnswerFetch(FetchedDivergence{End(3, 1)});
  EXPECT_EQ(replica.end_point(), End(3, 1));
  replica.AnswerFetch(BatchesFrom(3, {{3, 3}, {5, 2}}), 8);
  EXPECT_EQ(replica.end_point(), End(8, 5));
}

// In the middle of such a search the log still differs from the leader's, below its new end too. So
// a diverging answer teaches no watermark.
TEST(ConformanceReconciliation, C098_ADivergingAnswerTeachesNoWatermark) {
  ReplicaHarness replica;
  Follow(replica, 6, {{1, 3}, {2, 4}, {4, 2}});
  raft::FetchResponse diverging;
  diverging.header = replica.HeaderNow();
  diverging.high_watermark = Offset(9);
  diverging.payload = FetchedDivergence{End(6, 3)};
  replica.AnswerFetch(diverging);
  ASSERT_EQ(replica.end_point(), End(7, 2));
  EXPECT_EQ(replica.high_watermark(), std::nullopt) << "offsets 3 to 6 are not the leader's";
  EXPECT_EQ(replica.replica().exposed(), Offset(0));
  diverging.payload = FetchedDivergence{End(3, 1)};
  replica.AnswerFetch(diverging);
  EXPECT_FALSE(replica.quarantined());
  EXPECT_EQ(replica.end_point(), End(3, 1));
}

TEST(ConformanceReconciliation, C098_EverythingMayDiffer) {
  ReplicaHarness replica;
  Follow(replica, 6, {{2, 4}});
  replica.AnswerFetch(FetchedDivergence{End(0, 0)});
  EXPECT_EQ(replica.end_point(), End(0, 0));
  EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(0));
  EXPECT_EQ(LastFetch(replica).last_fetched_epoch, Epoch(0));
}

// 8.7: the partition is quarantined, the process goes on.
TEST(ConformanceReconciliation, C099_ATruncationBelowTheWatermarkQuarantines) {
  ReplicaHarness replica;
  Follow(replica, 5, {{1, 3}, {3, 3}});
  replica.AnswerFetch(BatchesFrom(6, {{5, 2}}), 6);
  replica.Forget();
  replica.AnswerFetch(FetchedDivergence{End(5, 3)});
  EXPECT_TRUE(replica.quarantined());
  EXPECT_EQ(replica.log_end(), Offset(8)) << "the log is untouched";
  EXPECT_THAT(replica.Effects<raft::TruncateTo>(), IsEmpty());
  EXPECT_EQ(replica.Fetch(3, 0, 0).reply.value().header.error, RaftError::kBrokerNotAvailable);
}

TEST(ConformanceReconciliation, C099_TheStoredBoundRefusesToo) {
  ReplicaHarness replica;
  replica.RecoverHighWatermarkBound(5);
  Follow(replica, 5, {{1, 3}, {3, 3}});
  replica.AnswerFetch(FetchedDivergence{End(3, 1)});
  EXPECT_TRUE(replica.quarantined());
  EXPECT_EQ(replica.log_end(), Offset(6));
}

TEST(ConformanceReconciliation, C099_ADivergenceThatShortensNothingIsNoAnswer) {
  for (const OffsetAndEpoch& point : {End(9, 3), End(6, 5), End(3, -1), End(-1, 1)}) {
    ReplicaHarness replica;
    Follow(replica, 5, {{1, 3}, {3, 3}});
    replica.AnswerFetch(FetchedDivergence{point});
    EXPECT_TRUE(replica.quarantined()) << point << ": or the two would ask each other for ever";
    EXPECT_EQ(replica.log_end(), Offset(6));
  }
}

TEST(ConformanceReconciliation, C100_ATruncatedVoterSetGivesWayToTheEarlierOne) {
  ReplicaHarness replica;
  Follow(replica, 5, {{1, 3}, {3, 3}});
  FetchedBatches change = BatchesFrom(6, {{5, 1}, {5, 1}});
  change.batches[1].voters = VoterSetOf(4);
  replica.AnswerFetch(change);
  EXPECT_EQ(replica.replica().voters().Latest().size(), 4u) << "in force when appended";
  replica.Follow(3, Epoch(6));
  replica.AnswerFetch(FetchedDivergence{End(7, 5)});
  EXPECT_EQ(replica.log_end(), Offset(7));
  EXPECT_EQ(replica.replica().voters().Latest(), VoterSetOf(3));
  replica.AdvanceUntil(RoleKind::kProspective);
  EXPECT_THAT(replica.SentTo<raft::VoteRequest>(), SizeIs(2));
}

TEST(ConformanceReconciliation, C101_AnAnswerOfAnEarlierRoleIsIgnored) {
  ReplicaHarness replica;
  Follow(replica, 5, {{1, 3}, {3, 3}});
  const raft::Correlation asked = replica.Sent<FetchRequest>().back().correlation;
  raft::FetchResponse answer;
  answer.header = replica.HeaderNow();
  answer.payload = BatchesFrom(6, {{5, 2}});
  replica.RequestVote(3, Epoch(6), End(9, 5));
  replica.Step(raft::FetchResponded{asked, answer});
  EXPECT_EQ(replica.log_end(), Offset(6));
  replica.Follow(3, Epoch(6));
  answer.header = replica.HeaderNow();
  answer.payload = FetchedDivergence{End(3, 1)};
  replica.Step(raft::FetchResponded{asked, answer});
  EXPECT_EQ(replica.log_end(), Offset(6));
}

TEST(ConformanceReconciliation, C101_AnAnswerOfAnotherEpochOrLeaderIsIgnored) {
  ReplicaHarness replica;
  Follow(replica, 5, {{1, 3}, {3, 3}});
  raft::FetchResponse answer;
  answer.header = raft::ResponseHeader{RaftError::kNone, Epoch(4), Key(2)};
  answer.payload = BatchesFrom(6, {{4, 2}});
  replica.AnswerFetch(answer);
  EXPECT_EQ(replica.log_end(), Offset(6)) << "of an older epoch";
  replica.Advance(Ms(100));
  answer.header = raft::ResponseHeader{RaftError::kNone, Epoch(7), Key(3)};
  answer.payload = BatchesFrom(6, {{7, 2}});
  replica.AnswerFetch(answer);
  EXPECT_EQ(replica.log_end(), Offset(6)) << "it was asked in another epoch";
  EXPECT_EQ(replica.leader(), Key(3)) << "though what it says of the leader is true";
  EXPECT_EQ(replica.epoch(), Epoch(7));
}

TEST(ConformanceReconciliation, C102_TheFirstBadBatchEndsWhatIsTaken) {
  const std::vector<FetchedBatches> bad = {
      BatchesFrom(8, {{6, 1}}),  // An epoch above mine.
      BatchesFrom(9, {{5, 1}}),  // A gap.
      BatchesFrom(7, {{5, 2}}),  // An overlap.
      BatchesFrom(8, {{3, 1}}),  // An epoch below the last.
      BatchesFrom(8, {{5, 0}}),  // No records.
  };
  for (const FetchedBatches& tail : bad) {
    ReplicaHarness replica;
    Follow(replica, 5, {{1, 3}, {3, 3}});
    FetchedBatches batches = BatchesFrom(6, {{5, 2}});
    batches.batches.push_back(tail.batches.front());
    batches.batches.push_back(BatchesFrom(8, {{5, 1}}).batches.front());
    replica.Advance(Ms(1'500));
    replica.Forget();
    replica.AnswerFetch(batches, 7);
    EXPECT_EQ(replica.end_point(), End(8, 5));
    EXPECT_EQ(replica.Effects<raft::AppendFetchedBatches>().at(0).count, 1u);
    EXPECT_EQ(replica.high_watermark(), Offset(7));
    EXPECT_FALSE(replica.quarantined());
    EXPECT_GE(replica.deadline() - replica.now(), Ms(2'000)) << "the fetch has succeeded";
    EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(8));
  }
}

TEST(ConformanceReconciliation, C102_NothingGoodChangesNothing) {
  ReplicaHarness replica;
  Follow(replica, 5, {{1, 3}, {3, 3}});
  replica.Forget();
  replica.AnswerFetch(BatchesFrom(5, {{5, 2}}));
  EXPECT_EQ(replica.log_end(), Offset(6));
  EXPECT_THAT(replica.Effects<raft::AppendFetchedBatches>(), IsEmpty());
  replica.Advance(replica.config().retry_backoff);
  EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(6));
}

// Two nodes that disagree about a batch must not keep each other busy.
TEST(ConformanceReconciliation, C102_AnAnswerOfWhichNothingCanBeTakenIsAskedForLessAndLessOften) {
  const std::vector<FetchedBatches> useless = {
      BatchesFrom(7, {{5, 1}}),  // A gap.
      BatchesFrom(6, {{6, 1}}),  // An epoch above mine.
      FetchedBatches{},          // Batches that cannot be read.
  };
  for (const FetchedBatches& batches : useless) {
    ReplicaHarness replica;
    Follow(replica, 5, {{1, 3}, {3, 3}});
    int answers = 0;
    for (const MonoTime end = replica.now() + Ms(10'000); replica.now() < end; ++answers) {
      replica.Forget();
      replica.AnswerFetch(batches);
      while (replica.Sent<FetchRequest>().empty()) replica.Advance(Ms(10));
      ASSERT_LT(answers, 20);
    }
    EXPECT_GT(answers, 3);
    EXPECT_EQ(replica.role(), raft::RoleKind::kFollower) << "the leader is heard of";
    EXPECT_FALSE(replica.quarantined());
    // What can be taken ends that.
    replica.Forget();
    replica.AnswerFetch(BatchesFrom(6, {{5, 2}}));
    EXPECT_THAT(replica.Sent<FetchRequest>(), SizeIs(1));
  }
}

// 8.7: observers sync as well, for each may become a voter.
TEST(ConformanceReconciliation, C103_TheNextFetchWaitsForTheSync) {
  for (const int32_t self : {1, 9}) {
    ReplicaHarness replica(1, Key(self));
    Follow(replica, 5, {{1, 3}, {3, 3}});
    replica.Forget();
    replica.HoldWrites();
    replica.AnswerFetch(BatchesFrom(6, {{5, 2}}));
    EXPECT_THAT(replica.Sent<FetchRequest>(), IsEmpty());
    EXPECT_THAT(replica.Waiting<FetchRequest>(), SizeIs(1));
    replica.CompleteWrites();
    ASSERT_THAT(replica.Sent<FetchRequest>(), SizeIs(1));
    EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(8));
  }
}

// Trap 5: released later, it would acknowledge in epoch 5 what this voter no longer stands for.
TEST(ConformanceReconciliation, C103_AFetchThatWaitsIsDroppedWhenTheEpochMovesOn) {
  ReplicaHarness replica;
  Follow(replica, 5, {{1, 3}, {3, 3}});
  replica.Forget();
  replica.HoldWrites();
  replica.AnswerFetch(BatchesFrom(6, {{5, 2}}));
  replica.RequestVote(3, Epoch(6), End(6, 3));
  EXPECT_EQ(replica.voted(), std::nullopt) << "judged by the end in memory";
  replica.CompleteWrites();
  for (const auto& fetch : replica.Sent<FetchRequest>()) {
    EXPECT_EQ(fetch.message.current_leader_epoch, Epoch(6));
  }
}

TEST(ConformanceReconciliation, C104_AHardKillLosesExactlyWhatWasNotSynced) {
  ReplicaHarness replica;
  Follow(replica, 5, {{1, 3}, {3, 3}});
  replica.AnswerFetch(BatchesFrom(6, {{5, 2}}));
  const Offset acknowledged = LastFetch(replica).fetch_offset;
  replica.HoldWrites();
  replica.AnswerFetch(BatchesFrom(8, {{5, 3}}));
  EXPECT_EQ(replica.log_end(), Offset(11));
  EXPECT_EQ(LastFetch(replica).fetch_offset, acknowledged);
  replica.Restart();
  EXPECT_EQ(replica.end_point(), End(8, 5));
  EXPECT_EQ(replica.log_end(), acknowledged);
}

}  // namespace
}  // namespace quorum::conformance
