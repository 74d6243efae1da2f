// Group E of the conformance list: BeginQuorumEpoch (protocol.md 1.2, 3.8).

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

ReplicaHarness VoterInEpochThree() {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(3));
  return replica;
}

TEST(ConformanceBegin, C053_LeaderOfTheEpochIsFollowedAndTheVoteKept) {
  ReplicaHarness unattached = VoterInEpochThree();
  unattached.Start();
  ASSERT_TRUE(unattached.RequestVote(3, Epoch(4), End(0, 0)).granted);
  EXPECT_EQ(unattached.Begin(2, Epoch(4)).header.error, RaftError::kNone);
  EXPECT_EQ(unattached.synced_election(), (ElectionState{Epoch(4), Key(2), Key(3)}));
  EXPECT_EQ(unattached.role(), RoleKind::kFollower);

  ReplicaHarness prospective = VoterInEpochThree();
  prospective.BecomeProspective();
  prospective.Begin(2, Epoch(3));
  EXPECT_EQ(prospective.role(), RoleKind::kFollower);
  EXPECT_EQ(prospective.synced_election(), (ElectionState{Epoch(3), Key(2), std::nullopt}));

  ReplicaHarness candidate = VoterInEpochThree();
  candidate.BecomeCandidate();
  candidate.Begin(2, Epoch(4));
  EXPECT_EQ(candidate.role(), RoleKind::kFollower);
  EXPECT_EQ(candidate.synced_election(), (ElectionState{Epoch(4), Key(2), Key(1)}));
}

TEST(ConformanceBegin, C053_LeaderOutsideTheVoterSetIsFollowed) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.Start();
  EXPECT_EQ(replica.Begin(8, Epoch(4)).header.error, RaftError::kNone);
  EXPECT_EQ(replica.role(), RoleKind::kFollower);
  EXPECT_EQ(replica.SentTo<raft::FetchRequest>().back(), Key(8));
}

TEST(ConformanceBegin, C054_LowerEpochIsFenced) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.Follow(2, Epoch(4));
  const raft::ResponseHeader header = replica.Begin(3, Epoch(3)).header;
  EXPECT_EQ(header.error, RaftError::kFencedLeaderEpoch);
  EXPECT_EQ(header.epoch, Epoch(4));
  EXPECT_EQ(header.leader, Key(2));
  EXPECT_EQ(replica.leader(), Key(2));
}

// 8.7: a fatal protocol error quarantines this partition.
TEST(ConformanceBegin, C054_SecondLeaderOfAnEpochIsAViolation) {
  ReplicaHarness follower = VoterInEpochThree();
  follower.Follow(2, Epoch(4));
  EXPECT_EQ(follower.Begin(3, Epoch(4)).header.error, RaftError::kBrokerNotAvailable);
  EXPECT_TRUE(follower.quarantined());
  EXPECT_EQ(follower.synced_election().leader, Key(2));

  ReplicaHarness leader = VoterInEpochThree();
  leader.BecomeLeader(Epoch(4));
  leader.Begin(3, Epoch(4));
  EXPECT_TRUE(leader.quarantined());
  EXPECT_EQ(leader.synced_election().leader, Key(1));
}

TEST(ConformanceBegin, C054_MalformedRequestAdoptsNothing) {
  std::vector<raft::BeginQuorumEpochRequest> malformed(5, {Key(2), Key(1), Epoch(9)});
  malformed[0].epoch = Epoch(-1);
  malformed[1].epoch = Epoch(0);
  malformed[2].epoch = kEpochLimit;
  malformed[3].leader = ReplicaKey{NodeId(2), DirectoryId{}};
  malformed[4].leader = ReplicaKey{NodeId(-1), DirectoryId{1, 1}};
  for (const auto& request : malformed) {
    ReplicaHarness replica = VoterInEpochThree();
    replica.Start();
    EXPECT_EQ(replica.Begin(request).header.error, RaftError::kInvalidRequest);
    EXPECT_EQ(replica.epoch(), Epoch(3));
    EXPECT_EQ(replica.leader(), std::nullopt);
  }
}

