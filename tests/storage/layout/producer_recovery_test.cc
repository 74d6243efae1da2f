// What recovery gives back of a replica's producers: what was stored, and the batches above it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/base/control_record.h"
#include "service/base/producer.h"
#include "service/base/record_batch.h"
#include "service/base/wire.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/producer_codec.h"
#include "storage/layout/recover.h"
#include "storage/layout/write_encoder.h"
#include "storage/memory/memory_image.h"
#include "tests/storage/store_fixtures.h"

namespace quorum::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ProducerState Producer(int64_t id, int64_t last_offset) {
  ProducerState producer;
  producer.id = id;
  producer.next_sequence = 4;
  producer.last_offset = Offset(last_offset);
  producer.last_timestamp_ms = 900;
  producer.batches.push_back(ProducerBatch{0, 3, 1, Offset(last_offset)});
  return producer;
}

class ProducerRecoveryTest : public ::testing::Test {
 protected:
  ProducerRecoveryTest() {
    EncodeFormat(MakePlan(), &image_);
    EncodeWriteSet(BirthSet(kPartition), &image_);
    Apply(PutLeaderEpoch{kPartition, Epoch(1), Offset(0)});
  }

  void Apply(Write write) { EncodeWriteSet(WriteSet{{std::move(write)}, false}, &image_); }

  // One batch at the end.
  void Append(std::optional<ProducerStamp> stamp, uint32_t records = 1, int64_t time_ms = 1000) {
    BatchDraft draft;
    draft.record_count = records;
    draft.base_timestamp_ms = time_ms;
    draft.max_timestamp_ms = time_ms + 5;
    draft.producer = stamp;
    for (uint32_t i = 0; i < records; ++i) wire::AddBytes(kRecordsField, "", &draft.records);
    Add(draft);
  }
  void Bind(const ProducerBinding& binding) { Add(EncodeControlBatch({binding}, 1000)); }

  // Up to `offset`.
  void Store(int64_t offset, std::vector<ProducerState> changed,
             std::vector<int64_t> removed = {}) {
    Apply(PutProducers{kPartition, ProducerSummary{Offset(offset), Offset(offset), 900},
                       std::move(changed), std::move(removed)});
  }

  const RecoveredReplica& Recover() {
    const auto error = RecoverImage(image_, RecoveryBudget(), &recovered_);
    EXPECT_FALSE(error.has_value()) << error->message;
    const RecoveredReplica* replica = FindReplica(recovered_.store, kPartition);
    EXPECT_NE(replica, nullptr);
    return *replica;
  }
  std::string Damage() { return Recover().damage.value_or("sound"); }

  MemoryImage image_;
  RecoveredImage recovered_;
  Offset end_;

 private:
  void Add(const BatchDraft& draft) {
    const RecordBatch batch = RecordBatch::Seal(kPartition, end_, Epoch(1), draft);
    Apply(AppendBatch{kPartition, batch});
    end_ = batch.next_offset();
  }
};

// What a version without producers has left.
TEST_F(ProducerRecoveryTest, WithNothingStored_TheWholeLogIsRead) {
  Append(std::nullopt, 3);
  Append(ProducerStamp{7, 0, 0}, 2, 1010);
  Bind(ProducerBinding{"a", kNamedProducerIds + 5, 0});
  const RecoveredReplica& replica = Recover();
  ASSERT_EQ(replica.damage, std::nullopt);
  EXPECT_EQ(replica.producers.summary, ProducerSummary{});
  ASSERT_THAT(replica.batches_above, SizeIs(3));
  EXPECT_EQ(replica.batches_above[0].next_offset, Offset(3));
  EXPECT_FALSE(replica.batches_above[0].producer.has_value());
  EXPECT_EQ(replica.batches_above[1].producer, (ProducerStamp{7, 0, 0}));
  EXPECT_EQ(replica.batches_above[1].base_timestamp_ms, 1010);
  EXPECT_EQ(replica.batches_above[1].record_count(), 2u);
  EXPECT_TRUE(replica.batches_above[2].control);
  ASSERT_THAT(replica.batches_above[2].bindings, SizeIs(1));
  EXPECT_EQ(replica.batches_above[2].bindings[0].first, Offset(5));
}

