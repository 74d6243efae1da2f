// Group B of the conformance list: standard votes (protocol.md 1.1, 2.3).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "service/base/ids.h"
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

// A voter of three whose log holds epoch 1 at 0-2 and epoch 3 at 3-4.
ReplicaHarness VoterWithLog() {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(3));
  replica.RecoverLog({{1, 3}, {3, 2}});
  return replica;
}

TEST(ConformanceVotes, C016_VoteIsDurableBeforeItsAnswer) {
  ReplicaHarness replica = VoterWithLog();
  replica.Start();
  replica.Advance(Ms(500));
  const MonoTime drawn_before = replica.deadline();
  replica.HoldWrites();
  EXPECT_TRUE(replica.RequestVote(2, Epoch(4), End(5, 3)).granted);
  EXPECT_FALSE(replica.LastReplyHasLeft());
  EXPECT_EQ(replica.synced_election().voted, std::nullopt);
  replica.CompleteWrites();
  EXPECT_TRUE(replica.LastReplyHasLeft());
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(4), std::nullopt, Key(2)}));
  EXPECT_NE(replica.deadline(), drawn_before);
  EXPECT_GE(replica.Until(replica.deadline()), replica.config().election_timeout);
}

// 8.7: compared with the end in memory, never the durable one. What is not synced yet may have been
// acknowledged by the time that it counts.
TEST(ConformanceVotes, C016_VoteIsJudgedByTheEndInMemory) {
  ReplicaHarness replica = VoterWithLog();
  replica.FollowAndFetch(2, Epoch(3));
  replica.HoldWrites();
  replica.AnswerFetch(BatchesFrom(5, {{3, 1}}));
  ASSERT_EQ(replica.log_end(), Offset(6));
  EXPECT_FALSE(replica.RequestVote(3, Epoch(4), End(5, 3)).granted);
  EXPECT_TRUE(replica.RequestVote(2, Epoch(4), End(6, 3)).granted);
}

TEST(ConformanceVotes, C017_OneVotePerEpochRepeatedOnlyToItsHolder) {
  ReplicaHarness replica = VoterWithLog();
  replica.Start();
  EXPECT_TRUE(replica.RequestVote(2, Epoch(4), End(5, 3)).granted);
  EXPECT_FALSE(replica.RequestVote(3, Epoch(4), End(9, 3)).granted);
  EXPECT_FALSE(
      replica.RequestVote(raft::VoteRequest{OtherDirectory(2), Key(1), Epoch(4), End(9, 3), false})
          .granted);
  // The log is not looked at again.
  EXPECT_TRUE(replica.RequestVote(2, Epoch(4), End(1, 1)).granted);
  EXPECT_EQ(replica.voted(), Key(2));
}

TEST(ConformanceVotes, C018_OlderLogIsRefusedButItsEpochAdopted) {
  for (const OffsetAndEpoch older : {End(9, 2), End(4, 3), End(0, 0)}) {
    ReplicaHarness replica = VoterWithLog();
    replica.Start();
    const raft::VoteResponse answer = replica.RequestVote(2, Epoch(7), older);
    EXPECT_FALSE(answer.granted);
    EXPECT_EQ(answer.header.error, RaftError::kNone);
    EXPECT_EQ(answer.header.epoch, Epoch(7));
    EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(7), std::nullopt, std::nullopt}));
  }
}

TEST(ConformanceVotes, C019_HigherLastEpochBeatsLength) {
  ReplicaHarness replica = VoterWithLog();
  replica.Start();
  EXPECT_TRUE(replica.RequestVote(2, Epoch(5), End(1, 4)).granted);
}

