#include "storage/layout/read_batches.h"

#include <gtest/gtest.h>

#include <vector>

#include "storage/layout/key_codec.h"
#include "storage/memory/memory_image.h"
#include "tests/storage/store_fixtures.h"

namespace quorum::storage {
namespace {

class ReadBatchesTest : public ::testing::Test {
 protected:
  // Batches [0, 3), [3, 4), [4, 8) of kPartition, and neighbours on both sides.
  ReadBatchesTest() {
    Put(kPartition, 0, 3);
    Put(kPartition, 3, 1);
    Put(kPartition, 4, 4);
    Put({kPartition.topic, kPartition.index - 1}, 0, 1);
    Put({kPartition.topic, kPartition.index + 1}, 0, 1);
  }

  void Put(PartitionId partition, int64_t base, uint32_t records) {
    image_.Put(ColumnFamily::kLog, OffsetKey(partition, Offset(base)),
               MakeBatch(partition, base, 1, records).bytes());
  }

  ReadResult Read(int64_t from, int64_t end, size_t max_bytes = 1 << 20) {
    return ReadBatches(image_, {kPartition, Offset(from), Offset(end), max_bytes});
  }

  std::vector<int64_t> Bases(int64_t from, int64_t end, size_t max_bytes = 1 << 20) {
    const ReadResult result = Read(from, end, max_bytes);
    EXPECT_TRUE(result.ok()) << result.status().message();
    std::vector<int64_t> bases;
    for (const RecordBatch& batch : *result) bases.push_back(batch.base_offset().value());
    return bases;
  }

  MemoryImage image_;
};

using Offsets = std::vector<int64_t>;

TEST_F(ReadBatchesTest, StartsWithTheBatchThatHoldsTheFirstOffset) {
  EXPECT_EQ(Bases(0, 8), (Offsets{0, 3, 4}));
  EXPECT_EQ(Bases(2, 8), (Offsets{0, 3, 4}));
  EXPECT_EQ(Bases(3, 8), (Offsets{3, 4}));
  EXPECT_EQ(Bases(7, 8), (Offsets{4}));
}

TEST_F(ReadBatchesTest, EndsBelowTheEnd) {
  EXPECT_EQ(Bases(0, 4), (Offsets{0, 3}));
  EXPECT_EQ(Bases(0, 3), (Offsets{0}));
  EXPECT_EQ(Bases(4, 4), (Offsets{}));
  EXPECT_EQ(Bases(8, 100), (Offsets{}));
}

TEST_F(ReadBatchesTest, GivesTheFirstBatchWhateverItsSizeAndNoMoreThanAsked) {
  EXPECT_EQ(Bases(0, 8, 1), (Offsets{0}));
  const size_t two = MakeBatch(kPartition, 0, 1, 3).size() + MakeBatch(kPartition, 3, 1, 1).size();
  EXPECT_EQ(Bases(0, 8, two), (Offsets{0, 3}));
  EXPECT_EQ(Bases(0, 8, two - 1), (Offsets{0}));
}

TEST_F(ReadBatchesTest, AGapIsDataLoss) {
  image_.Delete(ColumnFamily::kLog, OffsetKey(kPartition, Offset(3)));
  EXPECT_TRUE(absl::IsDataLoss(Read(0, 8).status()));
  EXPECT_TRUE(absl::IsDataLoss(Read(3, 8).status()));
  EXPECT_EQ(Bases(4, 8), (Offsets{4}));
}

TEST_F(ReadBatchesTest, AMissingStartIsDataLoss) {
  image_.Delete(ColumnFamily::kLog, OffsetKey(kPartition, Offset(0)));
  EXPECT_TRUE(absl::IsDataLoss(Read(0, 8).status()));
}

TEST_F(ReadBatchesTest, AFlippedBitIsDataLoss) {
  // kPartition's batches are at positions 1 to 3, behind those of the partition before it.
  ASSERT_TRUE(image_.FlipBit(ColumnFamily::kLog, 2, 200));
  EXPECT_TRUE(absl::IsDataLoss(Read(0, 8).status()));
  EXPECT_EQ(Bases(0, 3), (Offsets{0}));
}

}  // namespace
}  // namespace quorum::storage