TEST_F(ProducerRecoveryTest, OnlyWhatLiesAboveTheStoredStateIsRead) {
  Append(std::nullopt, 3);
  Append(ProducerStamp{7, 0, 3});
  Append(ProducerStamp{7, 0, 4});
  Store(4, {Producer(7, 3), Producer(kNamedProducerIds + 1, 1)});
  const RecoveredReplica& replica = Recover();
  ASSERT_EQ(replica.damage, std::nullopt);
  EXPECT_EQ(replica.producers.summary, (ProducerSummary{Offset(4), Offset(4), 900}));
  EXPECT_THAT(replica.producers.producers,
              ElementsAre(Producer(7, 3), Producer(kNamedProducerIds + 1, 1)));
  ASSERT_THAT(replica.batches_above, SizeIs(1));
  EXPECT_EQ(replica.batches_above[0].base_offset, Offset(4));
}

TEST_F(ProducerRecoveryTest, ALaterWriteReplacesAndRemoves) {
  Append(std::nullopt, 9);
  Store(0, {});
  Store(9, {Producer(7, 3), Producer(8, 4)});
  Store(9, {Producer(7, 6)}, {8, 99});
  const RecoveredReplica& replica = Recover();
  EXPECT_THAT(replica.producers.producers, ElementsAre(Producer(7, 6)));
  EXPECT_THAT(replica.batches_above, IsEmpty());
}

TEST_F(ProducerRecoveryTest, CommittedBatchesOfNobodyStandAsOne) {
  for (int i = 0; i < 4; ++i) Append(std::nullopt, 2, 1000 + i);
  Append(ProducerStamp{7, 0, 0});
  for (int i = 0; i < 3; ++i) Append(std::nullopt, 2);
  Apply(PutBounds{kPartition, end_, Offset(11)});
  const RecoveredReplica& replica = Recover();
  ASSERT_THAT(replica.batches_above, SizeIs(5));
  EXPECT_EQ(replica.batches_above[0].next_offset, Offset(8));
  EXPECT_EQ(replica.batches_above[0].base_timestamp_ms, 1003);
  EXPECT_EQ(replica.batches_above[1].producer, (ProducerStamp{7, 0, 0}));
  EXPECT_EQ(replica.batches_above[2].next_offset, Offset(11));
  EXPECT_EQ(replica.batches_above[3].next_offset, Offset(13)) << "may still be cut, alone";
}

TEST_F(ProducerRecoveryTest, OtherPartitionsAreLeftAlone) {
  EncodeWriteSet(BirthSet(kOtherPartition), &image_);
  Apply(PutProducers{kOtherPartition, ProducerSummary{}, {}, {}});
  Append(ProducerStamp{7, 0, 0});
  Store(1, {Producer(7, 0)});
  EXPECT_THAT(Recover().producers.producers, SizeIs(1));
  EXPECT_THAT(FindReplica(recovered_.store, kOtherPartition)->producers.producers, IsEmpty());
}

TEST_F(ProducerRecoveryTest, ABuriedReplicaHasNone) {
  Append(std::nullopt);
  Store(1, {Producer(7, 0)});
  Apply(BuryReplica{kPartition});
  EncodeWriteSet(BirthSet(kPartition), &image_);
  const RecoveredReplica& replica = Recover();
  EXPECT_EQ(replica.damage, std::nullopt);
  EXPECT_THAT(replica.producers.producers, IsEmpty());
  EXPECT_EQ(replica.producers.summary, ProducerSummary{});
}

TEST_F(ProducerRecoveryTest, AStateBeyondTheLogIsDamage) {
  Append(std::nullopt, 3);
  Store(4, {});
  EXPECT_THAT(Damage(), HasSubstr("stored for offset 4"));
}

TEST_F(ProducerRecoveryTest, AStateInsideOfABatchIsDamage) {
  Append(std::nullopt, 3);
  Store(2, {});
  EXPECT_THAT(Damage(), HasSubstr("cannot be read on from 2"));
}

TEST_F(ProducerRecoveryTest, AProducerNewerThanTheStateIsDamage) {
  Append(std::nullopt, 3);
  Store(2, {Producer(7, 2)});
  EXPECT_THAT(Damage(), HasSubstr("Producer 7 is newer"));
}

TEST_F(ProducerRecoveryTest, ProducersWithoutTheirOffsetAreDamage) {
  Append(std::nullopt, 3);
  Store(3, {Producer(7, 2)});
  image_.Delete(ColumnFamily::kProducers, PartitionKey(kPartition));
  EXPECT_THAT(Damage(), HasSubstr("not up to which offset"));
}

TEST_F(ProducerRecoveryTest, AKeyOfNoProducerIsDamage) {
  Append(std::nullopt, 3);
  Store(3, {});
  const std::string key = PartitionKey(kPartition) + std::string(8, '\xff');
  image_.Put(ColumnFamily::kProducers, key, EncodeProducer({ColumnFamily::kProducers, key}, {}));
  EXPECT_THAT(Damage(), HasSubstr("malformed"));
}

}  // namespace
}  // namespace quorum::storage
