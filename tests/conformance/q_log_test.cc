// Group Q of the conformance list: helpers, as a replica uses them. C-149 and C-150 are in
// tests/service/raft (leader_epochs_test, log_shape_test), C-151 in
// tests/service/base/voter_set_test. What Kafka calls a threshold purgatory (C-152) are here the
// pending appends and the parked fetches of a leader.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "service/base/ids.h"
#include "service/raft/effect.h"
#include "service/raft/messages.h"
#include "service/raft/roles.h"
#include "service/raft/state.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::SizeIs;

const raft::Leader& LeaderOf(const ReplicaHarness& replica) {
  return std::get<raft::Leader>(replica.replica().state().role);
}

std::vector<raft::Token> Committed(const ReplicaHarness& replica) {
  std::vector<raft::Token> tokens;
  for (const auto& effect : replica.Effects<raft::AppendCommitted>()) {
    tokens.push_back(effect.token);
  }
  return tokens;
}

void Lead(ReplicaHarness& replica) {
  replica.Voters(3);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.BecomeLeader(Epoch(5));
  replica.Forget();
}

TEST(ConformanceHelpers, C152_AppendsCompleteStrictlyAboveTheirLastOffset_InOrder) {
  ReplicaHarness replica;
  Lead(replica);
  std::vector<raft::Token> appends;
  for (int i = 0; i < 4; ++i) appends.push_back(replica.Append(2));
  for (int64_t end = 7; end <= 15; ++end) {
    replica.Fetch(2, end, 5);
    const int64_t complete = (end - 7) / 2;
    EXPECT_THAT(Committed(replica), ElementsAreArray(appends.begin(), appends.begin() + complete))
        << "watermark " << end;
  }
  EXPECT_THAT(LeaderOf(replica).pending_appends, IsEmpty());
}

TEST(ConformanceHelpers, C152_ExpiryAndCancellationLeaveNothingBehind) {
  ReplicaHarness replica;
  Lead(replica);
  const FetchResult expires = replica.Fetch(2, 7, 5);
  const FetchResult cancelled = replica.Fetch(3, 7, 5);
  ASSERT_THAT(LeaderOf(replica).parked, SizeIs(2));
  replica.Step(raft::FetchWaitOver{expires.token});
  replica.Step(raft::FetchCancelled{cancelled.token});
  EXPECT_THAT(LeaderOf(replica).parked, IsEmpty());
  replica.Forget();
  replica.Append(1);
  EXPECT_THAT(replica.Effects<raft::ReplyFetch>(), IsEmpty()) << "each was settled once";
}

TEST(ConformanceHelpers, C152_CompletingAllLeavesNothingBehind) {
  ReplicaHarness replica;
  Lead(replica);
  replica.Append(2);
  replica.Fetch(2, 9, 5);
  const raft::Token pending = replica.Append(1);
  const FetchResult parked = replica.Fetch(9, 10, 5);
  ASSERT_TRUE(parked.parked);
  replica.Forget();
  replica.Step(raft::Damaged{"a bad sector"});
  EXPECT_THAT(LeaderOf(replica).parked, IsEmpty());
  EXPECT_THAT(LeaderOf(replica).pending_appends, IsEmpty());
  EXPECT_THAT(replica.Effects<raft::ReplyFetch>(), SizeIs(1));
  EXPECT_THAT(replica.Effects<raft::AppendUnknown>(), SizeIs(1));
  EXPECT_EQ(replica.OutcomeOf(pending), AppendOutcome::kUnknown);
}

}  // namespace
}  // namespace quorum::conformance
