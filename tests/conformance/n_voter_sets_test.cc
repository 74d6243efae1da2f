// Group N of the conformance list, as far as it needs no voter change: the set that a partition is
// born with enters its log (protocol.md 1.12, 3.2).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/base/ids.h"
#include "service/base/voter_set.h"
#include "service/raft/effect.h"
#include "service/raft/messages.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using raft::RoleKind;
using testing::SizeIs;

TEST(ConformanceVoterSets, C127_FirstLeaderWritesTheSetWithItsLeaderChange) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.BecomeLeader(Epoch(1));
  const auto batches = replica.Effects<raft::AppendControlBatch>();
  ASSERT_THAT(batches, SizeIs(1));
  ASSERT_THAT(batches[0].records, SizeIs(2));
  EXPECT_TRUE(std::holds_alternative<LeaderChange>(batches[0].records[0]));
  EXPECT_EQ(std::get<VotersRecord>(batches[0].records[1]).voters, VoterSetOf(3));
  ASSERT_TRUE(batches[0].voters.has_value());
  EXPECT_EQ(batches[0].voters->first, Offset(1));
  EXPECT_EQ(batches[0].voters->second, VoterSetOf(3));
  EXPECT_EQ(replica.log_end(), Offset(2));
}

TEST(ConformanceVoterSets, C127_NextLeaderDoesNotWriteItAgain) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.FollowAndFetch(2, Epoch(1));
  raft::FetchedBatches first_batch = BatchesFrom(0, {{1, 2}});
  first_batch.batches[0].voters = VoterSetOf(3);
  replica.AnswerFetch(first_batch);
  replica.BecomeLeader(Epoch(2));
  const auto batches = replica.Effects<raft::AppendControlBatch>();
  ASSERT_THAT(batches, SizeIs(1));
  EXPECT_EQ(batches[0].base_offset, Offset(2));
  ASSERT_THAT(batches[0].records, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<LeaderChange>(batches[0].records[0]));
  EXPECT_FALSE(batches[0].voters.has_value());
}

// It was truncated with the batch that held it, so the next leader writes it once more.
TEST(ConformanceVoterSets, C127_TruncatedSetIsWrittenAgain) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.BecomeLeader(Epoch(1));
  replica.FollowAndFetch(2, Epoch(2));
  replica.AnswerFetch(raft::FetchedDivergence{End(0, 0)});
  ASSERT_EQ(replica.log_end(), Offset(0));
  EXPECT_EQ(replica.replica().voters().Latest(), VoterSetOf(3));
  replica.Forget();
  replica.BecomeLeader(Epoch(3));
  const auto batches = replica.Effects<raft::AppendControlBatch>();
  ASSERT_THAT(batches, SizeIs(1));
  EXPECT_THAT(batches[0].records, SizeIs(2));
}

// A replica that was no voter of its birth set becomes one by what it reads.
TEST(ConformanceVoterSets, C135_LatestSetInTheLogIsInForceCommittedOrNot) {
  ReplicaHarness blank;
  blank.FollowAndFetch(2, Epoch(1));
  EXPECT_FALSE(blank.replica().is_voter());
  raft::FetchedBatches first_batch = BatchesFrom(0, {{1, 2}});
  first_batch.batches[0].voters = VoterSetOf(3);
  blank.AnswerFetch(first_batch);
  EXPECT_EQ(blank.high_watermark(), std::nullopt);
  EXPECT_TRUE(blank.replica().is_voter());
  blank.AdvanceUntil(RoleKind::kProspective, Ms(2'600));
  EXPECT_THAT(blank.Sent<raft::VoteRequest>(), SizeIs(2));
}

}  // namespace
}  // namespace quorum::conformance
