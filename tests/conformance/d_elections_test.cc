// Group D of the conformance list: elections (protocol.md 2.4, 3.7).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

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
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

ReplicaHarness VoterOf(int voters) {
  ReplicaHarness replica;
  replica.Voters(voters);
  return replica;
}

TEST(ConformanceElections, C044_ElectionTimersLieInTheirRangeAndDiffer) {
  std::set<Duration> drawn;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    ReplicaHarness replica(seed);
    replica.config().timer_grid = Duration::zero();
    replica.Voters(3);
    replica.Start();
    const Duration timeout = replica.Until(replica.deadline());
    EXPECT_GE(timeout, replica.config().election_timeout);
    EXPECT_LT(timeout, 2 * replica.config().election_timeout);
    drawn.insert(timeout);
  }
  EXPECT_GT(drawn.size(), 190u);
}

TEST(ConformanceElections, C044_TimersOfOneReplicaDifferBetweenDraws) {
  ReplicaHarness replica = VoterOf(3);
  replica.config().timer_grid = Duration::zero();
  replica.Start();
  std::set<Duration> drawn;
  for (int64_t epoch = 1; epoch <= 50; ++epoch) {
    ASSERT_TRUE(replica.RequestVote(2, Epoch(epoch), End(0, 0)).granted);
    drawn.insert(replica.Until(replica.deadline()));
  }
  EXPECT_GT(drawn.size(), 45u);
}

TEST(ConformanceElections, C044_ElectionTimeoutOfZeroMeansZero) {
  ReplicaHarness replica = VoterOf(3);
  replica.config().election_timeout = Duration::zero();
  replica.Start();
  EXPECT_EQ(replica.deadline(), replica.now());
}

TEST(ConformanceElections, C045_FetchTimerLeadsToAPollInTheSameEpoch) {
  ReplicaHarness replica = VoterOf(3);
  replica.FollowAndFetch(2, Epoch(4));
  const MonoTime deadline = replica.deadline();
  replica.AdvanceTo(deadline - Ms(1));
  EXPECT_EQ(replica.role(), RoleKind::kFollower);
  replica.FireTimer();
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(4), Key(2), std::nullopt}));
}

TEST(ConformanceElections, C046_LostCandidateWaitsOutItsTimerInSilence) {
  ReplicaHarness replica = VoterOf(3);
  replica.config().request_timeout = Ms(100);
  replica.BecomeCandidate();
  replica.RefuseAll();
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
  EXPECT_GT(replica.Until(replica.deadline()), Ms(500));
  replica.Forget();
  replica.AdvanceTo(replica.deadline() - Ms(1));
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
  EXPECT_THAT(replica.Sent<raft::VoteRequest>(), IsEmpty());
  replica.FireTimer();
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
  EXPECT_EQ(replica.epoch(), Epoch(1));
}

TEST(ConformanceElections, C047_UnansweredRequestIsSentAgainAndItsLateAnswerIgnored) {
  ReplicaHarness replica = VoterOf(3);
  replica.config().request_timeout = Ms(200);
  replica.BecomeCandidate();
  const auto first = replica.Sent<raft::VoteRequest>();
  replica.Refuse(3);
  replica.Forget();
  replica.Advance(Ms(190));
  EXPECT_THAT(replica.Sent<raft::VoteRequest>(), IsEmpty());
  replica.Advance(Ms(10));
  EXPECT_THAT(replica.SentTo<raft::VoteRequest>(), ElementsAre(Key(2)));
  replica.Step(raft::VoteResponded{first[2].correlation, {replica.HeaderNow(), true}});
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
  replica.Grant(2);
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
}

// A vote is final; only a poll asks again (8.7).
TEST(ConformanceElections, C047_WhoRefusedAVoteIsNotAskedAgain) {
  ReplicaHarness replica = VoterOf(5);
  replica.config().request_timeout = Ms(200);
  replica.BecomeCandidate();
  replica.Refuse(2);
  replica.Refuse(3);
  replica.Forget();
  replica.AdvanceTo(replica.now() + Ms(990));
  ASSERT_EQ(replica.role(), RoleKind::kCandidate);
  const auto asked = replica.SentTo<raft::VoteRequest>();
  EXPECT_THAT(asked, Contains(Key(4)));
  EXPECT_THAT(asked, Each(testing::AnyOf(Key(4), Key(5))));
}

// 8.7: the LeaderChange record rides the ordinary round, there is no flush of its own.
TEST(ConformanceElections, C048_WinIsDurableThenAnnounced) {
  ReplicaHarness replica = VoterOf(5);
  replica.RecoverLog({{1, 4}});
  replica.Recover(Epoch(1));
  replica.BecomeCandidate();
  replica.Forget();
  replica.HoldWrites();
  replica.Grant(4);
  replica.Grant(2);
  ASSERT_EQ(replica.role(), RoleKind::kLeader);
  const auto batches = replica.Effects<raft::AppendControlBatch>();
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].base_offset, Offset(4));
  EXPECT_EQ(batches[0].epoch, Epoch(2));
  EXPECT_TRUE(batches[0].starts_epoch);
  ASSERT_EQ(batches[0].records.size(), 1u);
  const auto& change = std::get<LeaderChange>(batches[0].records[0]);
  EXPECT_EQ(change.leader, Key(1));
  EXPECT_THAT(change.voters, ElementsAre(Key(1), Key(2), Key(3), Key(4), Key(5)));
  EXPECT_THAT(change.granting_voters, ElementsAre(Key(1), Key(2), Key(4)));
  EXPECT_THAT(replica.Sent<raft::BeginQuorumEpochRequest>(), IsEmpty());
  replica.CompleteWrites();
  EXPECT_EQ(replica.synced_election().leader, Key(1));
  EXPECT_THAT(replica.SentTo<raft::BeginQuorumEpochRequest>(),
              ElementsAre(Key(2), Key(3), Key(4), Key(5)));
}

