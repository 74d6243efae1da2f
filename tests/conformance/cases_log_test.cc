// Bugs that others have shipped, in reconciliation, commit and leaving office, as far as one
// replica's core can show them. README.md says what the numbers are, README_groups_h_to_r.md where
// the other cases are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "service/base/ids.h"
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

void RecoverTwoEpochs(ReplicaHarness& replica, int voters = 3) {
  replica.Voters(voters);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
}

// Leader of epoch 5 among three, with a log that ends at 7.
void Lead(ReplicaHarness& replica, int voters = 3) {
  RecoverTwoEpochs(replica, voters);
  replica.BecomeLeader(Epoch(5));
}

// Follower of 2 in epoch 5, with a log that ends at 6.
void Follow(ReplicaHarness& replica) {
  RecoverTwoEpochs(replica);
  replica.Follow(2, Epoch(5));
}

TEST(CasesLog, BUG037_ALeaderThatAsksToCutCommittedRecords_IsRefused) {
  ReplicaHarness replica;
  Follow(replica);
  replica.AnswerFetch(BatchesFrom(6, {{5, 4}}), 8);
  replica.AnswerFetch(FetchedDivergence{End(5, 3)});
  EXPECT_TRUE(replica.quarantined());
  EXPECT_EQ(replica.end_point(), End(10, 5));
  EXPECT_THAT(replica.Effects<raft::Quarantined>(), SizeIs(1));
}

TEST(CasesLog, BUG038_ADivergingFetchIsNoProgress) {
  ReplicaHarness replica;
  Lead(replica);
  const raft::Token append = replica.Append(1);
  ASSERT_TRUE(replica.Fetch(2, 8, 4).Divergence().has_value());
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kPending);
  EXPECT_EQ(replica.high_watermark(), std::nullopt);
  EXPECT_EQ(replica.replica().Describe(replica.now())[1].log_end, std::nullopt);
}

TEST(CasesLog, BUG041_BytesOfAnotherEpochAreNotStored) {
  ReplicaHarness replica;
  Follow(replica);
  replica.AnswerFetch(BatchesFrom(6, {{9, 2}}));
  EXPECT_EQ(replica.end_point(), End(6, 3));
  EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(6)) << "the following Fetch is unchanged";
  EXPECT_EQ(LastFetch(replica).last_fetched_epoch, Epoch(3));
}

TEST(CasesLog, BUG042_TheFirstRecordOfAnEpochStandsAtTheLogEnd) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{4, 42}});
  replica.BecomeLeader(Epoch(5));
  EXPECT_EQ(replica.Effects<raft::AppendControlBatch>().at(0).base_offset, Offset(42));
}

// The Fetch gate leaves no way to truncate while an append is on its way to the disk; that the late
// completion would not count either is in tests/service/raft/log_shape_test.
TEST(CasesLog, BUG045_NothingIsFetched_SoNothingCut_WhileAnAppendIsNotSynced) {
  ReplicaHarness replica;
  Follow(replica);
  replica.Forget();
  replica.HoldWrites();
  replica.AnswerFetch(BatchesFrom(6, {{5, 10}}));
  replica.Follow(3, Epoch(6));
  EXPECT_THAT(replica.Sent<FetchRequest>(), IsEmpty());
  EXPECT_EQ(replica.replica().log().durable_end(), Offset(6));
  replica.CompleteWrites();
  EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(16));
  replica.AnswerFetch(FetchedDivergence{End(7, 5)});
  EXPECT_EQ(replica.replica().log().durable_end(), Offset(7));
}

TEST(CasesLog, BUG046_AnAppendOfALostEpochIsNotReportedByALaterOne) {
  ReplicaHarness replica;
  Lead(replica);
  const raft::Token append = replica.Append(1);
  replica.Follow(3, Epoch(6));
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kUnknown);
  replica.AnswerFetch(FetchedDivergence{End(6, 3)});
  replica.AnswerFetch(BatchesFrom(6, {{6, 3}}), 9);
  replica.BecomeLeader(Epoch(7));
  replica.Fetch(2, 10, 7);
  ASSERT_EQ(replica.high_watermark(), Offset(10));
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kUnknown);
  EXPECT_THAT(replica.Effects<raft::AppendCommitted>(), IsEmpty());
}