TEST(ConformanceVotes, C020_LowerEpochIsFenced) {
  ReplicaHarness replica = VoterWithLog();
  replica.Follow(3, Epoch(6));
  replica.Forget();
  const raft::VoteResponse answer = replica.RequestVote(2, Epoch(5), End(9, 4));
  EXPECT_FALSE(answer.granted);
  EXPECT_EQ(answer.header.error, RaftError::kFencedLeaderEpoch);
  EXPECT_EQ(answer.header.epoch, Epoch(6));
  EXPECT_EQ(answer.header.leader, Key(3));
  EXPECT_EQ(replica.role(), RoleKind::kFollower);
  EXPECT_THAT(replica.Effects<raft::PersistElection>(), IsEmpty());
}

// 8.6: epochs that no honest replica can have reached are refused as well.
TEST(ConformanceVotes, C021_MalformedRequestAdoptsNothing) {
  constexpr int64_t kJump = int64_t{1} << 32;
  const raft::VoteRequest good{Key(2), Key(1), Epoch(9), End(5, 3), false};
  std::vector<raft::VoteRequest> malformed(9, good);
  malformed[0].log_end = End(-1, 3);
  malformed[1].log_end = End(5, -1);
  malformed[2].epoch = Epoch(-1);
  malformed[3].log_end = End(5, 9);
  malformed[4].log_end = End(5, 10);
  malformed[5].epoch = kEpochLimit;
  malformed[6].epoch = Epoch(3 + kJump + 1);
  malformed[7].candidate = ReplicaKey{NodeId(2), DirectoryId{}};
  malformed[8].candidate = Key(1);
  for (size_t i = 0; i < malformed.size(); ++i) {
    ReplicaHarness replica = VoterWithLog();
    replica.Start();
    const raft::VoteResponse answer = replica.RequestVote(malformed[i]);
    EXPECT_EQ(answer.header.error, RaftError::kInvalidRequest) << i;
    EXPECT_FALSE(answer.granted) << i;
    EXPECT_EQ(replica.epoch(), Epoch(3)) << i;
    EXPECT_EQ(replica.election_writes(), 1u) << i;
  }
  ReplicaHarness replica = VoterWithLog();
  replica.Start();
  EXPECT_TRUE(replica.RequestVote(2, Epoch(3 + kJump), End(5, 3)).granted);
}

TEST(ConformanceVotes, C022_WrongVoterKeyIsRefusedAfterAdoption) {
  for (const ReplicaKey& meant : {Key(3), OtherDirectory(1)}) {
    ReplicaHarness replica = VoterWithLog();
    replica.Start();
    const raft::VoteResponse answer =
        replica.RequestVote(raft::VoteRequest{Key(2), meant, Epoch(8), End(9, 7), false});
    EXPECT_EQ(answer.header.error, RaftError::kInvalidVoterKey);
    EXPECT_FALSE(answer.granted);
    EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(8), std::nullopt, std::nullopt}));
  }
}

TEST(ConformanceVotes, C023_LeaderRefusesInItsEpochAndStepsDownForAHigherOne) {
  ReplicaHarness replica = VoterWithLog();
  replica.BecomeLeader(Epoch(4));
  EXPECT_FALSE(replica.RequestVote(2, Epoch(4), End(9, 3)).granted);
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
  EXPECT_TRUE(replica.RequestVote(2, Epoch(5), End(9, 4)).granted);
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_EQ(replica.epoch(), Epoch(5));
}

TEST(ConformanceVotes, C024_CandidateRefusesInItsEpochAndJudgesAHigherOne) {
  ReplicaHarness replica = VoterWithLog();
  replica.BecomeCandidate();
  ASSERT_EQ(replica.epoch(), Epoch(4));
  EXPECT_FALSE(replica.RequestVote(2, Epoch(4), End(9, 3)).granted);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
  EXPECT_FALSE(replica.RequestVote(2, Epoch(5), End(4, 3)).granted);
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_TRUE(replica.RequestVote(3, Epoch(5), End(5, 3)).granted);
}

