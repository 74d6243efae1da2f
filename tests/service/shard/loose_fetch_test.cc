// How much an answer to a Fetch without a session holds, and who has records in it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tests/service/shard/shard_harness.h"

namespace quorum::shard {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kPartitions = 30;
constexpr size_t kValueSize = 1'000;
// The size of a batch at most.
constexpr size_t kBatchSize = kValueSize + 200;

// A leader of many partitions with four batches each, in the cache or on the disk only. Nobody
// waits for their records, so `max_wait` is zero.
class LooseFetchTest : public ::testing::TestWithParam<bool> {
 protected:
  LooseFetchTest() : shard_(1, GetParam() ? Cold() : ShardConfig()) {
    for (uint64_t topic = 1; topic <= kPartitions; ++topic) {
      shard_.Lead(Id(topic), VotersOf(3));
      for (int i = 0; i < 4; ++i) (void)shard_.Append(Id(topic), DraftOf(1, kValueSize));
      names_.push_back(Id(topic));
    }
    shard_.Sync();
  }

  static ShardConfig Cold() {
    ShardConfig config;
    config.cache_bytes_max = 0;
    return config;
  }

  Awaited<LaneResponse> Ask(size_t max_bytes) {
    FetchBatch batch;
    batch.anonymous = true;
    batch.max_bytes = max_bytes;
    for (const PartitionId& id : names_) batch.entries.push_back(FetchAt(id, 1, 2, 1));
    return shard_.Request(3, std::move(batch));
  }

  // Answered, whatever it takes to read.
  LaneResponse Fetch(size_t max_bytes) {
    const auto response = Ask(max_bytes);
    while (!response->has_value() && shard_.disk().HasPendingReads()) {
      EXPECT_TRUE(shard_.disk().CompleteReads(1));
      ++reads_;
      shard_.Run();
    }
    return response->value();
  }

  // Those that have records, in the order of names_; all are named.
  std::vector<PartitionId> Served(const LaneResponse& response) const {
    std::vector<PartitionId> served;
    for (const PartitionId& id : names_) {
      const FetchAnswerEntry* entry = FetchedOf(response, id);
      if (entry == nullptr || entry->header.error != raft::RaftError::kNone) {
        ADD_FAILURE() << id;
        continue;
      }
      EXPECT_EQ(entry->high_watermark, Offset(2)) << id;
      if (!entry->batches.empty()) served.push_back(id);
    }
    return served;
  }

  static size_t BytesOf(const LaneResponse& response) {
    size_t bytes = 0;
    for (const FetchAnswerEntry& entry : std::get<FetchAnswer>(response.body).entries) {
      for (const RecordBatch& batch : entry.batches) bytes += batch.size();
    }
    return bytes;
  }

  ShardHarness shard_;
  std::vector<PartitionId> names_;
  int reads_ = 0;
};

TEST_P(LooseFetchTest, HoldsItsBytesAndTheRestOfOneBatch) {
  for (const size_t max_bytes : {size_t{0}, size_t{1}, 3 * kValueSize, 10 * kValueSize}) {
    const LaneResponse response = Fetch(max_bytes);
    EXPECT_THAT(std::get<FetchAnswer>(response.body).entries, SizeIs(kPartitions));
    EXPECT_LT(BytesOf(response), max_bytes + kBatchSize);
    EXPECT_GT(BytesOf(response), max_bytes);
  }
  EXPECT_EQ(shard_.shard().waiter_count(), kPartitions * 4) << "the appends";
}

TEST_P(LooseFetchTest, WhoIsNamedFirstHasRecords) {
  EXPECT_THAT(Served(Fetch(0)), ElementsAre(Id(1)));
  EXPECT_THAT(Served(Fetch(5 * kValueSize)), ElementsAre(Id(1), Id(2)));
  std::reverse(names_.begin(), names_.end());
  EXPECT_THAT(Served(Fetch(0)), ElementsAre(Id(kPartitions)));
}

TEST_P(LooseFetchTest, WhoRotatesItsRequestHasThemAll) {
  std::set<PartitionId> served;
  for (int i = 0; i < 100 && served.size() < kPartitions; ++i) {
    const std::vector<PartitionId> now = Served(Fetch(3 * kValueSize));
    ASSERT_FALSE(now.empty());
    served.insert(now.begin(), now.end());
    std::rotate(names_.begin(), names_.begin() + static_cast<ptrdiff_t>(now.size()), names_.end());
  }
  EXPECT_THAT(served, SizeIs(kPartitions));
}

TEST_P(LooseFetchTest, NoMoreIsReadThanIsSent) {
  EXPECT_THAT(Served(Fetch(5 * kValueSize)), SizeIs(2));
  EXPECT_EQ(reads_, GetParam() ? 2 : 0);
  EXPECT_THAT(Served(Fetch(1 << 20)), SizeIs(kPartitions)) << "all fit";
}

INSTANTIATE_TEST_SUITE_P(CachedAndCold, LooseFetchTest, testing::Bool());

using ColdLooseFetchTest = LooseFetchTest;

// A disk that is slow must not keep the reader of many partitions waiting for ever.
TEST_P(ColdLooseFetchTest, ReadingEndsAfterAWhile) {
  const auto response = Ask(1 << 20);
  shard_.Advance(Ms(600));
  EXPECT_FALSE(response->has_value()) << "it has nothing yet";
  ASSERT_TRUE(shard_.disk().CompleteReads(1));
  shard_.Run();
  ASSERT_TRUE(response->has_value());
  EXPECT_THAT(Served(**response), ElementsAre(Id(1)));
}

// Who is read from the disk is not overtaken by those that are cached.
TEST_P(ColdLooseFetchTest, WhoIsCachedWaitsForWhoIsNotAndIsNamedFirst) {
  // What is not synced is in the cache.
  shard_.Lead(Id(99), VotersOf(3));
  (void)shard_.Append(Id(99), DraftOf(1, kValueSize));
  FetchBatch batch;
  batch.max_bytes = 1;
  batch.entries = {FetchAt(Id(1), 1, 2, 1), FetchAt(Id(99), 1, 2, 1)};
  auto response = shard_.Request(3, batch);
  EXPECT_FALSE(response->has_value());
  shard_.Read();
  ASSERT_TRUE(response->has_value());
  EXPECT_THAT(FetchedOf(**response, Id(1))->batches, SizeIs(1));
  EXPECT_THAT(FetchedOf(**response, Id(99))->batches, IsEmpty());
  std::swap(batch.entries[0], batch.entries[1]);
  response = shard_.Request(3, batch);
  ASSERT_TRUE(response->has_value()) << "no disk is read";
  EXPECT_THAT(FetchedOf(**response, Id(99))->batches, SizeIs(1));
  EXPECT_THAT(FetchedOf(**response, Id(1))->batches, IsEmpty());
}

// What was offered counts only while its replica is in the role that offered it.
TEST_P(ColdLooseFetchTest, WhatADeposedLeaderHasOfferedIsNotRead) {
  const auto response = Ask(1 << 20);
  (void)shard_.Request(3, BeginBatch{{BeginEntry{Id(2), Epoch(2)}}});
  shard_.Read();
  ASSERT_TRUE(response->has_value());
  EXPECT_EQ(FetchedOf(**response, Id(2))->header.error, raft::RaftError::kBrokerNotAvailable);
  EXPECT_THAT(FetchedOf(**response, Id(3))->batches, SizeIs(4));
}

INSTANTIATE_TEST_SUITE_P(Cold, ColdLooseFetchTest, testing::Values(true));

}  // namespace
}  // namespace quorum::shard
