// Group F of the conformance list: EndQuorumEpoch, resignation, shutdown
// (protocol.md 1.3, 2.6, 3.7).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
using testing::ElementsAre;
using testing::IsEmpty;

ReplicaHarness VoterInEpochThree(int voters = 3) {
  ReplicaHarness replica;
  replica.Voters(voters);
  replica.Recover(Epoch(3));
  return replica;
}

// Leads epoch 4; replica 2 holds everything, replica 3 one record less, the others are unknown.
ReplicaHarness LeaderWithFollowers(int voters = 3) {
  ReplicaHarness replica = VoterInEpochThree(voters);
  replica.config().request_timeout = Ms(300);
  replica.BecomeLeader(Epoch(4));
  replica.Append(1);
  const int64_t end = replica.log_end().value();
  replica.Fetch(3, end - 1, 4);
  replica.Fetch(2, end, 4);
  replica.Forget();
  return replica;
}

TEST(ConformanceEnd, C060_OlderEpochIsFenced) {
  ReplicaHarness follower = VoterInEpochThree();
  follower.FollowAndFetch(2, Epoch(4));
  const MonoTime deadline = follower.deadline();
  EXPECT_EQ(follower.End(2, Epoch(3), {Key(1)}).header.error, RaftError::kFencedLeaderEpoch);
  EXPECT_EQ(follower.role(), RoleKind::kFollower);
  EXPECT_EQ(follower.deadline(), deadline);

  ReplicaHarness candidate = VoterInEpochThree();
  candidate.BecomeCandidate();
  EXPECT_EQ(candidate.End(2, Epoch(3), {Key(1)}).header.error, RaftError::kFencedLeaderEpoch);
  EXPECT_EQ(candidate.role(), RoleKind::kCandidate);

  ReplicaHarness leader = VoterInEpochThree();
  leader.BecomeLeader(Epoch(4));
  EXPECT_EQ(leader.End(2, Epoch(3), {Key(1)}).header.error, RaftError::kFencedLeaderEpoch);
  EXPECT_EQ(leader.role(), RoleKind::kLeader);
}

TEST(ConformanceEnd, C061_UnattachedFollowsTheResigningLeaderUntilItsTurn) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.Start();
  EXPECT_EQ(replica.End(2, Epoch(3), {Key(3), Key(1)}).header.error, RaftError::kNone);
  EXPECT_EQ(replica.role(), RoleKind::kFollower);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(3), Key(2), std::nullopt}));
  EXPECT_GT(replica.Until(replica.deadline()), Duration::zero());
  EXPECT_LE(replica.Until(replica.deadline()), replica.config().election_backoff_max);
  replica.FireTimer();
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
}

TEST(ConformanceEnd, C062_FirstSuccessorPollsAtOnce) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.FollowAndFetch(2, Epoch(4));
  replica.End(2, Epoch(4), {Key(1), Key(3)});
  EXPECT_LE(replica.deadline(), replica.now());
  replica.FireTimer();
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(4), Key(2), std::nullopt}));
}

// A successor further back supports the first one, although it had fetched (3.7, ours).
TEST(ConformanceEnd, C062_OtherSuccessorsSupportTheFirst) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.FollowAndFetch(2, Epoch(4));
  EXPECT_FALSE(replica.RequestPreVote(3, Epoch(4), End(0, 0)).granted);
  replica.End(2, Epoch(4), {Key(3), Key(1)});
  EXPECT_TRUE(replica.RequestPreVote(3, Epoch(4), End(0, 0)).granted);
}

// An answer that the leader sent before it resigned, and that comes after its End, takes no turn
// away.
TEST(ConformanceEnd, C062_LateAnswerOfTheResignedLeaderChangesNoTurn) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.FollowAndFetch(2, Epoch(4));
  replica.End(2, Epoch(4), {Key(3), Key(1)});
  const MonoTime turn = replica.deadline();
  replica.AnswerFetch(BatchesFrom(0, {{4, 1}}));
  EXPECT_EQ(replica.log_end(), Offset(1));
  EXPECT_EQ(replica.deadline(), turn);
  EXPECT_TRUE(replica.RequestPreVote(3, Epoch(4), End(1, 4)).granted);
}

