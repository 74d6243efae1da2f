// Bugs that other Raft systems shipped in their elections and in what an election must remember,
// each cut down to one replica of ours and named by its number (README.md says whose numbers). The
// conformance groups B to G hold the rules; here stand the ways they were broken.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/raft/effect.h"
#include "service/raft/errors.h"
#include "service/raft/messages.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using raft::RaftError;
using raft::RoleKind;
using testing::IsEmpty;
using testing::SizeIs;

ReplicaHarness VoterInEpoch(int64_t epoch, int voters = 3, uint64_t seed = 1) {
  ReplicaHarness replica(seed);
  replica.Voters(voters);
  replica.Recover(Epoch(epoch));
  return replica;
}

TEST(ElectionCases, Bug001_OnlyARealFetchMakesAFollowerRefusePolls) {
  ReplicaHarness replica = VoterInEpoch(3);
  replica.Follow(2, Epoch(4));
  EXPECT_TRUE(replica.RequestPreVote(3, Epoch(4), End(0, 0)).granted);
  replica.AnswerFetch();
  EXPECT_FALSE(replica.RequestPreVote(3, Epoch(4), End(0, 0)).granted);
}

TEST(ElectionCases, Bug003_RefusalTeachesTheHigherEpoch) {
  ReplicaHarness replica = VoterInEpoch(5);
  replica.BecomeProspective();
  replica.AnswerVote(2, {RaftError::kFencedLeaderEpoch, Epoch(7), std::nullopt}, false);
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  replica.Forget();
  replica.AdvanceUntil(RoleKind::kProspective, Ms(2'000));
  ASSERT_THAT(replica.Sent<raft::VoteRequest>(), SizeIs(2));
  EXPECT_EQ(replica.Sent<raft::VoteRequest>()[0].message.epoch, Epoch(7));
}

// Answers come before, after and long after the request timeout, in changing order.
TEST(ElectionCases, Bug006_EveryOutcomeLeavesATimerArmed) {
  ReplicaHarness replica = VoterInEpoch(0);
  replica.config().request_timeout = Ms(200);
  replica.Start();
  const Duration limit = 2 * replica.config().election_timeout + Ms(20);
  Prng prng(7);
  for (int round = 0; round < 50; ++round) {
    replica.AdvanceUntil(RoleKind::kProspective, limit);
    const Duration delays[] = {Ms(180), Ms(220), Ms(400)};
    for (int answers = 0; answers < 3; ++answers) {
      replica.Advance(delays[prng.Below(3)]);
      if (replica.role() != RoleKind::kProspective && replica.role() != RoleKind::kCandidate) break;
      const auto voter = static_cast<int32_t>(2 + prng.Below(2));
      const bool granted = replica.role() == RoleKind::kProspective && prng.Chance(500'000);
      replica.AnswerVote(voter, replica.HeaderNow(), granted);
    }
  }
  replica.Forget();
  replica.Advance(limit);
  EXPECT_FALSE(replica.Sent<raft::VoteRequest>().empty());
}

TEST(ElectionCases, Bug008_GrantingAVoteRedrawsTheTimer) {
  Prng prng(8);
  for (uint64_t trial = 1; trial <= 1'000; ++trial) {
    ReplicaHarness replica = VoterInEpoch(3, 3, trial);
    replica.Start();
    const int64_t left = replica.Until(replica.deadline()).count();
    replica.Advance(Duration(static_cast<int64_t>(prng.Below(static_cast<uint64_t>(left)))));
    ASSERT_TRUE(replica.RequestVote(2, Epoch(4), End(0, 0)).granted);
    replica.Advance(replica.config().election_timeout - Ms(1));
    ASSERT_EQ(replica.role(), RoleKind::kUnattached) << trial;
  }
}

TEST(ElectionCases, Bug010_EvenGroupKnowsWhenItHasLost) {
  ReplicaHarness replica = VoterInEpoch(3, 4);
  replica.BecomeProspective();
  replica.Grant(2);
  replica.Refuse(3);
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
  replica.Refuse(4);
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
}

TEST(ElectionCases, Bug011_OneOpenVoteRequestPerVoter) {
  ReplicaHarness replica = VoterInEpoch(3);
  replica.config().request_timeout = Ms(500);
  replica.BecomeCandidate();
  replica.Forget();
  replica.Advance(Ms(490));
  EXPECT_THAT(replica.Sent<raft::VoteRequest>(), IsEmpty());
  replica.Advance(Ms(10));
  EXPECT_THAT(replica.Sent<raft::VoteRequest>(), SizeIs(2));
}

TEST(ElectionCases, Bug011_FloodOfEpochsBehindASlowDiskIsOneWriteAndOneAnswer) {
  ReplicaHarness replica = VoterInEpoch(3);
  replica.Start();
  replica.HoldWrites();
  for (int64_t epoch = 4; epoch < 1'004; ++epoch) {
    replica.RequestVote(2, Epoch(epoch), End(0, 0));
    EXPECT_FALSE(replica.LastReplyHasLeft());
  }
  replica.CompleteWrites();
  EXPECT_TRUE(replica.LastReplyHasLeft());
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(1'003), std::nullopt, Key(2)}));
}

TEST(ElectionCases, Bug012_IsolatedVoterRaisesNoEpoch) {
  ReplicaHarness replica = VoterInEpoch(3);
  replica.FollowAndFetch(2, Epoch(4));
  replica.Advance(Ms(60'000));
  EXPECT_EQ(replica.epoch(), Epoch(4));
  EXPECT_FALSE(replica.Sent<raft::VoteRequest>().empty());
}

TEST(ElectionCases, Bug014_PollByTheLeaderItselfIsJudgedOnTheLog) {
  ReplicaHarness replica = VoterInEpoch(3);
  replica.RecoverLog({{1, 5}});
  replica.FollowAndFetch(2, Epoch(4));
  EXPECT_FALSE(replica.RequestPreVote(3, Epoch(4), End(5, 1)).granted);
  EXPECT_FALSE(replica.RequestPreVote(2, Epoch(4), End(4, 1)).granted);
  EXPECT_TRUE(replica.RequestPreVote(2, Epoch(4), End(5, 1)).granted);
  EXPECT_TRUE(replica.RequestPreVote(2, Epoch(5), End(5, 1)).granted);
}

TEST(ElectionCases, Bug015_RefusedVotesDoNotPostponeThePoll) {
  ReplicaHarness replica = VoterInEpoch(3);
  replica.RecoverLog({{1, 5}});
  replica.Start();
  const MonoTime deadline = replica.deadline();
  int64_t epoch = 4;
  while (replica.now() + Ms(200) < deadline) {
    replica.Advance(Ms(200));
    ASSERT_FALSE(replica.RequestVote(2, Epoch(epoch++), End(4, 1)).granted);
  }
  replica.AdvanceTo(deadline);
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
}

TEST(ElectionCases, Bug016_CandidateIgnoresItsFormerEpoch) {
  ReplicaHarness replica = VoterInEpoch(3);
  replica.FollowAndFetch(2, Epoch(4));
  replica.BecomeCandidate();
  ASSERT_EQ(replica.epoch(), Epoch(5));
  EXPECT_EQ(replica.Begin(2, Epoch(4)).header.error, RaftError::kFencedLeaderEpoch);
  EXPECT_EQ(replica.End(2, Epoch(4), {Key(1)}).header.error, RaftError::kFencedLeaderEpoch);
  raft::FetchResponse late;
  late.header = {RaftError::kNone, Epoch(4), Key(2)};
  replica.AnswerFetch(late);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(5), std::nullopt, Key(1)}));
  EXPECT_FALSE(replica.RequestVote(3, Epoch(5), End(9, 4)).granted);
}

TEST(ElectionCases, Bug017_AnswerCarriesTheAdoptedEpoch) {
  ReplicaHarness replica = VoterInEpoch(4);
  replica.Start();
  const raft::VoteResponse answer = replica.RequestVote(2, Epoch(6), End(0, 0));
  EXPECT_TRUE(answer.granted);
  EXPECT_EQ(answer.header.epoch, Epoch(6));
}

TEST(ElectionCases, Bug017_NoGrantForAnotherEpochThanTheRequests) {
  Prng prng(17);
  for (uint64_t trial = 1; trial <= 500; ++trial) {
    ReplicaHarness replica = VoterInEpoch(5, 3, trial);
    replica.Start();
    replica.HoldWrites();
    for (int i = 0; i < 20; ++i) {
      const Epoch epoch(static_cast<int64_t>(6 + prng.Below(2)));
      const auto from = static_cast<int32_t>(2 + prng.Below(2));
      const raft::VoteResponse answer = replica.RequestVote(from, epoch, End(0, 0));
      ASSERT_TRUE(!answer.granted || answer.header.epoch == epoch);
      if (prng.Chance(200'000)) replica.CompleteWrites();
    }
  }
}

TEST(ElectionCases, Bug018_StartIsNoContactWithTheLeader) {
  ReplicaHarness replica = VoterInEpoch(5);
  replica.Recover(Epoch(5), Key(3), Key(3));
  replica.Start();
  ASSERT_EQ(replica.role(), RoleKind::kFollower);
  EXPECT_TRUE(replica.RequestPreVote(2, Epoch(5), End(0, 0)).granted);
  replica.AdvanceUntil(RoleKind::kProspective, Ms(2'510));
}

TEST(ElectionCases, Bug020_RepeatedEntriesCountAtTheirFirstPlace) {
  ReplicaHarness replica = VoterInEpoch(3);
  replica.FollowAndFetch(2, Epoch(4));
  replica.End(2, Epoch(4), {Key(1), Key(3), Key(1), Key(1)});
  EXPECT_LE(replica.deadline(), replica.now());
}

// The leader can send but not receive: its Begins arrive, no Fetch is answered.
TEST(ElectionCases, Bug021_BeginsAloneKeepNoLeader) {
  ReplicaHarness replica = VoterInEpoch(3);
  replica.FollowAndFetch(2, Epoch(4));
  const MonoTime start = replica.now();
  while (replica.role() == RoleKind::kFollower) {
    ASSERT_LT(replica.now() - start, Ms(2'600));
    replica.FailRequest<raft::FetchRequest>(replica.SentTo<raft::FetchRequest>().back().id.value());
    replica.Advance(Ms(500));
    if (replica.role() == RoleKind::kFollower) replica.Begin(2, Epoch(4));
  }
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
}

TEST(ElectionCases, Bug023_RestartedLeaderGivesUpItsEpoch) {
  ReplicaHarness replica = VoterInEpoch(4);
  replica.BecomeLeader(Epoch(5));
  const Offset synced = replica.log_end();
  replica.HoldWrites();
  replica.Append(3);
  replica.Restart();
  EXPECT_EQ(replica.role(), RoleKind::kResigned);
  EXPECT_EQ(replica.log_end(), synced);
  replica.ReleaseWrites();
  replica.BecomeCandidate();
  EXPECT_GT(replica.epoch(), Epoch(5));
}

TEST(ElectionCases, Bug024_RestartedLeaderVotesForNobodyInItsEpoch) {
  ReplicaHarness replica = VoterInEpoch(4);
  replica.BecomeLeader(Epoch(5));
  replica.Restart();
  EXPECT_FALSE(replica.RequestVote(3, Epoch(5), End(99, 4)).granted);
  EXPECT_TRUE(replica.RequestVote(3, Epoch(6), End(99, 5)).granted);
}

TEST(ElectionCases, Bug025_VoteSurvivesFollowingAndARestart) {
  ReplicaHarness replica = VoterInEpoch(5);
  replica.Start();
  ASSERT_TRUE(replica.RequestVote(2, Epoch(6), End(0, 0)).granted);
  replica.Begin(2, Epoch(6));
  replica.Restart();
  EXPECT_EQ(replica.voted(), Key(2));
  EXPECT_FALSE(replica.RequestVote(3, Epoch(6), End(9, 5)).granted);
}

TEST(ElectionCases, Bug025_VoteSurvivesAPollAndARestart) {
  ReplicaHarness replica = VoterInEpoch(5);
  replica.Start();
  ASSERT_TRUE(replica.RequestVote(2, Epoch(6), End(0, 0)).granted);
  replica.BecomeProspective();
  EXPECT_FALSE(replica.RequestVote(3, Epoch(6), End(9, 5)).granted);
  replica.Restart();
  EXPECT_FALSE(replica.RequestVote(3, Epoch(6), End(9, 5)).granted);
}

TEST(ElectionCases, Bug025_SelfVoteOfALoserSurvivesARestart) {
  ReplicaHarness replica = VoterInEpoch(5);
  replica.BecomeCandidate();
  replica.RefuseAll();
  replica.Begin(2, Epoch(6));
  EXPECT_EQ(replica.voted(), Key(1));
  replica.Restart();
  EXPECT_EQ(replica.voted(), Key(1));
  EXPECT_FALSE(replica.RequestVote(3, Epoch(6), End(9, 5)).granted);
}

TEST(ElectionCases, Bug032_HigherEpochInAnAnswerEndsLeadershipAndCandidacy) {
  ReplicaHarness leader = VoterInEpoch(3);
  leader.BecomeLeader(Epoch(4));
  leader.AnswerBegin(2, {RaftError::kFencedLeaderEpoch, Epoch(7), std::nullopt});
  EXPECT_EQ(leader.role(), RoleKind::kUnattached);
  EXPECT_EQ(leader.synced_election(), (ElectionState{Epoch(7), std::nullopt, std::nullopt}));

  ReplicaHarness candidate = VoterInEpoch(3);
  candidate.BecomeCandidate();
  candidate.AnswerVote(2, {RaftError::kFencedLeaderEpoch, Epoch(8), Key(3)}, false);
  EXPECT_EQ(candidate.role(), RoleKind::kFollower);
  EXPECT_EQ(candidate.epoch(), Epoch(8));

  ReplicaHarness resigned = VoterInEpoch(3);
  resigned.BecomeLeader(Epoch(4));
  resigned.Step(raft::ResignRequested{Epoch(4), std::nullopt});
  resigned.AnswerEnd(2, {RaftError::kFencedLeaderEpoch, Epoch(6), Key(3)});
  EXPECT_EQ(resigned.role(), RoleKind::kFollower);
  EXPECT_EQ(resigned.epoch(), Epoch(6));
}

TEST(ElectionCases, Bug033_OneMessageCannotUseUpTheEpochs) {
  ReplicaHarness replica = VoterInEpoch(3);
  replica.Start();
  for (const Epoch epoch :
       {kEpochLimit, Epoch(INT64_MAX), Epoch(-1), Epoch(INT64_MIN), Epoch(3 + kEpochJumpMax + 1)}) {
    EXPECT_EQ(replica.RequestVote(2, epoch, End(0, 0)).header.error, RaftError::kInvalidRequest);
    EXPECT_EQ(replica.Begin(2, epoch).header.error, RaftError::kInvalidRequest);
    EXPECT_EQ(replica.End(2, epoch, {}).header.error, RaftError::kInvalidRequest);
    replica.Step(raft::LeaderHint{Key(2), epoch});
  }
  EXPECT_EQ(replica.epoch(), Epoch(3));
  replica.BecomeLeader(Epoch(4));
  replica.AnswerBegin(2, {RaftError::kFencedLeaderEpoch, kEpochLimit, std::nullopt});
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
}

TEST(ElectionCases, Bug033_LastEpochIsNotPassed) {
  const Epoch last(kEpochLimit.value() - 1);
  ReplicaHarness replica = VoterInEpoch(last.value());
  replica.BecomeProspective();
  replica.GrantAll();
  EXPECT_EQ(replica.epoch(), last);
  EXPECT_TRUE(replica.quarantined());

  ReplicaHarness resigned = VoterInEpoch(last.value());
  resigned.Recover(last, Key(1));
  resigned.Start();
  resigned.Advance(Ms(5'000));
  EXPECT_EQ(resigned.epoch(), last);
  EXPECT_TRUE(resigned.quarantined());

  ReplicaHarness sole = VoterInEpoch(last.value(), 1);
  sole.Start();
  EXPECT_EQ(sole.epoch(), last);
  EXPECT_TRUE(sole.quarantined());
}

TEST(ElectionCases, Bug035_NothingIsGrantedOrAskedWhileTheWriteHangs) {
  ReplicaHarness voter = VoterInEpoch(3);
  voter.Start();
  voter.HoldWrites();
  voter.RequestVote(2, Epoch(4), End(0, 0));
  voter.Advance(Ms(900));
  EXPECT_FALSE(voter.LastReplyHasLeft());
  voter.Restart();
  EXPECT_EQ(voter.epoch(), Epoch(3));

  ReplicaHarness candidate = VoterInEpoch(3);
  candidate.BecomeProspective();
  candidate.HoldWrites();
  candidate.Forget();
  candidate.Grant(2);
  ASSERT_EQ(candidate.role(), RoleKind::kCandidate);
  candidate.Advance(Ms(900));
  EXPECT_THAT(candidate.Sent<raft::VoteRequest>(), IsEmpty());
}

}  // namespace
}  // namespace quorum::conformance
