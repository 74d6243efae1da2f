// Group A of the conformance list: start-up and persisted state (protocol.md 2.5, with 8.7).

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
using testing::ElementsAre;
using testing::IsEmpty;

TEST(ConformanceStartUp, C001_EmptyStoreIsUnattachedAndPersistsAtOnce) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.HoldWrites();
  replica.Start();
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_EQ(replica.epoch(), Epoch(0));
  EXPECT_EQ(replica.leader(), std::nullopt);
  EXPECT_EQ(replica.voted(), std::nullopt);
  EXPECT_EQ(replica.election_writes(), 1u);
  // Nothing leaves before that is synced.
  EXPECT_THAT(replica.Sent<raft::FetchRequest>(), IsEmpty());
  EXPECT_EQ(replica.Waiting<raft::FetchRequest>().size(), 1u);
  replica.CompleteWrites();
  EXPECT_EQ(replica.Sent<raft::FetchRequest>().size(), 1u);
}

TEST(ConformanceStartUp, C002_SoleVoterLeadsEpochOneUnaided) {
  ReplicaHarness replica;
  replica.Voters(1);
  replica.Start();
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
  EXPECT_EQ(replica.epoch(), Epoch(1));
  const auto batches = replica.Effects<raft::AppendControlBatch>();
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].base_offset, Offset(0));
  EXPECT_TRUE(std::holds_alternative<LeaderChange>(batches[0].records[0]));
  EXPECT_EQ(replica.high_watermark(), replica.log_end());
}

// 8.7: a self-vote in e is not resumed either, so all three lead e+1.
TEST(ConformanceStartUp, C003_SoleVoterLeadsTheNextEpochWhateverItsStateNames) {
  const std::vector<std::pair<std::optional<ReplicaKey>, std::optional<ReplicaKey>>> states = {
      {Key(1), std::nullopt}, {Key(2), std::nullopt}, {std::nullopt, Key(1)}};
  for (const auto& [leader, voted] : states) {
    ReplicaHarness replica;
    replica.Voters(1);
    replica.Recover(Epoch(4), leader, voted);
    replica.Start();
    EXPECT_EQ(replica.role(), RoleKind::kLeader);
    EXPECT_EQ(replica.epoch(), Epoch(5));
    EXPECT_TRUE(replica.high_watermark().has_value());
  }
}

TEST(ConformanceStartUp, C004_FormerLeaderStartsResigned) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(5), Key(1));
  replica.RecoverLog({{5, 3}});
  replica.Start();
  EXPECT_EQ(replica.role(), RoleKind::kResigned);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(5), Key(1), std::nullopt}));
  EXPECT_EQ(replica.OutcomeOf(replica.Append(1)), AppendOutcome::kRefused);
  EXPECT_EQ(replica.Effects<raft::AppendRefused>()[0].header.error,
            RaftError::kNotLeaderOrFollower);
  EXPECT_FALSE(replica.RequestVote(2, Epoch(5), End(9, 4)).granted);
  const auto notices = replica.Sent<raft::EndQuorumEpochRequest>();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_THAT(replica.SentTo<raft::EndQuorumEpochRequest>(), ElementsAre(Key(2), Key(3)));
  for (const auto& notice : notices) {
    EXPECT_EQ(notice.message.epoch, Epoch(5));
    EXPECT_THAT(notice.message.preferred_successors, IsEmpty());
  }
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(5), Key(1), std::nullopt}));
}

TEST(ConformanceStartUp, C005_FormerLeaderLeavesItsEpochWhenNobodyTakesOver) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(5), Key(1));
  replica.RecoverLog({{5, 3}});
  replica.Start();
  replica.AdvanceUntil(RoleKind::kUnattached, Ms(2'000));
  EXPECT_EQ(replica.epoch(), Epoch(6));
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(6), std::nullopt, std::nullopt}));
  EXPECT_LE(replica.deadline(), replica.now());
  replica.FireTimer();
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
  EXPECT_EQ(replica.epoch(), Epoch(6));
}

// 8.7: no process life campaigns in an older one's epoch, so a self-vote waits as Unattached.
TEST(ConformanceStartUp, C006_SelfVoteIsKeptButNotCampaignedOn) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(5), std::nullopt, Key(1));
  replica.Start();
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_EQ(replica.epoch(), Epoch(5));
  EXPECT_EQ(replica.voted(), Key(1));
  EXPECT_THAT(replica.Sent<raft::VoteRequest>(), IsEmpty());
  EXPECT_FALSE(replica.RequestVote(2, Epoch(5), End(9, 4)).granted);
  replica.BecomeCandidate();
  EXPECT_EQ(replica.epoch(), Epoch(6));
}