TEST(CasesLog, BUG050_ATailThatIsPartlyHereIsAskedForFromTheEnd) {
  ReplicaHarness replica;
  Follow(replica);
  replica.AnswerFetch(BatchesFrom(4, {{3, 2}, {5, 2}}));
  EXPECT_EQ(replica.log_end(), Offset(6)) << "the first batch is here already";
  replica.Advance(replica.config().retry_backoff);
  EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(6));
  replica.AnswerFetch(BatchesFrom(6, {{5, 2}}));
  EXPECT_EQ(replica.log_end(), Offset(8));
}

TEST(CasesLog, BUG051_OneFetchIsOut_AndALateAnswerCutsNothing) {
  ReplicaHarness replica;
  Follow(replica);
  const raft::Correlation first = replica.Sent<FetchRequest>().back().correlation;
  replica.Step(raft::PeerFailed{first});
  EXPECT_THAT(replica.Sent<FetchRequest>(), Not(IsEmpty()));
  replica.Forget();
  replica.Advance(Ms(50));
  ASSERT_THAT(replica.Sent<FetchRequest>(), SizeIs(1));
  replica.AnswerFetch(
      raft::FetchResponse{raft::ResponseHeader{RaftError::kNotLeaderOrFollower, Epoch(5), Key(2)},
                          std::nullopt, raft::FetchedNothing{}});
  replica.Advance(Ms(100));
  replica.AnswerFetch(BatchesFrom(6, {{5, 4}}));
  raft::FetchResponse late;
  late.header = replica.HeaderNow();
  late.payload = FetchedDivergence{End(3, 1)};
  replica.Step(raft::FetchResponded{first, late});
  EXPECT_EQ(replica.log_end(), Offset(10));
}

TEST(CasesLog, BUG052_TheFirstFetchAfterARestartCarriesTheRealEnd) {
  ReplicaHarness replica;
  Follow(replica);
  replica.AnswerFetch(BatchesFrom(6, {{5, 4}}), 9);
  replica.Forget();
  replica.Restart();
  ASSERT_THAT(replica.Sent<FetchRequest>(), SizeIs(1));
  EXPECT_EQ(replica.Sent<FetchRequest>()[0].to, Key(2));
  EXPECT_EQ(LastFetch(replica).fetch_offset, Offset(10));
  EXPECT_EQ(LastFetch(replica).last_fetched_epoch, Epoch(5));
}

TEST(CasesLog, BUG055_AMajorityAtTheEpochStartCommitsNothing) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(2));
  replica.RecoverLog({{1, 10}, {2, 10}});
  replica.BecomeLeader(Epoch(3));
  replica.Fetch(2, 20, 2);
  replica.Fetch(3, 20, 2);
  EXPECT_EQ(replica.high_watermark(), std::nullopt);
  EXPECT_EQ(replica.replica().exposed(), Offset(0));
  replica.Fetch(2, 21, 3);
  EXPECT_EQ(replica.high_watermark(), Offset(21));
}

// The well-known schedule of five: a record of an older epoch is on a majority, the leader's own
// first record is not.
TEST(CasesLog, BUG056_AnOlderEpochsRecordIsNotCommittedByCounting) {
  ReplicaHarness replica;
  replica.Voters(5);
  replica.Recover(Epoch(3));
  replica.RecoverLog({{1, 1}, {2, 1}});
  replica.BecomeLeader(Epoch(4));
  replica.Fetch(2, 2, 2);
  replica.Fetch(3, 2, 2);
  replica.Fetch(4, 2, 2);
  EXPECT_EQ(replica.high_watermark(), std::nullopt) << "four of five hold it";
  replica.Fetch(2, 3, 4);
  EXPECT_EQ(replica.high_watermark(), std::nullopt);
  replica.Fetch(3, 3, 4);
  EXPECT_EQ(replica.high_watermark(), Offset(3));
}

TEST(CasesLog, BUG057_NeitherSideCountsWhatIsNotSynced) {
  ReplicaHarness leader;
  Lead(leader);
  leader.HoldWrites();
  const raft::Token append = leader.Append(1);
  leader.Fetch(2, 8, 5);
  EXPECT_EQ(leader.OutcomeOf(append), AppendOutcome::kPending) << "one of three has synced it";
  leader.CompleteWrites();
  EXPECT_EQ(leader.OutcomeOf(append), AppendOutcome::kCommitted);

  ReplicaHarness follower;
  Follow(follower);
  follower.HoldWrites();
  follower.AnswerFetch(BatchesFrom(6, {{5, 4}}), 10);
  EXPECT_EQ(LastFetch(follower).fetch_offset, Offset(6)) << "the next one waits";
  EXPECT_EQ(follower.replica().exposed(), Offset(6));
}

