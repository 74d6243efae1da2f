// Group K of the conformance list: the append path, as 8.7 replaces it: offsets are given in the
// step, there is no accumulator and no linger. Batch sizes and memory (C-105) are the shard's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <variant>
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
using testing::IsEmpty;
using testing::SizeIs;

// Leader of epoch 5 among three, with a log that ends at 7.
void Lead(ReplicaHarness& replica) {
  replica.Voters(3);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.BecomeLeader(Epoch(5));
  replica.Forget();
}

RaftError Refusal(const ReplicaHarness& replica) {
  const auto refused = replica.Effects<raft::AppendRefused>();
  return refused.empty() ? RaftError::kNone : refused.back().header.error;
}

TEST(ConformanceAppend, C105_WhoDoesNotLeadRefusesAndNamesTheLeader) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Follow(2, Epoch(5));
  EXPECT_EQ(replica.OutcomeOf(replica.Append(1)), AppendOutcome::kRefused);
  EXPECT_EQ(Refusal(replica), RaftError::kNotLeaderOrFollower);
  EXPECT_EQ(replica.Effects<raft::AppendRefused>().back().header.leader, Key(2));
}

TEST(ConformanceAppend, C105_WrongEpochsAndShapesAreRefusedAndWriteNothing) {
  ReplicaHarness replica;
  Lead(replica);
  replica.Append(1, Epoch(4));
  EXPECT_EQ(Refusal(replica), RaftError::kFencedLeaderEpoch);
  replica.Append(1, Epoch(6));
  EXPECT_EQ(Refusal(replica), RaftError::kUnknownLeaderEpoch);
  replica.Append(0);
  EXPECT_EQ(Refusal(replica), RaftError::kInvalidRequest);
  replica.Append(-1);
  EXPECT_EQ(Refusal(replica), RaftError::kInvalidRequest);
  replica.Append(kOffsetLimit.value());
  EXPECT_EQ(Refusal(replica), RaftError::kInvalidRequest);
  EXPECT_THAT(replica.Effects<raft::AppendRefused>(), SizeIs(5));
  EXPECT_EQ(replica.log_end(), Offset(7));
  EXPECT_THAT(replica.Effects<raft::AppendClientBatch>(), IsEmpty());
  replica.Append(1, Epoch(5));
  EXPECT_EQ(replica.log_end(), Offset(8));
}

TEST(ConformanceAppend, C105_BeyondTheBoundAnAppendIsThrottled) {
  ReplicaHarness replica;
  replica.config().appends_in_flight_max = 2;
  Lead(replica);
  replica.Append(1);
  replica.Append(1);
  EXPECT_EQ(replica.OutcomeOf(replica.Append(1)), AppendOutcome::kRefused);
  EXPECT_EQ(Refusal(replica), RaftError::kThrottled);
  replica.Fetch(2, 9, 5);
  EXPECT_EQ(replica.OutcomeOf(replica.Append(1)), AppendOutcome::kPending) << "room again";
}

TEST(ConformanceAppend, C106_TheOffsetOfTheStepIsTheFinalOne) {
  ReplicaHarness replica;
  Lead(replica);
  const raft::Token append = replica.Append(3);
  const auto written = replica.Effects<raft::AppendClientBatch>();
  ASSERT_THAT(written, SizeIs(1));
  EXPECT_EQ(written[0].token, append);
  EXPECT_EQ(written[0].base_offset, Offset(7));
  EXPECT_EQ(written[0].epoch, Epoch(5));
  EXPECT_FALSE(written[0].starts_epoch) << "LeaderChange does";
  replica.Fetch(2, 10, 5);
  const auto committed = replica.Effects<raft::AppendCommitted>();
  ASSERT_THAT(committed, SizeIs(1));
  EXPECT_EQ(committed[0].base_offset, Offset(7));
  EXPECT_EQ(committed[0].epoch, Epoch(5));
}

// 8.7: no linger. The record is in the log, and offered to followers, in the very step.
TEST(ConformanceAppend, C107_AnAppendWaitsForNoTimer) {
  ReplicaHarness replica;
  Lead(replica);
  const FetchResult parked = replica.Fetch(2, 7, 5);
  const MonoTime before = replica.deadline();
  replica.Append(1);
  EXPECT_EQ(replica.log_end(), Offset(8));
  EXPECT_TRUE(replica.ResultOf(parked.token).HasRecords());
  EXPECT_EQ(replica.deadline(), before);
}