TEST(ConformanceStartUp, C007_FollowerKeepsItsVote) {
  for (const ReplicaKey& voted : {Key(2), Key(3), Key(1)}) {
    ReplicaHarness replica;
    replica.Voters(3);
    replica.Recover(Epoch(5), Key(2), voted);
    replica.Start();
    EXPECT_EQ(replica.role(), RoleKind::kFollower);
    EXPECT_EQ(replica.leader(), Key(2));
    EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(5), Key(2), voted}));
    EXPECT_THAT(replica.SentTo<raft::FetchRequest>(), ElementsAre(Key(2)));
  }
}

// The leader's endpoint is unknown when the voter set does not hold it.
TEST(ConformanceStartUp, C008_LeaderOfUnknownEndpointIsRemembered) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(5), Key(8), Key(3));
  replica.Start();
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(5), Key(8), Key(3)}));
  const FetchResult fetch = replica.Fetch(2, 0, 0);
  ASSERT_TRUE(fetch.reply.has_value());
  EXPECT_EQ(fetch.reply->header.error, RaftError::kNotLeaderOrFollower);
  EXPECT_EQ(fetch.reply->header.leader, Key(8));
  // Its epoch has a leader, so nobody else is voted for in it.
  EXPECT_FALSE(replica.RequestVote(2, Epoch(5), End(9, 4)).granted);
}

TEST(ConformanceStartUp, C009_EpochOfTheLogWins) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(3), Key(2), Key(2));
  replica.RecoverLog({{3, 2}, {5, 2}});
  replica.Start();
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(5), std::nullopt, std::nullopt}));
}

// Every replica of ours has a key; an observer is one that the voter set does not name.
TEST(ConformanceStartUp, C013_ObserverFindsTheLeaderAndReplicates) {
  ReplicaHarness observer(1, Key(9));
  observer.Voters(3);
  observer.Start();
  EXPECT_EQ(observer.role(), RoleKind::kUnattached);
  ASSERT_EQ(observer.Sent<raft::FetchRequest>().size(), 1u);
  raft::FetchResponse hint;
  hint.header = {RaftError::kNotLeaderOrFollower, Epoch(4), Key(2)};
  observer.AnswerFetch(hint);
  EXPECT_EQ(observer.role(), RoleKind::kFollower);
  EXPECT_EQ(observer.SentTo<raft::FetchRequest>().back(), Key(2));
  observer.AnswerFetch(BatchesFrom(0, {{4, 2}, {4, 1}}), 3);
  EXPECT_EQ(observer.log_end(), Offset(3));
  EXPECT_EQ(observer.high_watermark(), Offset(3));
  EXPECT_EQ(observer.deadline(), kNever);
  EXPECT_EQ(observer.voted(), std::nullopt);
}

TEST(ConformanceStartUp, C013_ObserverIsNeverCounted) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.BecomeLeader(Epoch(1));
  const int64_t end = replica.log_end().value();
  replica.Fetch(8, end, 1);
  replica.Fetch(9, end, 1);
  EXPECT_EQ(replica.high_watermark(), std::nullopt);
  replica.Fetch(2, end, 1);
  EXPECT_EQ(replica.high_watermark(), Offset(end));
}

// The assignment is the successor list of a new partition: its first replica leads without a race.
TEST(ConformanceStartUp, BirthCampaignsInTheOrderOfTheAssignment) {
  ReplicaHarness first;
  first.Voters(3);
  first.CampaignFirstAfter(Duration::zero());
  first.Start();
  EXPECT_LE(first.deadline(), first.now());
  first.FireTimer();
  EXPECT_EQ(first.role(), RoleKind::kProspective);

  ReplicaHarness second;
  second.Voters(3);
  second.CampaignFirstAfter(Ms(250));
  second.Start();
  EXPECT_EQ(second.Until(second.deadline()), Ms(250));
}

TEST(ConformanceStartUp, BlankReplicaWithoutVotersWaitsForALeader) {
  ReplicaHarness replica;
  replica.CampaignFirstAfter(Duration::zero());
  replica.Start();
  replica.Advance(Ms(60'000));
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_THAT(replica.Sent<raft::VoteRequest>(), IsEmpty());
  EXPECT_TRUE(replica.RequestVote(2, Epoch(1), End(0, 0)).granted);
}

}  // namespace
}  // namespace quorum::conformance