TEST(CasesLog, BUG058_ASoleVoterAcknowledgesAfterItsDisk) {
  ReplicaHarness replica;
  replica.Voters(1);
  replica.Start();
  replica.HoldWrites();
  const raft::Token append = replica.Append(1);
  replica.Advance(Ms(2'000));
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kPending);
  replica.CompleteWrites();
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kCommitted);
}

TEST(CasesLog, BUG059_AShortAnswerLowersNoWatermark) {
  ReplicaHarness replica;
  Follow(replica);
  replica.AnswerFetch(BatchesFrom(6, {{5, 1}}), 100);
  EXPECT_EQ(replica.high_watermark(), Offset(7)) << "as far as its log goes";
  replica.AnswerFetch(BatchesFrom(7, {{5, 1}}), 100);
  EXPECT_EQ(replica.high_watermark(), Offset(8));
}

TEST(CasesLog, BUG061_TwoOfFourAreNoMajority_AndObserversCountForNothing) {
  ReplicaHarness four;
  Lead(four, 4);
  const raft::Token append = four.Append(1);
  four.Fetch(2, 8, 5);
  EXPECT_EQ(four.OutcomeOf(append), AppendOutcome::kPending);
  four.Fetch(3, 8, 5);
  EXPECT_EQ(four.OutcomeOf(append), AppendOutcome::kCommitted);

  ReplicaHarness three;
  Lead(three);
  const raft::Token other = three.Append(1);
  three.Fetch(8, 8, 5);
  three.Fetch(9, 8, 5);
  EXPECT_EQ(three.OutcomeOf(other), AppendOutcome::kPending);
  FetchRequest wiped = three.MakeFetch(2, 8, 5);
  wiped.replica = OtherDirectory(2);
  three.Fetch(wiped);
  EXPECT_EQ(three.OutcomeOf(other), AppendOutcome::kPending) << "another disk, another replica";
}

TEST(CasesLog, BUG063_TheEpochsFirstRecordCountsAfterItsSyncOnly) {
  ReplicaHarness replica;
  RecoverTwoEpochs(replica);
  replica.BecomeCandidate();
  replica.HoldWrites();
  replica.GrantAll();
  ASSERT_EQ(replica.role(), RoleKind::kLeader);
  replica.Fetch(2, 7, 5);
  EXPECT_EQ(replica.high_watermark(), std::nullopt);
  EXPECT_FALSE(replica.replica().is_ready_leader());
  replica.CompleteWrites();
  EXPECT_EQ(replica.high_watermark(), Offset(7));
  EXPECT_TRUE(replica.replica().is_ready_leader());
}

TEST(CasesLog, BUG065_AParkedFollowerLearnsTheWatermarkWithoutARecord) {
  ReplicaHarness replica;
  Lead(replica);
  const FetchResult parked = replica.Fetch(9, 7, 5, 6);
  ASSERT_TRUE(parked.parked);
  replica.Fetch(2, 7, 5);
  EXPECT_EQ(replica.ResultOf(parked.token).reply.value().high_watermark, Offset(7));
}

TEST(CasesLog, BUG068_ALeaderIsReadyWhenItHasCommittedInItsEpoch) {
  ReplicaHarness replica;
  Lead(replica);
  EXPECT_FALSE(replica.replica().is_ready_leader());
  EXPECT_FALSE(replica.Effects<raft::LeadershipChanged>().back().ready);
  replica.Fetch(2, 7, 5);
  EXPECT_TRUE(replica.replica().is_ready_leader());
  EXPECT_TRUE(replica.Effects<raft::LeadershipChanged>().back().ready);
  EXPECT_EQ(replica.Effects<raft::LeadershipChanged>().back().leader, Key(1));
}