TEST(ConformanceElections, C049_MajoritiesToWin) {
  const int needed[] = {1, 2, 2, 3, 3};
  for (int voters = 2; voters <= 5; ++voters) {
    ReplicaHarness replica = VoterOf(voters);
    replica.BecomeCandidate();
    for (int grants = 1; grants < needed[voters - 1]; ++grants) {
      EXPECT_EQ(replica.role(), RoleKind::kCandidate) << voters << " voters, " << grants;
      replica.Grant(grants + 1);
    }
    EXPECT_EQ(replica.role(), RoleKind::kLeader) << voters << " voters";
  }
  ReplicaHarness sole = VoterOf(1);
  sole.Start();
  EXPECT_EQ(sole.role(), RoleKind::kLeader);
}

// A lost poll shows at once: the replica is Unattached again.
TEST(ConformanceElections, C049_RefusalsToLose) {
  const int needed[] = {1, 1, 2, 2, 3};
  for (int voters = 2; voters <= 5; ++voters) {
    ReplicaHarness replica = VoterOf(voters);
    replica.BecomeProspective();
    for (int refusals = 0; refusals < needed[voters - 1]; ++refusals) {
      EXPECT_EQ(replica.role(), RoleKind::kProspective) << voters << " voters, " << refusals;
      replica.Refuse(refusals + 2);
    }
    EXPECT_EQ(replica.role(), RoleKind::kUnattached) << voters << " voters";
  }
}

TEST(ConformanceElections, C050_VotesAfterFollowingAreIgnored) {
  ReplicaHarness replica = VoterOf(3);
  replica.BecomeCandidate();
  const auto requests = replica.Sent<raft::VoteRequest>();
  replica.Follow(3, Epoch(1));
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(1), Key(3), Key(1)}));
  const raft::VoteResponse granted{{RaftError::kNone, Epoch(1), std::nullopt}, true};
  replica.Step(raft::VoteResponded{requests[2].correlation, granted});
  EXPECT_EQ(replica.role(), RoleKind::kFollower);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(1), Key(3), Key(1)}));
}

TEST(ConformanceElections, C051_AdoptionKeepsTheRemainingTime) {
  ReplicaHarness replica = VoterOf(3);
  replica.RecoverLog({{1, 5}});
  replica.Recover(Epoch(1));
  replica.Start();
  replica.Advance(Ms(600));
  const MonoTime deadline = replica.deadline();
  EXPECT_FALSE(replica.RequestVote(2, Epoch(5), End(4, 1)).granted);
  EXPECT_EQ(replica.epoch(), Epoch(5));
  EXPECT_EQ(replica.deadline(), deadline);
  EXPECT_TRUE(replica.RequestVote(3, Epoch(5), End(5, 1)).granted);
  EXPECT_GE(replica.Until(replica.deadline()), replica.config().election_timeout);
}

TEST(ConformanceElections, C051_CandidateKeepsTheRemainingTime) {
  ReplicaHarness replica = VoterOf(3);
  replica.RecoverLog({{1, 5}});
  replica.Recover(Epoch(1));
  replica.config().request_timeout = Ms(2'000);
  replica.BecomeCandidate();
  const MonoTime deadline = replica.deadline();
  EXPECT_FALSE(replica.RequestVote(2, Epoch(9), End(4, 1)).granted);
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_EQ(replica.deadline(), deadline);
}

// 8.7: what is fatal in Kafka quarantines this partition.
TEST(ConformanceElections, C052_InvalidRequestQuarantines) {
  ReplicaHarness replica = VoterOf(3);
  replica.BecomeCandidate();
  replica.AnswerVote(2, replica.HeaderNow(RaftError::kInvalidRequest), false);
  EXPECT_TRUE(replica.quarantined());
  EXPECT_EQ(replica.RequestVote(3, Epoch(9), End(0, 0)).header.error,
            RaftError::kBrokerNotAvailable);
}

TEST(ConformanceElections, C052_UnavailablePeerIsBackedOffAlone) {
  ReplicaHarness replica = VoterOf(5);
  replica.BecomeCandidate();
  replica.Forget();
  replica.AnswerVote(2, replica.HeaderNow(RaftError::kBrokerNotAvailable), false);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
  replica.Advance(replica.config().retry_backoff - Ms(1));
  EXPECT_THAT(replica.Sent<raft::VoteRequest>(), IsEmpty());
  replica.Advance(Ms(1));
  EXPECT_THAT(replica.SentTo<raft::VoteRequest>(), ElementsAre(Key(2)));
  replica.Grant(3);
  replica.Grant(4);
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
}

}  // namespace
}  // namespace quorum::conformance
