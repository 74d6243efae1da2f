// How records read back. That the bytes are those of quorum.v1.Record is shown in
// proto_agreement_test.cc.

#include "service/base/record_codec.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/base/control_record.h"
#include "service/base/prng.h"
#include "service/base/wire.h"

namespace quorum {
namespace {

constexpr PartitionId kPartition{TopicId(7), 3};
constexpr int64_t kNowMs = 1'700'000'000'000;

RecordFields Record(std::optional<std::string> key, std::optional<std::string> value) {
  RecordFields record;
  record.key = std::move(key);
  record.value = std::move(value);
  return record;
}

RecordBatch SealAt40(const BatchDraft& draft) {
  return RecordBatch::Seal(kPartition, Offset(40), Epoch(2), draft);
}

RecordBatch BatchOf(const std::vector<RecordFields>& records) {
  RecordsBuilder builder;
  for (const RecordFields& record : records) builder.Add(record);
  return SealAt40(builder.Finish(kNowMs));
}

std::string Bytes(uint32_t number, const std::string& content) {
  std::string out;
  wire::AddBytes(number, content, &out);
  return out;
}

std::string Varint(uint32_t number, uint64_t value) {
  std::string out;
  wire::AddVarint(number, value, &out);
  return out;
}

// What decoding a batch of one record with these bytes says.
absl::StatusOr<std::vector<DecodedRecord>> DecodeBytes(const std::string& record) {
  BatchDraft draft;
  draft.record_count = 1;
  draft.records = Bytes(kRecordsField, record);
  return DecodeRecords(SealAt40(draft));
}

TEST(RecordsBuilder, Finish_CountsTheRecords) {
  RecordsBuilder builder;
  EXPECT_EQ(builder.record_count(), 0u);
  EXPECT_EQ(builder.size_bytes(), 0u);
  builder.Add(Record("a", "1"));
  builder.Add(Record("b", "2"));
  EXPECT_EQ(builder.record_count(), 2u);
  const size_t size_bytes = builder.size_bytes();
  const BatchDraft draft = builder.Finish(kNowMs);
  EXPECT_EQ(draft.record_count, 2u);
  EXPECT_EQ(draft.records.size(), size_bytes);
  EXPECT_FALSE(draft.control);
}

TEST(RecordsBuilder, Finish_TimesOfTheBatch) {
  const auto draft_of = [](const std::vector<std::optional<int64_t>>& timestamps) {
    RecordsBuilder builder;
    for (const std::optional<int64_t> timestamp_ms : timestamps) {
      RecordFields record;
      record.timestamp_ms = timestamp_ms;
      builder.Add(record);
    }
    return builder.Finish(kNowMs);
  };
  EXPECT_EQ(draft_of({std::nullopt}).base_timestamp_ms, kNowMs);
  EXPECT_EQ(draft_of({std::nullopt}).max_timestamp_ms, kNowMs);
  // A writer's clock may be behind or ahead of ours.
  EXPECT_EQ(draft_of({5, std::nullopt, -5}).base_timestamp_ms, kNowMs);
  EXPECT_EQ(draft_of({5, std::nullopt, -5}).max_timestamp_ms, kNowMs);
  EXPECT_EQ(draft_of({kNowMs + 9, 5}).base_timestamp_ms, kNowMs);
  EXPECT_EQ(draft_of({kNowMs + 9, 5}).max_timestamp_ms, kNowMs + 9);
}

TEST(RecordsBuilder, Finish_LeavesTheBuilderEmpty) {
  RecordsBuilder builder;
  RecordFields late = Record("a", "1");
  late.timestamp_ms = kNowMs + 100;
  builder.Add(late);
  (void)builder.Finish(kNowMs).record_count;
  builder.Add(Record("b", "2"));
  const BatchDraft draft = builder.Finish(kNowMs);
  EXPECT_EQ(draft.max_timestamp_ms, kNowMs);
  const auto records = DecodeRecords(SealAt40(draft));
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ(records->at(0).fields, Record("b", "2"));
}

TEST(RecordsBuilderDeathTest, Finish_OfNothing_Dies) {
  RecordsBuilder builder;
  EXPECT_DEATH((void)builder.Finish(kNowMs).record_count, "record_count");
}

TEST(DecodeRecords, ReadsWhatTheBuilderWrote) {
  RecordFields full = Record(std::string("k\0y", 3), std::string(1000, 'v'));
  full.headers = {{"trace", "1"}, {"trace", ""}, {"empty", std::nullopt}};
  full.timestamp_ms = -7;
  const std::vector<RecordFields> written = {full, Record("k", std::nullopt),
                                             Record(std::nullopt, "v"), RecordFields{}};
  const auto read = DecodeRecords(BatchOf(written));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(read->at(i).fields, written[i]) << i;
    EXPECT_EQ(read->at(i).offset, Offset(40) + static_cast<int64_t>(i));
    EXPECT_EQ(read->at(i).timestamp_ms, written[i].timestamp_ms.value_or(kNowMs));
  }
}

// Each pair below is one value to a careless reader and two to us.
TEST(DecodeRecords, AbsentAndEmpty_AreToldApart) {
  const auto read = DecodeRecords(BatchOf({Record("", ""), Record(std::nullopt, std::nullopt)}));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->at(0).fields.key, "");
  EXPECT_EQ(read->at(0).fields.value, "");
  EXPECT_EQ(read->at(1).fields.key, std::nullopt);
  EXPECT_EQ(read->at(1).fields.value, std::nullopt);

