// One of three voters that leads, for the tests of what it judges.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "service/base/ids.h"
#include "service/shard/client_calls.h"
#include "tests/service/shard/producer_calls.h"
#include "tests/service/shard/shard_fixtures.h"
#include "tests/service/shard/shard_harness.h"

namespace quorum::shard {

inline const PartitionId kJudged = Id(10);

// One of three voters that leads epoch 1, and whose log ends at 2, behind its control records.
class ShardProducersTest : public testing::Test {
 protected:
  ShardProducersTest() { shard_.Lead(kJudged, VotersOf(3)); }

  Awaited<AppendResult> Add(const Wanted& wanted) { return Append(shard_, kJudged, wanted); }
  Awaited<AppendResult> Add(const ProducerStamp& stamp, uint32_t records = 1) {
    Wanted wanted;
    wanted.producer = stamp;
    wanted.records = records;
    return Add(wanted);
  }
  Awaited<AppendResult> AddIf(int64_t expected_offset) {
    Wanted wanted;
    wanted.expected_offset = expected_offset;
    return Add(wanted);
  }
  void Commit() { CommitAll(shard_, kJudged); }
  // A candidate of a later epoch takes the leadership away.
  void LoseLeadership() {
    (void)shard_.Request(3, VoteBatch{{VoteFor(kJudged, 5, 90, 4)}});
    shard_.Sync();
  }
  Offset End() const { return shard_.Replica(kJudged).log().end(); }

  static void ExpectCommitted(const Awaited<AppendResult>& result, int64_t offset, bool duplicate) {
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ((*result)->outcome, AppendResult::Outcome::kCommitted);
    EXPECT_EQ((*result)->base_offset, Offset(offset));
    EXPECT_EQ((*result)->duplicate, duplicate);
    EXPECT_EQ((*result)->epoch, Epoch(1));
  }
  void ExpectRefused(const Awaited<AppendResult>& result, AppendRefusal refusal) {
    if (!result->has_value()) ProveLeadership(shard_, kJudged, ++session_);
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ((*result)->outcome, AppendResult::Outcome::kRefused);
    EXPECT_EQ((*result)->refusal, refusal);
    EXPECT_EQ((*result)->error, raft::RaftError::kNone);
    EXPECT_EQ((*result)->hint.leader, Key(1));
  }
  static void ExpectNotLeader(const Awaited<AppendResult>& result) {
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ((*result)->outcome, AppendResult::Outcome::kRefused);
    EXPECT_EQ((*result)->refusal, AppendRefusal::kNone);
    EXPECT_EQ((*result)->error, raft::RaftError::kNotLeaderOrFollower);
  }

  ShardHarness shard_;
  uint64_t session_ = 0;
};

}  // namespace quorum::shard