TEST(CasesLog, BUG069_ASingleAppendOfAnIdlePartitionWaitsForNothing) {
  ReplicaHarness replica;
  replica.Voters(1);
  replica.Start();
  for (int i = 0; i < 100; ++i) {
    replica.Advance(Ms(10'000));
    EXPECT_EQ(replica.OutcomeOf(replica.Append(1)), AppendOutcome::kCommitted);
  }
}

TEST(CasesLog, BUG070_ALeaderThatNobodyFetchesFrom_SaysSoToClients) {
  ReplicaHarness replica;
  Lead(replica);
  replica.Fetch(2, 7, 5);
  const raft::Token open = replica.Append(1);
  replica.Advance(Ms(3'010));
  EXPECT_EQ(replica.role(), RoleKind::kResigned);
  EXPECT_EQ(replica.OutcomeOf(open), AppendOutcome::kUnknown);
  EXPECT_EQ(replica.OutcomeOf(replica.Append(1)), AppendOutcome::kRefused);
  EXPECT_EQ(replica.Effects<raft::AppendRefused>().back().header.error,
            RaftError::kNotLeaderOrFollower);
}

TEST(CasesLog, BUG071_ASoleVoterHoldsNoElectionsInAnIdleMinute) {
  ReplicaHarness replica;
  replica.Voters(1);
  replica.Start();
  replica.Forget();
  replica.Advance(Ms(60'000));
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
  EXPECT_EQ(replica.epoch(), Epoch(1));
  EXPECT_THAT(replica.Effects<raft::Trace>(), IsEmpty());
}

TEST(CasesLog, BUG072_FetchesOfObserversKeepNobodyInOffice) {
  ReplicaHarness replica;
  Lead(replica);
  for (int i = 0; i < 40 && replica.role() == RoleKind::kLeader; ++i) {
    replica.Fetch(8, 7, 5);
    replica.Fetch(9, 7, 5);
    replica.Advance(Ms(100));
  }
  EXPECT_EQ(replica.role(), RoleKind::kResigned);
}

TEST(CasesLog, BUG078_NoParkedFetchSurvivesTheResignation) {
  ReplicaHarness replica;
  Lead(replica);
  const FetchResult two = replica.Fetch(2, 7, 5);
  const FetchResult nine = replica.Fetch(9, 7, 5, 7);
  replica.Step(raft::ShutdownRequested{});
  for (const FetchResult& fetch : {two, nine}) {
    EXPECT_EQ(replica.ResultOf(fetch.token).reply.value().header.error,
              RaftError::kNotLeaderOrFollower);
  }
  EXPECT_TRUE(replica.LastReplyHasLeft()) << "it waits for no disk";
}

// 2 says that 3 leads, 3 says that 2 leads, each of its own epoch: the newer one is believed, and
// nobody is asked at full speed.
TEST(CasesLog, BUG080_TwoThatNameEachOtherAreNotAskedAtFullSpeed) {
  ReplicaHarness replica(1, Key(9));
  replica.Voters(3);
  replica.Recover(Epoch(5));
  replica.Start();
  replica.Step(raft::LeaderHint{Key(3), Epoch(6)});
  const MonoTime begin = replica.now();
  size_t asked = 0;
  while (replica.now() - begin < Ms(10'000)) {
    const ReplicaKey to = replica.Sent<FetchRequest>().back().to;
    raft::FetchResponse response;
    response.header = to == Key(3)
                          ? raft::ResponseHeader{RaftError::kFencedLeaderEpoch, Epoch(7), Key(2)}
                          : raft::ResponseHeader{RaftError::kNotLeaderOrFollower, Epoch(6), Key(3)};
    ++asked;
    ASSERT_LT(asked, 1'000u);
    replica.AnswerFetch(response);
    while (replica.deadline() != kNever && replica.deadline() <= replica.now()) {
      replica.FireTimer();
    }
    if (replica.deadline() != kNever) replica.FireTimer();
  }
  EXPECT_EQ(replica.epoch(), Epoch(7));
  EXPECT_EQ(replica.leader(), Key(2));
  EXPECT_LE(asked, 200u) << "20 per second";
}

TEST(CasesLog, BUG081_AFormerLeaderDoesNotAnnounceItselfAfterARestart) {
  ReplicaHarness replica;
  Lead(replica);
  replica.Fetch(2, 7, 5);
  ASSERT_TRUE(replica.replica().is_ready_leader());
  replica.Forget();
  replica.Restart();
  EXPECT_EQ(replica.role(), RoleKind::kResigned);
  EXPECT_FALSE(replica.replica().is_ready_leader());
  for (const auto& change : replica.Effects<raft::LeadershipChanged>()) {
    EXPECT_FALSE(change.ready);
  }
}

}  // namespace
}  // namespace quorum::conformance
