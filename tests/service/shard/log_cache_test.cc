#include "service/shard/log_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "service/base/prng.h"
#include "tests/service/shard/shard_fixtures.h"

namespace quorum::shard {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const PartitionId kA = Id(10);
const PartitionId kB = Id(11);
const size_t kBatchSize = BatchAt(kA, 0).size();

// The base offsets that a read gives; absent when the cache does not reach back.
std::optional<std::vector<int64_t>> BasesOf(const LogCache& cache, PartitionId partition,
                                            int64_t from, int64_t end = 1'000'000,
                                            size_t max_bytes = SIZE_MAX) {
  const auto read = cache.Read(partition, Offset(from), Offset(end), max_bytes);
  if (!read.has_value()) return std::nullopt;
  std::vector<int64_t> bases;
  for (const RecordBatch& batch : *read) bases.push_back(batch.base_offset().value());
  return bases;
}

TEST(LogCacheTest, ReadsFromTheBatchThatHoldsTheOffset) {
  LogCache cache(1 << 20);
  EXPECT_EQ(BasesOf(cache, kA, 0), std::nullopt);
  for (const int64_t base : {5, 8, 11}) cache.Append(kA, BatchAt(kA, base, 1, 3));
  EXPECT_EQ(BasesOf(cache, kA, 4), std::nullopt) << "the cache does not reach back";
  EXPECT_THAT(*BasesOf(cache, kA, 5), ElementsAre(5, 8, 11));
  EXPECT_THAT(*BasesOf(cache, kA, 7), ElementsAre(5, 8, 11));
  EXPECT_THAT(*BasesOf(cache, kA, 8), ElementsAre(8, 11));
  EXPECT_THAT(*BasesOf(cache, kA, 14), IsEmpty());
  EXPECT_THAT(*BasesOf(cache, kA, 5, 11), ElementsAre(5, 8));
}

TEST(LogCacheTest, KeepsToTheBytesButAlwaysGivesTheFirstBatch) {
  LogCache cache(1 << 20);
  for (const int64_t base : {0, 1, 2}) cache.Append(kA, BatchAt(kA, base));
  EXPECT_THAT(*BasesOf(cache, kA, 0, 3, 0), ElementsAre(0));
  EXPECT_THAT(*BasesOf(cache, kA, 0, 3, 2 * kBatchSize), ElementsAre(0, 1));
  EXPECT_THAT(*BasesOf(cache, kA, 0, 3, 2 * kBatchSize - 1), ElementsAre(0));
}

TEST(LogCacheTest, PinsWhatIsNotSyncedHoweverMuchThatIs) {
  LogCache cache(2 * kBatchSize);
  for (int64_t base = 0; base < 10; ++base) cache.Append(kA, BatchAt(kA, base));
  EXPECT_EQ(BasesOf(cache, kA, 0)->size(), 10u);
  cache.SetDurable(kA, Offset(4));
  EXPECT_EQ(cache.bytes(), 6 * kBatchSize);
  EXPECT_EQ(BasesOf(cache, kA, 3), std::nullopt);
  EXPECT_THAT(*BasesOf(cache, kA, 4), ElementsAre(4, 5, 6, 7, 8, 9));
  cache.SetDurable(kA, Offset(10));
  EXPECT_THAT(*BasesOf(cache, kA, 8), ElementsAre(8, 9));
}

TEST(LogCacheTest, PinsABatchOfWhichOnlyTheBeginningIsBelowTheDurableEnd) {
  LogCache cache(0);
  cache.Append(kA, BatchAt(kA, 0, 1, 3));
  cache.SetDurable(kA, Offset(2));
  EXPECT_THAT(*BasesOf(cache, kA, 0), ElementsAre(0));
  cache.SetDurable(kA, Offset(3));
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(LogCacheTest, EvictsWhatCameInFirstOverAllPartitions) {
  LogCache cache(3 * kBatchSize);
  cache.Append(kB, BatchAt(kB, 0));
  cache.Append(kA, BatchAt(kA, 0));
  cache.Append(kB, BatchAt(kB, 1));
  cache.SetDurable(kA, Offset(1));
  cache.SetDurable(kB, Offset(2));
  cache.Append(kA, BatchAt(kA, 1));
  EXPECT_EQ(BasesOf(cache, kB, 0), std::nullopt) << "the oldest is gone";
  EXPECT_THAT(*BasesOf(cache, kA, 0), ElementsAre(0, 1));
  cache.Append(kA, BatchAt(kA, 2));
  EXPECT_EQ(BasesOf(cache, kA, 0), std::nullopt);
  EXPECT_THAT(*BasesOf(cache, kB, 1), ElementsAre(1));
}

TEST(LogCacheTest, APinnedPartitionDoesNotKeepOthersFromBeingEvicted) {
  LogCache cache(kBatchSize);
  cache.Append(kA, BatchAt(kA, 0));
  cache.Append(kB, BatchAt(kB, 0));
  cache.SetDurable(kB, Offset(1));
  EXPECT_THAT(*BasesOf(cache, kA, 0), ElementsAre(0));
  EXPECT_EQ(BasesOf(cache, kB, 0), std::nullopt);
}

TEST(LogCacheTest, ATruncatedTailIsReplacedAndPinnedAgain) {
  LogCache cache(0);
  for (const int64_t base : {0, 1, 2}) cache.Append(kA, BatchAt(kA, base));
  ASSERT_TRUE(cache.TruncateTo(kA, Offset(1)));
  EXPECT_EQ(cache.bytes(), kBatchSize);
  cache.Append(kA, BatchAt(kA, 1, 2));
  EXPECT_EQ(cache.Read(kA, Offset(1), Offset(2), SIZE_MAX)->front().epoch(), Epoch(2));
  cache.SetDurable(kA, Offset(1));
  EXPECT_THAT(*BasesOf(cache, kA, 1), ElementsAre(1)) << "only what was below the cut is durable";
  // What was durable above the cut says nothing of the batches that took its place.
  cache.SetDurable(kA, Offset(2));
  EXPECT_EQ(cache.bytes(), 0u);
  cache.Append(kA, BatchAt(kA, 2, 2));
  ASSERT_TRUE(cache.TruncateTo(kA, Offset(1)));
  cache.Append(kA, BatchAt(kA, 1, 3));
  EXPECT_THAT(*BasesOf(cache, kA, 1), ElementsAre(1)) << "evicted without having been synced";
}

TEST(LogCacheTest, ACutInsideOfABatchIsRefusedAndChangesNothing) {
  LogCache cache(1 << 20);
  cache.Append(kA, BatchAt(kA, 0));
  cache.Append(kA, BatchAt(kA, 1, 1, 3));
  EXPECT_FALSE(cache.TruncateTo(kA, Offset(2)));
  EXPECT_FALSE(cache.TruncateTo(kA, Offset(3)));
  EXPECT_THAT(*BasesOf(cache, kA, 0), ElementsAre(0, 1));
  EXPECT_TRUE(cache.TruncateTo(kA, Offset(4)));
  EXPECT_TRUE(cache.TruncateTo(kA, Offset(1)));
  EXPECT_THAT(*BasesOf(cache, kA, 0), ElementsAre(0));
}

TEST(LogCacheTest, ADroppedPartitionTakesItsBytesAlong) {
  LogCache cache(1 << 20);
  cache.Append(kA, BatchAt(kA, 0));
  cache.Append(kB, BatchAt(kB, 0));
  cache.SetDurable(kA, Offset(1));
  cache.Drop(kA);
  EXPECT_EQ(cache.bytes(), kBatchSize);
  EXPECT_EQ(BasesOf(cache, kA, 0), std::nullopt);
  // Born again, it may start anywhere.
  cache.Append(kA, BatchAt(kA, 7));
  EXPECT_THAT(*BasesOf(cache, kA, 7), ElementsAre(7));
}

TEST(LogCacheDeathTest, AGapInALogIsABug) {
  LogCache cache(1 << 20);
  cache.Append(kA, BatchAt(kA, 0));
  EXPECT_DEATH(cache.Append(kA, BatchAt(kA, 2)), "next_offset");
}

// Against a log that is never evicted: whatever is read is what was appended, whatever is not
// durable can be read, and the budget is kept while anything durable is left.
TEST(LogCacheTest, AgreesWithAnUnboundedLogInRandomOrders) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Prng prng(seed);
    LogCache cache(20 * kBatchSize);
    std::map<PartitionId, std::vector<RecordBatch>> logs;
    std::map<PartitionId, size_t> durable;
    for (int step = 0; step < 400; ++step) {
      const PartitionId id = Id(prng.Below(4) + 1);
      std::vector<RecordBatch>& log = logs[id];
      const uint64_t choice = prng.Below(10);
      if (choice < 6) {
        log.push_back(BatchAt(id, static_cast<int64_t>(log.size()), step + 1));
        cache.Append(id, log.back());
      } else if (choice < 8) {
        durable[id] += prng.Below(log.size() - durable[id] + 1);
        cache.SetDurable(id, Offset(static_cast<int64_t>(durable[id])));
      } else if (choice < 9) {
        const size_t end = prng.Below(log.size() + 1);
        log.erase(log.begin() + static_cast<int64_t>(end), log.end());
        durable[id] = std::min(durable[id], end);
        ASSERT_TRUE(cache.TruncateTo(id, Offset(static_cast<int64_t>(end))));
      }
      size_t durable_cached = 0;
      for (const auto& [partition, batches] : logs) {
        for (size_t from = 0; from < batches.size(); ++from) {
          const auto read = cache.Read(partition, Offset(static_cast<int64_t>(from)),
                                       Offset(1'000'000), SIZE_MAX);
          if (from >= durable[partition]) {
            ASSERT_TRUE(read.has_value()) << "seed " << seed << " step " << step;
          }
          if (!read.has_value()) continue;
          if (from < durable[partition]) ++durable_cached;
          ASSERT_EQ(read->size(), batches.size() - from);
          for (size_t i = 0; i < read->size(); ++i) {
            ASSERT_EQ((*read)[i].bytes(), batches[from + i].bytes());
          }
        }
      }
      if (durable_cached > 0) ASSERT_LE(cache.bytes(), 20 * kBatchSize);
    }
  }
}

}  // namespace
}  // namespace quorum::shard
