// Group P of the conformance list: what a leader says of its replicas (protocol.md 1.6). The errors
// of C-145 are made by the node around; here a replica that does not lead has no rows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "service/base/ids.h"
#include "service/raft/messages.h"
#include "service/raft/replica.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using raft::ReplicaDescription;
using testing::IsEmpty;
using testing::SizeIs;

// Leader of epoch 5 among three, with a log that ends at 7.
void Lead(ReplicaHarness& replica) {
  replica.Voters(3);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.BecomeLeader(Epoch(5));
}

std::vector<ReplicaDescription> Describe(const ReplicaHarness& replica) {
  return replica.replica().Describe(replica.now());
}

// The row of `id`; an empty one when there is none.
std::optional<ReplicaDescription> RowOf(const ReplicaHarness& replica, int32_t id) {
  for (const ReplicaDescription& row : Describe(replica)) {
    if (row.key == Key(id)) return row;
  }
  return std::nullopt;
}

TEST(ConformanceDescribe, C145_WhoDoesNotLeadHasNoRows) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.FollowAndFetch(2, Epoch(5));
  EXPECT_THAT(Describe(replica), IsEmpty());
}

TEST(ConformanceDescribe, C146_AFreshLeaderKnowsItselfOnly) {
  ReplicaHarness replica;
  Lead(replica);
  const std::vector<ReplicaDescription> rows = Describe(replica);
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].key, Key(1));
  EXPECT_EQ(rows[0].log_end, Offset(7));
  EXPECT_EQ(rows[0].last_fetch, replica.now());
  EXPECT_EQ(rows[0].last_caught_up, replica.now());
  EXPECT_EQ(rows[0].high_watermark, std::nullopt);
  for (const int32_t other : {2, 3}) {
    const auto row = RowOf(replica, other);
    ASSERT_TRUE(row.has_value());
    EXPECT_TRUE(row->voter);
    EXPECT_EQ(row->log_end, std::nullopt);
    EXPECT_EQ(row->last_fetch, std::nullopt);
    EXPECT_EQ(row->last_caught_up, std::nullopt);
    EXPECT_EQ(row->high_watermark, std::nullopt);
  }
}

TEST(ConformanceDescribe, C147_AFetchUpdatesItsRow) {
  ReplicaHarness replica;
  Lead(replica);
  replica.Fetch(2, 3, 1);
  const MonoTime first = replica.now();
  EXPECT_EQ(RowOf(replica, 2)->log_end, Offset(3));
  EXPECT_EQ(RowOf(replica, 2)->last_fetch, first);
  EXPECT_EQ(RowOf(replica, 2)->last_caught_up, std::nullopt);
  replica.Append(3);
  replica.Advance(Ms(100));
  replica.Fetch(2, 7, 5, 6);
  EXPECT_EQ(RowOf(replica, 2)->last_caught_up, first) << "it holds what the leader had then";
  EXPECT_EQ(RowOf(replica, 2)->high_watermark, Offset(6));
  replica.Advance(Ms(100));
  replica.Fetch(2, 10, 5, 7);
  EXPECT_EQ(RowOf(replica, 2)->last_caught_up, replica.now());
  EXPECT_EQ(RowOf(replica, 2)->high_watermark, Offset(7));
  EXPECT_EQ(RowOf(replica, 3)->log_end, std::nullopt);
}

TEST(ConformanceDescribe, C147_ADivergingFetchChangesNothing) {
  ReplicaHarness replica;
  Lead(replica);
  replica.Fetch(2, 3, 1);
  const MonoTime first = replica.now();
  replica.Advance(Ms(100));
  ASSERT_TRUE(replica.Fetch(2, 6, 2).Divergence().has_value());
  EXPECT_EQ(RowOf(replica, 2)->log_end, Offset(3));
  EXPECT_EQ(RowOf(replica, 2)->last_fetch, first);
}

TEST(ConformanceDescribe, C148_AnObserverIsShownFromItsFirstFetch_ForFiveMinutesAfterTheLast) {
  ReplicaHarness replica;
  Lead(replica);
  EXPECT_EQ(RowOf(replica, 9), std::nullopt);
  replica.Fetch(9, 0, 0);
  ASSERT_TRUE(RowOf(replica, 9).has_value());
  EXPECT_FALSE(RowOf(replica, 9)->voter);
  EXPECT_EQ(Describe(replica).back().key, Key(9)) << "after the voters";
  for (int minute = 0; minute < 5; ++minute) {
    EXPECT_TRUE(RowOf(replica, 9).has_value()) << minute;
    for (int i = 0; i < 60; ++i) {
      replica.Fetch(2, 7, 5);
      replica.Fetch(3, 7, 5);
      replica.Advance(Ms(1'000));
    }
  }
  ASSERT_EQ(replica.role(), raft::RoleKind::kLeader);
  EXPECT_TRUE(RowOf(replica, 9).has_value());
  replica.Advance(Ms(1));
  EXPECT_EQ(RowOf(replica, 9), std::nullopt);
  EXPECT_THAT(Describe(replica), SizeIs(3));
}

TEST(ConformanceDescribe, C148_ObserversThatHaveVanishedMakeRoomForOthers) {
  ReplicaHarness replica;
  replica.config().observers_max = 2;
  Lead(replica);
  replica.Fetch(7, 0, 0);
  replica.Fetch(8, 0, 0);
  EXPECT_TRUE(replica.Fetch(9, 0, 0).HasRecords()) << "served all the same";
  EXPECT_EQ(RowOf(replica, 9), std::nullopt);
  for (int i = 0; i < 301; ++i) {
    replica.Fetch(2, 7, 5);
    replica.Fetch(3, 7, 5);
    replica.Fetch(8, 0, 0);
    replica.Advance(Ms(1'000));
  }
  replica.Fetch(9, 0, 0);
  EXPECT_TRUE(RowOf(replica, 9).has_value());
  EXPECT_TRUE(RowOf(replica, 8).has_value());
  EXPECT_EQ(RowOf(replica, 7), std::nullopt);
}

TEST(ConformanceDescribe, C148_ANewLeaderStartsWithoutObservers) {
  ReplicaHarness replica;
  Lead(replica);
  replica.Fetch(9, 0, 0);
  replica.Step(raft::ResignRequested{Epoch(5), std::nullopt});
  replica.AdvanceUntil(raft::RoleKind::kProspective);
  replica.GrantAll();
  replica.GrantAll();
  ASSERT_EQ(replica.role(), raft::RoleKind::kLeader);
  EXPECT_EQ(RowOf(replica, 9), std::nullopt);
  EXPECT_EQ(RowOf(replica, 2)->log_end, std::nullopt);
}

}  // namespace
}  // namespace quorum::conformance