  RecordFields epoch_start;
  epoch_start.timestamp_ms = 0;
  const auto timed = DecodeRecords(BatchOf({epoch_start}));
  ASSERT_TRUE(timed.ok());
  EXPECT_EQ(timed->at(0).timestamp_ms, 0);
}

TEST(DecodeRecords, ManyRecords_KeepOrderAndOffsets) {
  std::vector<RecordFields> written;
  for (int i = 0; i < 1000; ++i) written.push_back(Record(std::to_string(i), std::nullopt));
  const auto read = DecodeRecords(BatchOf(written));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 1000u);
  for (size_t i = 0; i < read->size(); ++i) {
    EXPECT_EQ(read->at(i).fields, written[i]);
    EXPECT_EQ(read->at(i).offset.value(), 40 + static_cast<int64_t>(i));
  }
}

TEST(DecodeRecords, ControlBatch_HasNone) {
  LeaderChange change;
  change.leader = ReplicaKey{NodeId(1), DirectoryId{0, 1}};
  const auto read = DecodeRecords(SealAt40(EncodeControlBatch({change}, kNowMs)));
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->empty());
}

TEST(DecodeRecords, FieldsOfALaterVersion_ArePassedOver) {
  const std::string later = Bytes(6, "later") + Varint(99, 1);
  const std::string header = Bytes(3, Bytes(1, "h") + later);
  const auto read = DecodeBytes(later + Bytes(2, "v") + header + Varint(5, 0) + later);
  ASSERT_TRUE(read.ok()) << read.status();
  RecordFields expected = Record(std::nullopt, "v");
  expected.headers = {{"h", std::nullopt}};
  EXPECT_EQ(read->at(0).fields, expected);
}

TEST(DecodeRecords, MalformedRecord_IsDataLoss) {
  const std::string delta = Varint(5, 0);
  ASSERT_TRUE(DecodeBytes(delta).ok());
  for (const std::string& record : {
           std::string(),
           Varint(5, 1),
           Varint(5, uint64_t{1} << 32),
           delta + delta,
           Bytes(5, "0"),
           delta + Varint(1, 1),
           delta + Varint(2, 1),
           delta + Varint(3, 1),
           delta + Bytes(4, "now"),
           delta + Bytes(1, "k") + Bytes(1, "k"),
           delta + Bytes(2, "v") + Bytes(2, "v"),
           delta + Varint(4, 1) + Varint(4, 1),
           delta + Bytes(3, "\x80"),
           delta + Bytes(3, Varint(1, 1)),
           delta + Bytes(3, Bytes(1, "h") + Bytes(1, "h")),
           delta + Bytes(3, Bytes(2, "v") + Bytes(2, "v")),
           delta + "\x80",
       }) {
    EXPECT_EQ(DecodeBytes(record).status().code(), absl::StatusCode::kDataLoss)
        << ::testing::PrintToString(record);
  }
}

TEST(DecodeRecords, RecordsInTheWrongOrder_IsDataLoss) {
  BatchDraft draft;
  draft.record_count = 2;
  draft.records = Bytes(kRecordsField, Varint(5, 1)) + Bytes(kRecordsField, Varint(5, 0));
  EXPECT_EQ(DecodeRecords(SealAt40(draft)).status().code(), absl::StatusCode::kDataLoss);
}

TEST(DecodeRecords, RandomBytes_AreReadOrRefused) {
  Prng prng(1);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string record;
    for (uint64_t size = prng.Below(12); size > 0; --size) {
      record.push_back(static_cast<char>(prng.Below(48)));
    }
    const auto read = DecodeBytes(record + Varint(5, 0));
    refused += read.ok() ? 0 : 1;
    if (read.ok()) EXPECT_EQ(read->size(), 1u);
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 20000);
}

}  // namespace
}  // namespace quorum
