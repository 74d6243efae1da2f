#include "storage/layout/key_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace quorum::storage {
namespace {

TEST(KeyCodec, SortsByPartitionThenOffset) {
  const std::vector<std::string> keys = {
      OffsetKey({TopicId(1), 0}, Offset(5)), OffsetKey({TopicId(1), 0}, Offset(256)),
      OffsetKey({TopicId(1), 1}, Offset(0)), OffsetKey({TopicId(1), 256}, Offset(0)),
      OffsetKey({TopicId(2), 0}, Offset(0)), OffsetKey({TopicId(uint64_t{1} << 40), 0}, Offset(0)),
  };
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

TEST(KeyCodec, APartitionsRangeHoldsAllItsKeysAndNoOthers) {
  for (const PartitionId partition :
       {PartitionId{TopicId(1), 0},
        PartitionId{TopicId(9), std::numeric_limits<uint32_t>::max()}}) {
    const std::string begin = PartitionKey(partition);
    const std::string end = PartitionEndKey(partition);
    EXPECT_LE(begin, OffsetKey(partition, Offset(0)));
    EXPECT_LT(OffsetKey(partition, Offset(kOffsetLimit.value() - 1)), end);
    EXPECT_LT(begin, ProducerKey(partition, 0));
    EXPECT_LT(ProducerKey(partition, std::numeric_limits<int64_t>::max()), end);
  }
  const PartitionId next{TopicId(10), 0};
  EXPECT_LE(PartitionEndKey({TopicId(9), std::numeric_limits<uint32_t>::max()}),
            OffsetKey(next, Offset(0)));
}

TEST(KeyCodec, ReadsBackWhatItWrote) {
  const PartitionId partition{TopicId(0x0102030405060708), 0x0a0b0c0d};
  EXPECT_EQ(ParsePartitionKey(PartitionKey(partition)), partition);
  const auto offset_key = ParseOffsetKey(OffsetKey(partition, Offset(77)));
  ASSERT_TRUE(offset_key.has_value());
  EXPECT_EQ(offset_key->partition, partition);
  EXPECT_EQ(offset_key->offset, Offset(77));
  for (const int64_t id : {int64_t{0}, std::numeric_limits<int64_t>::max()}) {
    const auto producer_key = ParseProducerKey(ProducerKey(partition, id));
    ASSERT_TRUE(producer_key.has_value());
    EXPECT_EQ(producer_key->partition, partition);
    EXPECT_EQ(producer_key->producer_id, id);
  }
  for (const ReplicaField field : {ReplicaField::kBirth, ReplicaField::kEndBound,
                                   ReplicaField::kHighWatermarkBound, ReplicaField::kLogStart}) {
    const auto replica_key = ParseReplicaKey(ReplicaKeyOf(partition, field));
    ASSERT_TRUE(replica_key.has_value());
    EXPECT_EQ(replica_key->partition, partition);
    EXPECT_EQ(replica_key->field, field);
  }
}

TEST(KeyCodec, RefusesOtherShapes) {
  EXPECT_FALSE(ParsePartitionKey("short").has_value());
  EXPECT_FALSE(ParseOffsetKey(PartitionKey({TopicId(1), 0})).has_value());
  EXPECT_FALSE(ParseOffsetKey(std::string(kOffsetKeySize, '\xff')).has_value());
  EXPECT_FALSE(ParseProducerKey(PartitionKey({TopicId(1), 0})).has_value());
  EXPECT_FALSE(ParseProducerKey(std::string(kOffsetKeySize, '\xff')).has_value());
  std::string unknown_field = ReplicaKeyOf({TopicId(1), 0}, ReplicaField::kBirth);
  unknown_field.back() = '?';
  EXPECT_FALSE(ParseReplicaKey(unknown_field).has_value());
}

}  // namespace
}  // namespace quorum::storage
