// Batches that nobody honest seals are built from raw fields here, with a crc that matches, so that
// what is refused is refused for the reason that the test names.

#include "service/base/record_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "service/base/crc32c.h"
#include "service/base/prng.h"
#include "service/base/wire.h"

namespace quorum {
namespace {

using ::testing::HasSubstr;

constexpr PartitionId kPartition{TopicId(0x0102030405060708), 0x090a0b0c};

std::string Records(uint32_t field, int count) {
  std::string records;
  for (int i = 0; i < count; ++i) wire::AddBytes(field, std::string(size_t(i), 'r'), &records);
  return records;
}

BatchDraft DraftOf(int count) {
  BatchDraft draft;
  draft.record_count = static_cast<uint32_t>(count);
  draft.base_timestamp_ms = 1'700'000'000'000;
  draft.max_timestamp_ms = 1'700'000'000'005;
  draft.records = Records(kRecordsField, count);
  return draft;
}

RecordBatch Sealed() { return RecordBatch::Seal(kPartition, Offset(40), Epoch(3), DraftOf(5)); }

// `behind_crc` with the crc field of `partition` in front.
std::string WithCrc(absl::string_view behind_crc, PartitionId partition = kPartition) {
  std::string place;
  for (int shift = 56; shift >= 0; shift -= 8) {
    place.push_back(static_cast<char>(partition.topic.value() >> shift));
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    place.push_back(static_cast<char>(partition.index >> shift));
  }
  std::string bytes;
  wire::AddFixed32(1, Crc32cExtend(Crc32c(place), behind_crc), &bytes);
  return bytes.append(behind_crc.data(), behind_crc.size());
}

std::string Place(uint64_t base_offset, uint64_t epoch) {
  std::string fields;
  wire::AddFixed64(2, base_offset, &fields);
  wire::AddFixed64(3, epoch, &fields);
  return fields;
}

std::string Varint(uint32_t number, uint64_t value) {
  std::string field;
  wire::AddVarint(number, value, &field);
  return field;
}

absl::StatusOr<RecordBatch> Parse(absl::string_view bytes) {
  return RecordBatch::Parse(kPartition, bytes);
}

// What Parse says to a legal prefix followed by `payload`.
absl::StatusOr<RecordBatch> ParsePayload(const std::string& payload) {
  return Parse(WithCrc(Place(40, 3) + payload));
}

void ExpectMalformed(const absl::StatusOr<RecordBatch>& parsed, const std::string& why) {
  ASSERT_FALSE(parsed.ok()) << "accepted, although: " << why;
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(why));
}

TEST(RecordBatch, Seal_FillsTheHeader) {
  const RecordBatch batch = Sealed();
  EXPECT_EQ(batch.base_offset(), Offset(40));
  EXPECT_EQ(batch.last_offset(), Offset(44));
  EXPECT_EQ(batch.next_offset(), Offset(45));
  EXPECT_EQ(batch.epoch(), Epoch(3));
  EXPECT_EQ(batch.record_count(), 5u);
  EXPECT_EQ(batch.base_timestamp_ms(), 1'700'000'000'000);
  EXPECT_EQ(batch.max_timestamp_ms(), 1'700'000'000'005);
  EXPECT_FALSE(batch.control());
  EXPECT_EQ(batch.size(), batch.bytes().size());
}

TEST(RecordBatch, Seal_WritesThePrefixAtFixedPlaces) {
  const std::string bytes(Sealed().bytes());
  EXPECT_EQ(bytes.substr(0, 1), "\x0d");
  EXPECT_EQ(bytes.substr(5, 9), std::string("\x11\x28\0\0\0\0\0\0\0", 9));
  EXPECT_EQ(bytes.substr(14, 9), std::string("\x19\x03\0\0\0\0\0\0\0", 9));
  EXPECT_EQ(bytes, WithCrc(bytes.substr(5)));
}

TEST(RecordBatch, Parse_ReadsWhatSealWrote) {
  for (const bool control : {false, true}) {
    for (const int64_t timestamp_ms : {int64_t{0}, int64_t{-1}, int64_t{1} << 60}) {
      BatchDraft draft;
      draft.record_count = 3;
      draft.base_timestamp_ms = timestamp_ms;
      draft.max_timestamp_ms = timestamp_ms;
      draft.control = control;
      draft.records = Records(control ? kControlRecordsField : kRecordsField, 3);
      const RecordBatch sealed = RecordBatch::Seal(kPartition, Offset(0), Epoch(1), draft);
      const absl::StatusOr<RecordBatch> parsed = Parse(sealed.bytes());
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(parsed->bytes(), sealed.bytes());
      EXPECT_EQ(parsed->base_offset(), Offset(0));
      EXPECT_EQ(parsed->epoch(), Epoch(1));
      EXPECT_EQ(parsed->record_count(), 3u);
      EXPECT_EQ(parsed->base_timestamp_ms(), timestamp_ms);
      EXPECT_EQ(parsed->max_timestamp_ms(), timestamp_ms);
      EXPECT_EQ(parsed->control(), control);
    }
  }
}

TEST(RecordBatch, Parse_CopiesItsInput) {
  std::string input(Sealed().bytes());
  const absl::StatusOr<RecordBatch> parsed = Parse(input);
  ASSERT_TRUE(parsed.ok());
  input.assign(input.size(), 'x');
  EXPECT_EQ(parsed->bytes(), Sealed().bytes());
}

TEST(RecordBatch, Copy_SharesTheBytes) {
  const RecordBatch batch = Sealed();
  const RecordBatch copy = batch;
  EXPECT_EQ(copy.bytes().data(), batch.bytes().data());
}

TEST(RecordBatch, Parse_OfAnotherPartition_IsDataLoss) {
  const RecordBatch batch = Sealed();
  for (const PartitionId other : {PartitionId{TopicId(1), kPartition.index},
                                  PartitionId{kPartition.topic, 0}, kMetadataPartition}) {
    EXPECT_EQ(RecordBatch::Parse(other, batch.bytes()).status().code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST(RecordBatch, Parse_EachSingleBitFlip_IsRefused) {
  const std::string bytes(Sealed().bytes());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    // A flip in the tag of the crc leaves no batch, any other one a batch with a wrong crc.
    EXPECT_EQ(Parse(damaged).status().code(),
              bit < 8 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss)
        << bit;
  }
}

TEST(RecordBatch, Parse_EachTruncation_IsRefused) {
  const std::string bytes(Sealed().bytes());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(Parse(bytes.substr(0, size)).status().code(),
              size < 5 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss)
        << size;
  }
}

// As above, where whoever cut the bytes made the crc match.
TEST(RecordBatch, Parse_EachTruncationWithAMatchingCrc_IsRefused) {
  const std::string behind_crc(Sealed().bytes().substr(5));
  for (size_t size = 0; size < behind_crc.size(); ++size) {
    EXPECT_EQ(Parse(WithCrc(behind_crc.substr(0, size))).status().code(),
              absl::StatusCode::kInvalidArgument)
        << size;
  }
}

TEST(RecordBatch, Parse_TrailingGarbage_IsRefused) {
  const std::string behind_crc(Sealed().bytes().substr(5));
  ExpectMalformed(Parse(WithCrc(behind_crc + '\x80')), "malformed field");
}

TEST(RecordBatch, Parse_ForeignPrefix_IsRefused) {
  const std::string payload = Varint(4, 1) + Records(kRecordsField, 1);
  const std::string place = Place(40, 3);
  const std::string base = place.substr(0, 9);
  const std::string epoch = place.substr(9);
  EXPECT_TRUE(Parse(WithCrc(base + epoch + payload)).ok());
  ExpectMalformed(Parse(WithCrc(epoch + base + payload)), "does not start with");
  ExpectMalformed(Parse(WithCrc(base + payload)), "does not start with");
  ExpectMalformed(Parse(WithCrc(Varint(99, 1) + base + epoch + payload)), "does not start with");
  ExpectMalformed(Parse(WithCrc(base + Varint(99, 1) + epoch + payload)), "does not start with");
  ExpectMalformed(Parse(WithCrc(Varint(2, 40) + epoch + payload)), "does not start with");
  ExpectMalformed(Parse(base + epoch + payload), "does not start with a crc");
  ExpectMalformed(Parse(Varint(1, 7) + base + epoch + payload), "does not start with a crc");
}

// Protobuf would let the later one win, and so see another header than we do.
TEST(RecordBatch, Parse_PrefixFieldAgain_IsRefused) {
  const std::string payload = Varint(4, 1) + Records(kRecordsField, 1);
  std::string crc;
  wire::AddFixed32(1, 0, &crc);
  ExpectMalformed(ParsePayload(payload + crc), "behind the prefix");
  ExpectMalformed(ParsePayload(payload + Place(1, 3)), "behind the prefix");
  ExpectMalformed(ParsePayload(payload + Place(1, 3).substr(9)), "behind the prefix");
}

TEST(RecordBatch, Parse_HeaderFieldTwiceOrOfAnotherType_IsRefused) {
  const std::string payload = Varint(4, 1) + Records(kRecordsField, 1);
  const std::string stamp = Varint(7, 0) + Varint(8, 0) + Varint(9, 0);
  for (uint32_t number = 5; number <= 10; ++number) {
    const bool of_stamp = number >= 7 && number <= 9;
    const std::string field = Varint(number, 0);
    EXPECT_TRUE(ParsePayload(payload + (of_stamp ? stamp : field)).ok()) << number;
    ExpectMalformed(ParsePayload(payload + field + (of_stamp ? stamp : field)), "given twice");
    std::string other_type;
    wire::AddFixed64(number, 0, &other_type);
    ExpectMalformed(ParsePayload(payload + other_type), "wrong type");
  }
  ExpectMalformed(ParsePayload(payload + Varint(4, 1)), "given twice");
  ExpectMalformed(ParsePayload(payload + Varint(10, 2)), "no bool");
}

TEST(RecordBatch, Parse_NoRecords_IsRefused) {
  ExpectMalformed(ParsePayload(""), "no records");
  ExpectMalformed(ParsePayload(Varint(4, 0)), "no records");
  ExpectMalformed(ParsePayload(Varint(5, 17)), "no records");
  ExpectMalformed(ParsePayload(Records(kRecordsField, 1)), "no records");
}

TEST(RecordBatch, Parse_CountThatDoesNotMatch_IsRefused) {
  EXPECT_TRUE(ParsePayload(Varint(4, 2) + Records(kRecordsField, 2)).ok());
  ExpectMalformed(ParsePayload(Varint(4, 2) + Records(kRecordsField, 1)), "record count 2, but 1");
  ExpectMalformed(ParsePayload(Varint(4, 2) + Records(kRecordsField, 3)), "record count 2, but 3");
  ExpectMalformed(ParsePayload(Varint(4, 2)), "record count 2, but 0");
  // 2^32 + 1 must not pass for 1.
  ExpectMalformed(ParsePayload(Varint(4, (uint64_t{1} << 32) + 1) + Records(kRecordsField, 1)),
                  "count out of range");
}

TEST(RecordBatch, Parse_RecordsOfTheWrongKind_IsRefused) {
  const std::string control = Varint(10, 1);
  EXPECT_TRUE(ParsePayload(Varint(4, 1) + control + Records(kControlRecordsField, 1)).ok());
  ExpectMalformed(ParsePayload(Varint(4, 1) + control + Records(kRecordsField, 1)),
                  "but 0 control records");
  ExpectMalformed(ParsePayload(Varint(4, 1) + Records(kControlRecordsField, 1)), "but 0 records");
  ExpectMalformed(ParsePayload(Varint(4, 1) + Varint(kRecordsField, 1)), "record of the wrong");
}

TEST(RecordBatch, Parse_BothKindsOfRecords_IsRefused) {
  const std::string both = Records(kRecordsField, 1) + Records(kControlRecordsField, 1);
  for (const uint64_t count : {uint64_t{1}, uint64_t{2}}) {
    ExpectMalformed(ParsePayload(Varint(4, count) + both), "both records and control");
    ExpectMalformed(ParsePayload(Varint(4, count) + Varint(10, 1) + both),
                    "both records and control");
  }
}

TEST(RecordBatch, Parse_OffsetOutOfRange_IsRefused) {
  const std::string payload = Varint(4, 3) + Records(kRecordsField, 3);
  const auto limit = static_cast<uint64_t>(kOffsetLimit.value());
  const auto parse_at = [&payload](uint64_t base) {
    return Parse(WithCrc(Place(base, 3) + payload));
  };
  // The last of the three records lies just below the limit.
  ASSERT_TRUE(parse_at(limit - 3).ok());
  EXPECT_EQ(parse_at(limit - 3)->next_offset(), kOffsetLimit);
  for (const uint64_t base : {limit - 2, limit - 1, limit, limit + 1, uint64_t{1} << 63,
                              static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
                              static_cast<uint64_t>(-1), static_cast<uint64_t>(-3)}) {
    ExpectMalformed(parse_at(base), "offset out of range");
  }
}

TEST(RecordBatch, Parse_EpochOutOfRange_IsRefused) {
  const std::string payload = Varint(4, 1) + Records(kRecordsField, 1);
  const auto limit = static_cast<uint64_t>(kEpochLimit.value());
  for (const uint64_t epoch : {uint64_t{1}, limit - 1}) {
    EXPECT_TRUE(Parse(WithCrc(Place(40, epoch) + payload)).ok()) << epoch;
  }
  for (const uint64_t epoch : {uint64_t{0}, limit, limit + 1, static_cast<uint64_t>(-1)}) {
    ExpectMalformed(Parse(WithCrc(Place(40, epoch) + payload)), "epoch out of range");
  }
}

std::string Stamp(uint64_t id, uint64_t epoch, uint64_t sequence) {
  return Varint(7, id) + Varint(8, epoch) + Varint(9, sequence);
}

TEST(RecordBatch, Parse_ReadsTheProducerStampThatSealWrote) {
  for (const ProducerStamp& stamp :
       {ProducerStamp{0, 0, 0}, ProducerStamp{7, 3, 12},
        ProducerStamp{std::numeric_limits<int64_t>::max(), std::numeric_limits<int32_t>::max(),
                      kSequenceLimit - 5}}) {
    BatchDraft draft = DraftOf(5);
    draft.producer = stamp;
    const RecordBatch sealed = RecordBatch::Seal(kPartition, Offset(0), Epoch(1), draft);
    EXPECT_EQ(sealed.producer(), stamp);
    const absl::StatusOr<RecordBatch> parsed = Parse(sealed.bytes());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->producer(), stamp);
  }
  EXPECT_EQ(Sealed().producer(), std::nullopt);
}

TEST(RecordBatch, Parse_PartOfAProducerStamp_IsRefused) {
  const std::string payload = Varint(4, 1) + Records(kRecordsField, 1);
  EXPECT_TRUE(ParsePayload(payload + Stamp(1, 1, 1)).ok());
  for (const std::string& part :
       {Varint(7, 1), Varint(8, 1), Varint(9, 1), Varint(7, 1) + Varint(8, 1),
        Varint(7, 1) + Varint(9, 1), Varint(8, 1) + Varint(9, 1)}) {
    ExpectMalformed(ParsePayload(payload + part), "part of a producer stamp");
  }
}

TEST(RecordBatch, Parse_ProducerStampOutOfRange_IsRefused) {
  const std::string payload = Varint(4, 2) + Records(kRecordsField, 2);
  const auto limit = static_cast<uint64_t>(kSequenceLimit);
  EXPECT_TRUE(ParsePayload(payload + Stamp(1, 1, limit - 2)).ok());
  for (const std::string& stamp :
       {Stamp(1, 1, limit - 1), Stamp(1, 1, limit), Stamp(1, 1, UINT64_MAX),
        Stamp(uint64_t{1} << 63, 1, 1), Stamp(1, uint64_t{1} << 31, 1), Stamp(1, UINT64_MAX, 1)}) {
    ExpectMalformed(ParsePayload(payload + stamp), "stamp out of range");
  }
}

TEST(RecordBatch, Parse_ControlBatchOfAProducer_IsRefused) {
  ExpectMalformed(ParsePayload(Varint(4, 1) + Stamp(1, 1, 1) + Varint(10, 1) +
                               Records(kControlRecordsField, 1)),
                  "control batch of a producer");
}

TEST(RecordBatch, Parse_FieldsOfALaterVersion_AreKept) {
  std::string later;
  wire::AddBytes(13, "a later version wrote this", &later);
  const std::string bytes =
      WithCrc(Place(40, 3) + Varint(4, 1) + later + Records(kRecordsField, 1) + Varint(100, 7));
  const absl::StatusOr<RecordBatch> parsed = Parse(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->bytes(), bytes);
  EXPECT_EQ(parsed->record_count(), 1u);
}

// Random payloads with a matching crc: they are refused or give a batch that keeps its guarantees.
TEST(RecordBatch, Parse_RandomFields_NeverBreakAGuarantee) {
  Prng prng(1);
  int accepted = 0;
  for (int round = 0; round < 60000; ++round) {
    std::string payload;
    for (uint64_t fields = prng.Below(6); fields > 0; --fields) {
      const auto number = static_cast<uint32_t>(prng.Between(int64_t{3}, int64_t{13}));
      if (number == kRecordsField || number == kControlRecordsField) {
        wire::AddBytes(number, "record", &payload);
      } else if (number >= 7 && number <= 9 && prng.Chance(900'000)) {
        payload += Stamp(prng.Below(3), prng.Below(3), prng.Below(3));
      } else {
        wire::AddVarint(number, prng.Below(3), &payload);
      }
    }
    const absl::StatusOr<RecordBatch> parsed = ParsePayload(payload);
    if (!parsed.ok()) continue;
    ++accepted;
    EXPECT_GE(parsed->record_count(), 1u);
    EXPECT_LE(parsed->record_count(), 5u);
    EXPECT_EQ(parsed->next_offset() - parsed->base_offset(), int64_t{parsed->record_count()});
  }
  EXPECT_GT(accepted, 100);
}

TEST(RecordBatchDeathTest, Seal_OfABrokenDraft_Dies) {
  const auto seal = [](const BatchDraft& draft) {
    return RecordBatch::Seal(kPartition, Offset(0), Epoch(1), draft);
  };
  EXPECT_DEATH(seal(BatchDraft{}), "no records");
  BatchDraft miscounted = DraftOf(2);
  miscounted.record_count = 3;
  EXPECT_DEATH(seal(miscounted), "record count 3, but 2");
  BatchDraft wrong_kind = DraftOf(2);
  wrong_kind.control = true;
  EXPECT_DEATH(seal(wrong_kind), "but 0 control records");
  BatchDraft cut = DraftOf(2);
  cut.records.pop_back();
  EXPECT_DEATH(seal(cut), "malformed field");
  BatchDraft wrong_stamp = DraftOf(2);
  wrong_stamp.producer = ProducerStamp{1, -1, 0};
  EXPECT_DEATH(seal(wrong_stamp), "stamp out of range");
}

TEST(RecordBatchDeathTest, Seal_OutOfRange_Dies) {
  const auto seal = [](Offset offset, Epoch epoch) {
    return RecordBatch::Seal(kPartition, offset, epoch, DraftOf(2));
  };
  EXPECT_DEATH(seal(Offset(-1), Epoch(1)), "offset out of range");
  EXPECT_DEATH(seal(Offset(kOffsetLimit.value() - 1), Epoch(1)), "offset out of range");
  EXPECT_DEATH(seal(Offset(0), Epoch(0)), "epoch out of range");
  EXPECT_DEATH(seal(Offset(0), kEpochLimit), "epoch out of range");
}

}  // namespace
}  // namespace quorum
