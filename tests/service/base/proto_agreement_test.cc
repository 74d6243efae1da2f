// service/base writes and reads quorum.v1 messages by hand. Here its bytes are compared with those
// of the generated classes, in both directions: ours must be exactly what protobuf would write, and
// what protobuf writes must read back as the same value.

#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "quorum/v1/common.pb.h"
#include "quorum/v1/record.pb.h"
#include "service/base/control_record.h"
#include "service/base/ids.h"
#include "service/base/overloaded.h"
#include "service/base/prng.h"
#include "service/base/record_batch.h"
#include "service/base/record_codec.h"
#include "service/base/voter_set.h"

namespace quorum {
namespace {

constexpr PartitionId kPartition{TopicId(7), 3};
constexpr int kRounds = 500;

std::string RandomBytes(Prng* prng) {
  std::string bytes(prng->Below(200), '\0');
  for (char& byte : bytes) byte = static_cast<char>(prng->Next());
  return bytes;
}

std::optional<std::string> MaybeBytes(Prng* prng) {
  if (prng->Chance(300'000)) return std::nullopt;
  if (prng->Chance(200'000)) return "";
  return RandomBytes(prng);
}

// Zero, small of either sign, or anything.
int64_t RandomTimestamp(Prng* prng) {
  if (prng->Chance(200'000)) return 0;
  if (prng->Chance(400'000)) return prng->Between(int64_t{-3}, int64_t{300});
  return static_cast<int64_t>(prng->Next());
}

RecordFields RandomRecord(Prng* prng) {
  RecordFields record;
  record.key = MaybeBytes(prng);
  record.value = MaybeBytes(prng);
  for (uint64_t headers = prng->Below(3); headers > 0; --headers) {
    record.headers.push_back({"name" + std::to_string(prng->Below(3)), MaybeBytes(prng)});
  }
  if (prng->Chance(500'000)) record.timestamp_ms = RandomTimestamp(prng);
  return record;
}

ReplicaKey RandomKey(Prng* prng, int32_t node) {
  return ReplicaKey{NodeId(node), DirectoryId{prng->Next() >> prng->Below(64), prng->Next() | 1}};
}

std::vector<ReplicaKey> RandomKeys(Prng* prng) {
  std::vector<ReplicaKey> keys;
  for (uint64_t count = prng->Below(4); count > 0; --count) {
    keys.push_back(RandomKey(prng, static_cast<int32_t>(prng->Between(1, INT32_MAX))));
  }
  return keys;
}

ControlRecord RandomControlRecord(Prng* prng) {
  if (prng->Chance(250'000)) {
    return ProducerBinding{std::string(prng->Below(kProducerNameMax) + 1, 'n'),
                           kNamedProducerIds + prng->Between(0, int64_t{1} << prng->Below(61)),
                           static_cast<int32_t>(prng->Between(0, INT32_MAX))};
  }
  if (prng->Chance(500'000)) {
    return LeaderChange{RandomKey(prng, static_cast<int32_t>(prng->Between(1, 200))),
                        RandomKeys(prng), RandomKeys(prng)};
  }
  std::vector<Voter> voters;
  const auto count = static_cast<int32_t>(prng->Between(1, 5));
  for (int32_t node = 1; node <= count; ++node) {
    const bool has_endpoint = prng->Chance(500'000);
    voters.push_back({RandomKey(prng, node * 100), has_endpoint ? "host:7101" : ""});
  }
  return VotersRecord{VoterSet(std::move(voters))};
}

void ToProto(const ReplicaKey& key, v1::ReplicaKey* proto) {
  proto->set_node_id(key.id.value());
  proto->set_directory_id(key.directory.ToBytes());
}

v1::ControlRecord ToProto(const ControlRecord& record) {
  v1::ControlRecord proto;
  std::visit(Overloaded{[&proto](const LeaderChange& change) {
                          v1::LeaderChange* out = proto.mutable_leader_change();
                          ToProto(change.leader, out->mutable_leader());
                          for (const ReplicaKey& key : change.voters) {
                            ToProto(key, out->add_voters());
                          }
                          for (const ReplicaKey& key : change.granting_voters) {
                            ToProto(key, out->add_granting_voters());
                          }
                        },
                        [&proto](const VotersRecord& voters) {
                          for (const Voter& voter : voters.voters) {
                            v1::Voter* out = proto.mutable_voters()->add_voters();
                            ToProto(voter.key, out->mutable_key());
                            out->set_endpoint(voter.endpoint);
                          }
                        },
                        [&proto](const ProducerBinding& binding) {
                          v1::ProducerBinding* out = proto.mutable_producer_binding();
                          out->set_name(binding.name);
                          out->set_producer_id(binding.producer_id);
                          out->set_producer_epoch(binding.producer_epoch);
                        }},
             record);
  return proto;
}

v1::Record ToProto(const RecordFields& record, uint32_t offset_delta) {
  v1::Record proto;
  if (record.key.has_value()) proto.set_key(*record.key);
  if (record.value.has_value()) proto.set_value(*record.value);
  for (const RecordHeader& header : record.headers) {
    v1::Header* out = proto.add_headers();
    out->set_name(header.name);
    if (header.value.has_value()) out->set_value(*header.value);
  }
  if (record.timestamp_ms.has_value()) proto.set_timestamp_ms(*record.timestamp_ms);
  proto.set_offset_delta(offset_delta);
  return proto;
}

struct Place {
  Offset offset;
  Epoch epoch;
};

Place RandomPlace(Prng* prng) {
  return Place{Offset(prng->Between(0, int64_t{1} << prng->Below(61))),
               Epoch(prng->Between(1, int64_t{1} << prng->Below(61)))};
}

// The header of `proto` for a batch at `place` made from `draft`, but for the crc.
void FillHeader(const Place& place, const BatchDraft& draft, v1::RecordBatch* proto) {
  proto->set_base_offset(place.offset.value());
  proto->set_leader_epoch(place.epoch.value());
  proto->set_record_count(draft.record_count);
  proto->set_base_timestamp_ms(draft.base_timestamp_ms);
  proto->set_max_timestamp_ms(draft.max_timestamp_ms);
  proto->set_control(draft.control);
  if (draft.producer.has_value()) {
    proto->set_producer_id(draft.producer->id);
    proto->set_producer_epoch(draft.producer->epoch);
    proto->set_base_sequence(draft.producer->base_sequence);
  }
}

// Checks a sealed batch against the message that it should be, whose crc is still missing.
void ExpectSameBytes(const RecordBatch& batch, v1::RecordBatch expected) {
  v1::RecordBatch parsed;
  ASSERT_TRUE(parsed.ParseFromArray(batch.bytes().data(), static_cast<int>(batch.size())));
  EXPECT_TRUE(parsed.has_crc());
  EXPECT_TRUE(parsed.GetReflection()->GetUnknownFields(parsed).empty());
  expected.set_crc(parsed.crc());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(parsed, expected))
      << parsed.ShortDebugString() << "\n"
      << expected.ShortDebugString();
  EXPECT_EQ(expected.SerializeAsString(), std::string(batch.bytes()));
}

TEST(ProtoAgreement, RecordBatch_OfRecords) {
  Prng prng(1);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<RecordFields> records;
    for (int64_t count = prng.Between(1, 6); count > 0; --count) {
      records.push_back(RandomRecord(&prng));
    }
    RecordsBuilder builder;
    for (const RecordFields& record : records) builder.Add(record);
    BatchDraft draft = builder.Finish(RandomTimestamp(&prng));
    if (prng.Chance(500'000)) {
      draft.producer = ProducerStamp{prng.Between(0, int64_t{1} << prng.Below(62)),
                                     static_cast<int32_t>(prng.Between(0, INT32_MAX)),
                                     prng.Between(0, int64_t{1} << prng.Below(61))};
    }
    const Place place = RandomPlace(&prng);

    v1::RecordBatch expected;
    FillHeader(place, draft, &expected);
    for (size_t i = 0; i < records.size(); ++i) {
      *expected.add_records() = ToProto(records[i], static_cast<uint32_t>(i));
    }
    ExpectSameBytes(RecordBatch::Seal(kPartition, place.offset, place.epoch, draft), expected);
  }
}

TEST(ProtoAgreement, RecordBatch_OfControlRecords) {
  Prng prng(2);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<ControlRecord> records;
    for (int64_t count = prng.Between(1, 3); count > 0; --count) {
      records.push_back(RandomControlRecord(&prng));
    }
    const BatchDraft draft = EncodeControlBatch(records, RandomTimestamp(&prng));
    const Place place = RandomPlace(&prng);

    v1::RecordBatch expected;
    FillHeader(place, draft, &expected);
    for (const ControlRecord& record : records) {
      *expected.add_control_records() = ToProto(record);
    }
    ExpectSameBytes(RecordBatch::Seal(kPartition, place.offset, place.epoch, draft), expected);
  }
}

// The other way round: a draft made of what protobuf wrote.

template <typename Messages>
BatchDraft DraftFromProto(const Messages& messages, bool control) {
  v1::RecordBatch proto;
  for (const auto& message : messages) {
    if constexpr (std::is_same_v<std::decay_t<decltype(message)>, v1::Record>) {
      *proto.add_records() = message;
    } else {
      *proto.add_control_records() = message;
    }
  }
  BatchDraft draft;
  draft.record_count = static_cast<uint32_t>(messages.size());
  draft.base_timestamp_ms = 77;
  draft.max_timestamp_ms = 77;
  draft.control = control;
  draft.records = proto.SerializeAsString();
  return draft;
}

TEST(ProtoAgreement, Records_WrittenByProtobuf_AreRead) {
  Prng prng(3);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<RecordFields> records;
    std::vector<v1::Record> protos;
    for (int64_t count = prng.Between(1, 6); count > 0; --count) {
      records.push_back(RandomRecord(&prng));
      protos.push_back(ToProto(records.back(), static_cast<uint32_t>(protos.size())));
    }
    const RecordBatch batch =
        RecordBatch::Seal(kPartition, Offset(0), Epoch(1), DraftFromProto(protos, false));
    const absl::StatusOr<std::vector<DecodedRecord>> decoded = DecodeRecords(batch);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    ASSERT_EQ(decoded->size(), records.size());
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(decoded->at(i).fields, records[i]);
      EXPECT_EQ(decoded->at(i).timestamp_ms, records[i].timestamp_ms.value_or(77));
    }
  }
}

TEST(ProtoAgreement, ControlRecords_WrittenByProtobuf_AreRead) {
  Prng prng(4);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<ControlRecord> records;
    std::vector<v1::ControlRecord> protos;
    for (int64_t count = prng.Between(1, 3); count > 0; --count) {
      records.push_back(RandomControlRecord(&prng));
      protos.push_back(ToProto(records.back()));
    }
    const RecordBatch batch =
        RecordBatch::Seal(kPartition, Offset(0), Epoch(1), DraftFromProto(protos, true));
    const absl::StatusOr<std::vector<ControlRecord>> decoded = DecodeControlBatch(batch);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, records);
  }
}

// A whole batch that protobuf wrote, prefix and producer fields included, is one that we accept.
TEST(ProtoAgreement, RecordBatch_WrittenByProtobuf_IsParsed) {
  RecordsBuilder builder;
  builder.Add(RecordFields{});
  const BatchDraft draft = builder.Finish(5);
  v1::RecordBatch proto;
  FillHeader(Place{Offset(9), Epoch(4)}, draft, &proto);
  proto.set_producer_id(0);
  proto.set_producer_epoch(0);
  proto.set_base_sequence(0);
  *proto.add_records() = ToProto(RecordFields{}, 0);
  proto.set_crc(0);
  // A wrong crc is answered with DATA_LOSS: the bytes are a batch up to there.
  ASSERT_EQ(RecordBatch::Parse(kPartition, proto.SerializeAsString()).status().code(),
            absl::StatusCode::kDataLoss);

  // Sealing the same payload gives the crc that was missing.
  BatchDraft with_producer = draft;
  with_producer.producer = ProducerStamp{};
  const RecordBatch sealed = RecordBatch::Seal(kPartition, Offset(9), Epoch(4), with_producer);
  ExpectSameBytes(sealed, proto);
  v1::RecordBatch parsed;
  ASSERT_TRUE(parsed.ParseFromArray(sealed.bytes().data(), static_cast<int>(sealed.size())));
  proto.set_crc(parsed.crc());
  const absl::StatusOr<RecordBatch> batch =
      RecordBatch::Parse(kPartition, proto.SerializeAsString());
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->base_offset(), Offset(9));
  EXPECT_EQ(batch->epoch(), Epoch(4));
  EXPECT_EQ(batch->base_timestamp_ms(), 5);
  EXPECT_EQ(batch->producer(), ProducerStamp{});
}

// The shard of a later version names the assignment that a voter set serves; this one reads past
// it.
TEST(ProtoAgreement, VotersRecord_WithAPlanVersion_IsRead) {
  Prng prng(5);
  const VotersRecord voters{VoterSet({Voter{RandomKey(&prng, 1), "a:1"}})};
  v1::ControlRecord proto = ToProto(ControlRecord(voters));
  proto.mutable_voters()->set_plan_version(17);
  const RecordBatch batch = RecordBatch::Seal(
      kPartition, Offset(0), Epoch(1), DraftFromProto(std::vector<v1::ControlRecord>{proto}, true));
  const absl::StatusOr<std::vector<ControlRecord>> decoded = DecodeControlBatch(batch);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->at(0), ControlRecord(voters));
}

}  // namespace
}  // namespace quorum