TEST(ConformanceAppend, C108_OneCallIsOneBatch_AndCallsKeepTheirOrder) {
  ReplicaHarness replica;
  Lead(replica);
  const std::vector<raft::Token> appends = {replica.Append(3), replica.Append(1),
                                            replica.Append(2)};
  const auto written = replica.Effects<raft::AppendClientBatch>();
  ASSERT_THAT(written, SizeIs(3));
  EXPECT_EQ(written[0].base_offset, Offset(7));
  EXPECT_EQ(written[1].base_offset, Offset(10));
  EXPECT_EQ(written[2].base_offset, Offset(11));
  replica.Fetch(2, 11, 5);
  EXPECT_EQ(replica.OutcomeOf(appends[0]), AppendOutcome::kCommitted);
  EXPECT_EQ(replica.OutcomeOf(appends[1]), AppendOutcome::kCommitted);
  EXPECT_EQ(replica.OutcomeOf(appends[2]), AppendOutcome::kPending) << "all or nothing";
  replica.Fetch(2, 13, 5);
  const auto committed = replica.Effects<raft::AppendCommitted>();
  ASSERT_THAT(committed, SizeIs(3));
  for (size_t i = 0; i < appends.size(); ++i) EXPECT_EQ(committed[i].token, appends[i]);
}

TEST(ConformanceAppend, C109_TheEpochsFirstRecordStandsAtTheLogEnd) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.BecomeLeader(Epoch(5));
  const auto control = replica.Effects<raft::AppendControlBatch>();
  ASSERT_THAT(control, SizeIs(1));
  EXPECT_EQ(control[0].base_offset, Offset(6));
  EXPECT_EQ(control[0].epoch, Epoch(5));
  EXPECT_TRUE(control[0].starts_epoch);
  EXPECT_EQ(control[0].voters, std::nullopt) << "the log holds the voters already";
  ASSERT_THAT(control[0].records, SizeIs(1));
  const auto& change = std::get<LeaderChange>(control[0].records[0]);
  EXPECT_EQ(change.leader, Key(1));
  EXPECT_THAT(change.voters, testing::ElementsAre(Key(1), Key(2), Key(3)));
  EXPECT_THAT(change.granting_voters, testing::Contains(Key(1)));
  EXPECT_THAT(change.granting_voters, SizeIs(2));
}

// 8.7: what is in the log may still be committed by somebody else, so nobody hears NOT_LEADER.
TEST(ConformanceAppend, C110_LosingTheLeadershipLeavesUncommittedAppendsUnknown) {
  for (const bool resign : {true, false}) {
    ReplicaHarness replica;
    Lead(replica);
    const raft::Token committed = replica.Append(1);
    const raft::Token first = replica.Append(1);
    const raft::Token second = replica.Append(1);
    replica.Fetch(2, 8, 5);
    if (resign) {
      replica.Step(raft::ResignRequested{Epoch(5), std::nullopt});
    } else {
      replica.Begin(3, Epoch(6));
    }
    EXPECT_EQ(replica.OutcomeOf(committed), AppendOutcome::kCommitted);
    EXPECT_EQ(replica.OutcomeOf(first), AppendOutcome::kUnknown);
    EXPECT_EQ(replica.OutcomeOf(second), AppendOutcome::kUnknown);
    EXPECT_THAT(replica.Effects<raft::AppendUnknown>(), SizeIs(2));
    EXPECT_THAT(replica.Effects<raft::AppendRefused>(), IsEmpty());
    EXPECT_EQ(replica.log_end(), Offset(10)) << "the records stay";
  }
}

TEST(ConformanceAppend, C110_AQuarantineSettlesAppendsToo) {
  ReplicaHarness replica;
  Lead(replica);
  const raft::Token append = replica.Append(1);
  replica.Step(raft::Damaged{"a bad sector"});
  EXPECT_EQ(replica.OutcomeOf(append), AppendOutcome::kUnknown);
  EXPECT_EQ(replica.OutcomeOf(replica.Append(1)), AppendOutcome::kRefused);
  EXPECT_EQ(Refusal(replica), RaftError::kBrokerNotAvailable);
}

}  // namespace
}  // namespace quorum::conformance
