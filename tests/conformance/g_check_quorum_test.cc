// Group G of the conformance list: check-quorum (protocol.md 3.6).

#include <gtest/gtest.h>

#include <chrono>

#include "service/base/ids.h"
#include "service/raft/effect.h"
#include "service/raft/messages.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using raft::RoleKind;

constexpr Duration kLimit = std::chrono::milliseconds(3'000);

ReplicaHarness LeaderOf(int voters) {
  ReplicaHarness replica;
  replica.Voters(voters);
  replica.BecomeLeader(Epoch(1));
  return replica;
}

void FetchAll(ReplicaHarness& replica, int32_t from) {
  replica.Fetch(from, replica.log_end().value(), 1);
}

TEST(ConformanceCheckQuorum, C071_SilentVotersCostTheOffice) {
  ReplicaHarness replica = LeaderOf(3);
  ASSERT_EQ(kLimit, replica.config().fetch_timeout * 3 / 2);
  replica.Advance(kLimit - Ms(10));
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
  replica.Advance(Ms(10));
  EXPECT_EQ(replica.role(), RoleKind::kResigned);
}

TEST(ConformanceCheckQuorum, C071_EitherOtherVoterRestartsThePeriod) {
  for (const int32_t voter : {2, 3}) {
    ReplicaHarness replica = LeaderOf(3);
    replica.Advance(kLimit - Ms(100));
    FetchAll(replica, voter);
    replica.Advance(kLimit - Ms(10));
    EXPECT_EQ(replica.role(), RoleKind::kLeader);
    replica.Advance(Ms(20));
    EXPECT_EQ(replica.role(), RoleKind::kResigned);
  }
}

TEST(ConformanceCheckQuorum, C071_FiveVotersNeedTwoDifferentOnes) {
  ReplicaHarness one = LeaderOf(5);
  one.Advance(kLimit - Ms(100));
  FetchAll(one, 2);
  FetchAll(one, 2);
  one.Advance(Ms(100));
  EXPECT_EQ(one.role(), RoleKind::kResigned);

  ReplicaHarness two = LeaderOf(5);
  two.Advance(kLimit - Ms(100));
  FetchAll(two, 2);
  FetchAll(two, 5);
  two.Advance(kLimit - Ms(10));
  EXPECT_EQ(two.role(), RoleKind::kLeader);
}

TEST(ConformanceCheckQuorum, C071_SessionsVouchAtTheTimer) {
  ReplicaHarness replica = LeaderOf(3);
  FetchAll(replica, 2);
  const MonoTime seen = replica.now() + Ms(2'000);
  replica.Advance(kLimit - Ms(10));
  replica.Step(raft::TimerFired{{raft::PeerSeen{Key(2), seen}}});
  replica.AdvanceTo(seen + kLimit - Ms(10));
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
  replica.Advance(Ms(20));
  EXPECT_EQ(replica.role(), RoleKind::kResigned);
}

TEST(ConformanceCheckQuorum, C072_ObserversAndDivergingFetchesDoNotCount) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.Recover(Epoch(3));
  replica.BecomeLeader(Epoch(4));
  replica.Advance(kLimit - Ms(100));
  EXPECT_FALSE(replica.Fetch(9, replica.log_end().value(), 4).Divergence().has_value());
  raft::FetchRequest other_disk = replica.MakeFetch(2, replica.log_end().value(), 4);
  other_disk.replica = OtherDirectory(2);
  replica.Fetch(other_disk);
  EXPECT_TRUE(replica.Fetch(2, 6, 2).Divergence().has_value());
  replica.Advance(Ms(100));
  EXPECT_EQ(replica.role(), RoleKind::kResigned);
}

TEST(ConformanceCheckQuorum, C073_SoleVoterStays) {
  ReplicaHarness replica = LeaderOf(1);
  replica.Advance(Ms(600'000));
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
  EXPECT_EQ(replica.epoch(), Epoch(1));
}

TEST(ConformanceCheckQuorum, C075_NothingCommittedIsLost) {
  ReplicaHarness replica = LeaderOf(3);
  replica.Append(4);
  FetchAll(replica, 2);
  const Offset committed = replica.log_end();
  ASSERT_EQ(replica.high_watermark(), committed);
  const raft::Token pending = replica.Append(2);
  replica.Advance(2 * kLimit);
  EXPECT_NE(replica.role(), RoleKind::kLeader);
  EXPECT_EQ(replica.OutcomeOf(pending), AppendOutcome::kUnknown);
  EXPECT_EQ(replica.high_watermark(), committed);
  replica.Follow(2, Epoch(9));
  EXPECT_EQ(replica.high_watermark(), committed);
  replica.AnswerFetch(raft::FetchedDivergence{OffsetAndEpoch{committed, Epoch(1)}});
  EXPECT_EQ(replica.log_end(), committed);
  EXPECT_EQ(replica.high_watermark(), committed);
}

}  // namespace
}  // namespace quorum::conformance
