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

}  // namespace
}  // namespace quorum::conformance
