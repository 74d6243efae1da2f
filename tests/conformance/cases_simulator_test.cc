// Cases that the simulator has found, on one replica each.

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "service/base/ids.h"
#include "service/raft/messages.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using raft::FetchRequest;
using raft::KnownHighWatermark;
using raft::RoleKind;

// Seed 721: a leader keeps a fetch that it has nothing for, and a session leaves it out. A follower
// that came back to its leader with everything it needs would never be answered, never count as one
// that fetches, and campaign at each fetch timeout for ever.
TEST(CasesSimulator, AFollowerAsksForTheWatermarkUntilItsLeaderHasAnsweredOnce) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(5));
  replica.RecoverLog({{5, 3}});
  replica.FollowAndFetch(2, Epoch(5));
  replica.AnswerFetch(raft::FetchedNothing{}, 3);
  ASSERT_EQ(replica.Sent<FetchRequest>().back().message.known_high_watermark,
            KnownHighWatermark::kKnown);
  // The leader is silent, the poll is lost, and the leader is heard of again in the same epoch.
  replica.AdvanceUntil(RoleKind::kProspective);
  replica.Forget();
  (void)replica.Begin(2, Epoch(5));
  ASSERT_EQ(replica.role(), RoleKind::kFollower);
  ASSERT_EQ(replica.Sent<FetchRequest>().size(), 1u);
  EXPECT_EQ(replica.Sent<FetchRequest>().back().message.known_high_watermark,
            KnownHighWatermark::kUnknown);
  replica.AnswerFetch(raft::FetchedNothing{}, 3);
  EXPECT_EQ(replica.Sent<FetchRequest>().back().message.known_high_watermark,
            KnownHighWatermark::kKnown);
  EXPECT_EQ(replica.Sent<FetchRequest>().back().message.high_watermark, Offset(3));
}

}  // namespace
}  // namespace quorum::conformance