// When replica 1 polls at position `position` of a list of `count`.
Duration TimeToPoll(size_t position, size_t count, uint64_t seed) {
  ReplicaHarness replica(seed);
  replica.Voters(3);
  replica.FollowAndFetch(2, Epoch(4));
  std::vector<ReplicaKey> successors;
  for (size_t i = 0; i < count; ++i) {
    successors.push_back(i == position ? Key(1) : Key(static_cast<int32_t>(100 + i)));
  }
  const MonoTime start = replica.now();
  replica.End(2, Epoch(4), successors);
  replica.AdvanceUntil(RoleKind::kProspective, Ms(5'000));
  return replica.now() - start;
}

TEST(ConformanceEnd, C063_BackOffsRiseWithThePosition) {
  for (const size_t count : {size_t{2}, size_t{3}, size_t{5}, size_t{40}}) {
    Duration before = Ms(-1);
    for (size_t position = 0; position < count; ++position) {
      const Duration wait = TimeToPoll(position, count, 100 * count + position);
      EXPECT_GT(wait, before) << position << " of " << count;
      EXPECT_LE(wait, Ms(1'000)) << position << " of " << count;
      before = wait;
    }
  }
}

TEST(ConformanceEnd, C063_EmptyListSpreadsTheCandidacies) {
  std::vector<Duration> waits;
  for (uint64_t seed = 1; seed <= 20; ++seed) waits.push_back(TimeToPoll(0, 0, seed));
  std::sort(waits.begin(), waits.end());
  EXPECT_GT(waits.front(), Duration::zero());
  EXPECT_LE(waits.back(), Ms(1'000));
  EXPECT_GT(waits.back() - waits.front(), Ms(300));
}

TEST(ConformanceEnd, C064_EndIsRepeatedOncePerRequestTimeoutToThoseWhoDidNotAnswer) {
  ReplicaHarness replica = LeaderWithFollowers();
  replica.Step(raft::ResignRequested{Epoch(4), std::nullopt});
  EXPECT_THAT(replica.SentTo<raft::EndQuorumEpochRequest>(), ElementsAre(Key(2), Key(3)));
  replica.AnswerEnd(2, {RaftError::kNone, Epoch(4), Key(1)});
  replica.Forget();
  replica.Advance(Ms(290));
  EXPECT_THAT(replica.Sent<raft::EndQuorumEpochRequest>(), IsEmpty());
  replica.Advance(Ms(10));
  EXPECT_THAT(replica.SentTo<raft::EndQuorumEpochRequest>(), ElementsAre(Key(3)));
  replica.Advance(Ms(300));
  EXPECT_THAT(replica.SentTo<raft::EndQuorumEpochRequest>(), ElementsAre(Key(3), Key(3)));
  replica.AnswerEnd(3, {RaftError::kNone, Epoch(4), Key(1)});
  replica.Forget();
  replica.Advance(Ms(300));
  EXPECT_THAT(replica.Sent<raft::EndQuorumEpochRequest>(), IsEmpty());
}

TEST(ConformanceEnd, C065_SuccessorsAreOrderedByWhatTheyHold) {
  ReplicaHarness replica = LeaderWithFollowers(5);
  replica.Step(raft::ResignRequested{Epoch(4), std::nullopt});
  const auto notices = replica.Sent<raft::EndQuorumEpochRequest>();
  ASSERT_EQ(notices.size(), 4u);
  for (const auto& notice : notices) {
    EXPECT_THAT(notice.message.preferred_successors, ElementsAre(Key(2), Key(3), Key(4), Key(5)));
  }
}

TEST(ConformanceEnd, C065_LongerLogsComeFirstAndAChosenOneBeforeAll) {
  ReplicaHarness replica = VoterInEpochThree(5);
  replica.BecomeLeader(Epoch(4));
  replica.Append(2);
  const int64_t end = replica.log_end().value();
  replica.Fetch(5, end, 4);
  replica.Fetch(4, end - 2, 4);
  replica.Forget();
  replica.Step(raft::ResignRequested{Epoch(4), Key(3)});
  EXPECT_THAT(replica.Sent<raft::EndQuorumEpochRequest>()[0].message.preferred_successors,
              ElementsAre(Key(3), Key(5), Key(4), Key(2)));
}

// The event has no caller to be told of a wrong argument: whoever asks compares epochs first. What
// counts is that nothing happens.
TEST(ConformanceEnd, C066_ResigningAnotherEpochDoesNothing) {
  ReplicaHarness leader = LeaderWithFollowers();
  for (const int64_t epoch : {3, 5}) {
    leader.Step(raft::ResignRequested{Epoch(epoch), std::nullopt});
    EXPECT_EQ(leader.role(), RoleKind::kLeader);
  }
  ReplicaHarness follower = VoterInEpochThree();
  follower.Follow(2, Epoch(4));
  follower.Step(raft::ResignRequested{Epoch(4), std::nullopt});
  EXPECT_EQ(follower.role(), RoleKind::kFollower);
}

TEST(ConformanceEnd, C067_ResignedServesNobodyAndNamesItself) {
  ReplicaHarness replica = LeaderWithFollowers();
  const int64_t end = replica.log_end().value();
  const FetchResult parked = replica.Fetch(2, end, 4, replica.high_watermark()->value());
  ASSERT_TRUE(parked.parked);
  replica.Step(raft::ResignRequested{Epoch(4), std::nullopt});
  const FetchResult failed = replica.ResultOf(parked.token);
  ASSERT_TRUE(failed.reply.has_value());
  EXPECT_EQ(failed.reply->header.error, RaftError::kNotLeaderOrFollower);
  const FetchResult refused = replica.Fetch(2, end, 4);
  EXPECT_EQ(refused.reply->header.error, RaftError::kNotLeaderOrFollower);
  EXPECT_EQ(refused.reply->header.leader, Key(1));
  EXPECT_EQ(replica.OutcomeOf(replica.Append(1)), AppendOutcome::kRefused);
  EXPECT_FALSE(replica.Effects<raft::LeadershipChanged>().back().ready);
}

TEST(ConformanceEnd, C068_LeaderLeavesWhenAnotherIsKnown) {
  ReplicaHarness replica = LeaderWithFollowers();
  replica.Step(raft::ShutdownRequested{});
  EXPECT_EQ(replica.role(), RoleKind::kResigned);
  EXPECT_FALSE(replica.replica().ShutdownFinished());
  EXPECT_TRUE(replica.RequestVote(2, Epoch(5), End(9, 4)).granted);
  EXPECT_FALSE(replica.replica().ShutdownFinished());
  replica.Begin(2, Epoch(5));
  EXPECT_TRUE(replica.replica().ShutdownFinished());
}

// 2.6: it stays Resigned, or Unattached, until then; its own candidacy would only delay the others.
TEST(ConformanceEnd, C068_LeavingReplicaDoesNotCampaign) {
  ReplicaHarness resigned = LeaderWithFollowers();
  resigned.Step(raft::ShutdownRequested{});
  resigned.Advance(Ms(10'000));
  EXPECT_EQ(resigned.role(), RoleKind::kResigned);
  EXPECT_EQ(resigned.epoch(), Epoch(4));
  EXPECT_FALSE(resigned.replica().ShutdownFinished());

  ReplicaHarness unattached = LeaderWithFollowers();
  unattached.Step(raft::ShutdownRequested{});
  ASSERT_TRUE(unattached.RequestVote(2, Epoch(5), End(9, 4)).granted);
  unattached.Advance(Ms(10'000));
  EXPECT_EQ(unattached.role(), RoleKind::kUnattached);
  EXPECT_EQ(unattached.epoch(), Epoch(5));
}

TEST(ConformanceEnd, C069_ObserverFollowerAndSoleVoterLeaveAtOnce) {
  ReplicaHarness observer(1, Key(9));
  observer.Voters(3);
  observer.Start();
  observer.Step(raft::ShutdownRequested{});
  EXPECT_TRUE(observer.replica().ShutdownFinished());

  ReplicaHarness follower = VoterInEpochThree();
  follower.Follow(2, Epoch(4));
  follower.Step(raft::ShutdownRequested{});
  EXPECT_TRUE(follower.replica().ShutdownFinished());

  ReplicaHarness sole = VoterInEpochThree(1);
  sole.Start();
  sole.Step(raft::ShutdownRequested{});
  EXPECT_TRUE(sole.replica().ShutdownFinished());
  EXPECT_EQ(sole.role(), RoleKind::kResigned);
}

TEST(ConformanceEnd, C069_CandidateGoesOnAndResignsWhenItWins) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.BecomeCandidate();
  replica.Step(raft::ShutdownRequested{});
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
  EXPECT_FALSE(replica.replica().ShutdownFinished());
  replica.GrantAll();
  EXPECT_EQ(replica.role(), RoleKind::kResigned);
  EXPECT_EQ(replica.SentTo<raft::EndQuorumEpochRequest>(), (std::vector{Key(2), Key(3)}));
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(4), Key(1), std::nullopt}));
}

// A leader that shuts down resigns in the same step, and 0.2 asks "do you lead?" before "are you
// leaving?": so the refusal that peers and clients see is NOT_LEADER, and they look elsewhere.
TEST(ConformanceEnd, C070_LeavingReplicaRefusesWhatNeedsALeaderAndStillVotes) {
  ReplicaHarness replica = LeaderWithFollowers();
  replica.Step(raft::ShutdownRequested{});
  const FetchResult fetch = replica.Fetch(2, 1, 4);
  EXPECT_EQ(fetch.reply->header.error, RaftError::kNotLeaderOrFollower);
  EXPECT_EQ(replica.OutcomeOf(replica.Append(1)), AppendOutcome::kRefused);
  EXPECT_TRUE(replica.RequestVote(3, Epoch(5), End(9, 4)).granted);
  EXPECT_EQ(replica.End(3, Epoch(5), {Key(2)}).header.error, RaftError::kNone);
  EXPECT_EQ(replica.Begin(2, Epoch(6)).header.error, RaftError::kNone);
}

}  // namespace
}  // namespace quorum::conformance