// The leader's address is in no message of ours, so a repeated Begin has nothing to add.
TEST(ConformanceBegin, C055_RepeatedBeginChangesNothing) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.FollowAndFetch(2, Epoch(4));
  const uint64_t incarnation = replica.replica().incarnation();
  const MonoTime deadline = replica.deadline();
  replica.Advance(Ms(1'000));
  EXPECT_EQ(replica.Begin(2, Epoch(4)).header.error, RaftError::kNone);
  EXPECT_EQ(replica.replica().incarnation(), incarnation);
  EXPECT_EQ(replica.deadline(), deadline);
}

TEST(ConformanceBegin, C056_WrongVoterKeyIsToldButTheLeaderFollowed) {
  for (const ReplicaKey& meant : {Key(3), OtherDirectory(1)}) {
    ReplicaHarness replica = VoterInEpochThree();
    replica.Start();
    EXPECT_EQ(replica.Begin(raft::BeginQuorumEpochRequest{Key(2), meant, Epoch(4)}).header.error,
              RaftError::kInvalidVoterKey);
    EXPECT_EQ(replica.role(), RoleKind::kFollower);
    EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(4), Key(2), std::nullopt}));
  }
}

// 8.7: there are no undrained batches. An append that is in the log already ends *unknown*.
TEST(ConformanceBegin, C057_LeaderFollowsAHigherEpochAndSettlesItsDebts) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.BecomeLeader(Epoch(4));
  const raft::Token append = replica.Append(3);
  const FetchResult parked = replica.Fetch(9, replica.log_end().value(), 4);
  ASSERT_TRUE(parked.parked);
  replica.Begin(3, Epoch(6));
  EXPECT_EQ(replica.role(), RoleKind::kFollower);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(6), Key(3), std::nullopt}));
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kUnknown);
  const FetchResult failed = replica.ResultOf(parked.token);
  ASSERT_TRUE(failed.reply.has_value());
  EXPECT_EQ(failed.reply->header.error, RaftError::kNotLeaderOrFollower);
  EXPECT_EQ(failed.reply->header.leader, Key(3));
  EXPECT_EQ(replica.OutcomeOf(replica.Append(1)), AppendOutcome::kRefused);
}

TEST(ConformanceBegin, C057_ResignedFollowsAHigherEpoch) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.Recover(Epoch(4), Key(1));
  replica.Start();
  ASSERT_EQ(replica.role(), RoleKind::kResigned);
  replica.Begin(3, Epoch(5));
  EXPECT_EQ(replica.role(), RoleKind::kFollower);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(5), Key(3), std::nullopt}));
}

TEST(ConformanceBegin, C058_OnlySilentVotersAreReminded) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.BecomeLeader(Epoch(4));
  EXPECT_THAT(replica.SentTo<raft::BeginQuorumEpochRequest>(), ElementsAre(Key(2), Key(3)));
  const int64_t end = replica.log_end().value();
  const Duration period = replica.config().fetch_timeout / 2;
  replica.Forget();
  replica.Advance(period / 2);
  replica.Fetch(2, end, 4);
  EXPECT_THAT(replica.Sent<raft::BeginQuorumEpochRequest>(), IsEmpty());
  replica.Advance(period / 2 + Ms(10));
  EXPECT_THAT(replica.SentTo<raft::BeginQuorumEpochRequest>(), ElementsAre(Key(3)));
  EXPECT_EQ(replica.Sent<raft::BeginQuorumEpochRequest>()[0].message.voter, Key(3));
  replica.Forget();
  // Replica 2 has fallen silent too.
  replica.Advance(period + Ms(10));
  EXPECT_THAT(replica.SentTo<raft::BeginQuorumEpochRequest>(), ElementsAre(Key(2), Key(3)));
}

}  // namespace
}  // namespace quorum::conformance