TEST(ConformanceVotes, C025_FollowerRefusesInItsEpochAlthoughItNeverVoted) {
  ReplicaHarness replica = VoterWithLog();
  replica.Follow(2, Epoch(4));
  ASSERT_EQ(replica.voted(), std::nullopt);
  EXPECT_FALSE(replica.RequestVote(3, Epoch(4), End(9, 3)).granted);
  EXPECT_FALSE(replica.RequestVote(2, Epoch(4), End(9, 3)).granted);
  EXPECT_EQ(replica.role(), RoleKind::kFollower);
}

TEST(ConformanceVotes, C026_ResignedRefusesInItsEpochAndVotesInAHigherOne) {
  for (const bool shutting_down : {false, true}) {
    ReplicaHarness replica = VoterWithLog();
    replica.BecomeLeader(Epoch(4));
    if (shutting_down) {
      replica.Step(raft::ShutdownRequested{});
    } else {
      replica.Step(raft::ResignRequested{Epoch(4), std::nullopt});
    }
    ASSERT_EQ(replica.role(), RoleKind::kResigned);
    EXPECT_FALSE(replica.RequestVote(2, Epoch(4), End(9, 3)).granted);
    EXPECT_EQ(replica.role(), RoleKind::kResigned);
    EXPECT_TRUE(replica.RequestVote(2, Epoch(5), End(9, 4)).granted);
  }
}

TEST(ConformanceVotes, C027_StrangersAreJudgedAndObserversVote) {
  ReplicaHarness replica = VoterWithLog();
  replica.Start();
  EXPECT_TRUE(replica.RequestVote(7, Epoch(4), End(5, 3)).granted);

  ReplicaHarness observer(1, Key(9));
  observer.Voters(3);
  observer.Start();
  EXPECT_TRUE(observer.RequestVote(2, Epoch(4), End(0, 0)).granted);
  EXPECT_EQ(observer.synced_election().voted, Key(2));
  EXPECT_FALSE(observer.RequestVote(3, Epoch(4), End(0, 0)).granted);
}

TEST(ConformanceVotes, C028_ObserverNeverCampaigns) {
  ReplicaHarness observer(1, Key(9));
  observer.Voters(3);
  observer.Start();
  observer.Advance(Ms(60'000));
  observer.Step(raft::TimerFired{});
  EXPECT_EQ(observer.role(), RoleKind::kUnattached);
  observer.FollowAndFetch(2, Epoch(4));
  observer.Advance(Ms(60'000));
  observer.Step(raft::TimerFired{});
  EXPECT_EQ(observer.role(), RoleKind::kFollower);
  EXPECT_THAT(observer.Sent<raft::VoteRequest>(), IsEmpty());
}

TEST(ConformanceVotes, C029_ProspectiveVotesAndKeepsTheVote) {
  ReplicaHarness voter;
  voter.Voters(3);
  voter.Recover(Epoch(3));
  voter.RecoverLog({{1, 3}});
  voter.BecomeProspective();
  EXPECT_TRUE(voter.RequestVote(2, Epoch(3), End(3, 1)).granted);
  EXPECT_EQ(voter.role(), RoleKind::kProspective);
  EXPECT_EQ(voter.synced_election().voted, Key(2));
  voter.RefuseAll();
  EXPECT_EQ(voter.role(), RoleKind::kUnattached);
  EXPECT_EQ(voter.epoch(), Epoch(3));
  EXPECT_EQ(voter.voted(), Key(2));
}

TEST(ConformanceVotes, C029_VoteOfAProspectiveSurvivesFallingBackToItsLeader) {
  ReplicaHarness voter;
  voter.Voters(3);
  voter.Recover(Epoch(3), Key(3), Key(2));
  voter.BecomeProspective();
  voter.RefuseAll();
  EXPECT_EQ(voter.role(), RoleKind::kFollower);
  EXPECT_EQ(voter.synced_election(), (ElectionState{Epoch(3), Key(3), Key(2)}));
}

}  // namespace
}  // namespace quorum::conformance
