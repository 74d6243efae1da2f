// How control records read back, and what a replica refuses to read. That the bytes are those of
// quorum.v1.ControlRecord is shown in proto_agreement_test.cc.

#include "service/base/control_record.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/base/wire.h"

namespace quorum {
namespace {

constexpr PartitionId kPartition{TopicId(7), 3};

ReplicaKey Key(int32_t node) { return ReplicaKey{NodeId(node), DirectoryId{1, uint64_t{99}}}; }

LeaderChange SomeLeaderChange() {
  return LeaderChange{Key(2), {Key(1), Key(2), Key(3)}, {Key(2), Key(3)}};
}

VotersRecord SomeVoters() {
  return VotersRecord{VoterSet({Voter{Key(1), "host-1:7101"}, Voter{Key(2), ""}})};
}

ProducerBinding SomeBinding() { return ProducerBinding{"writer", kNamedProducerIds + 10, 3}; }

RecordBatch SealControl(const BatchDraft& draft) {
  return RecordBatch::Seal(kPartition, Offset(10), Epoch(2), draft);
}

absl::StatusOr<std::vector<ControlRecord>> Decode(const BatchDraft& draft) {
  return DecodeControlBatch(SealControl(draft));
}

// A message of one field that holds `content`.
std::string Field(uint32_t number, const std::string& content) {
  std::string out;
  wire::AddBytes(number, content, &out);
  return out;
}

std::string Varint(uint32_t number, uint64_t value) {
  std::string out;
  wire::AddVarint(number, value, &out);
  return out;
}

// What decoding a batch of one control record with these bytes says.
absl::StatusOr<std::vector<ControlRecord>> DecodeBytes(const std::string& control_record) {
  BatchDraft draft;
  draft.record_count = 1;
  draft.control = true;
  draft.records = Field(kControlRecordsField, control_record);
  return Decode(draft);
}

const std::string kDirectoryBytes = DirectoryId{1, 99}.ToBytes();
const std::string kKeyBytes = Varint(1, 1) + Field(2, kDirectoryBytes);

std::string LeaderChangeBytes(const std::string& content) { return Field(1, content); }
std::string VotersBytes(const std::string& content) { return Field(2, content); }
std::string BindingBytes(const std::string& content) { return Field(6, content); }

constexpr uint64_t kFirstName = uint64_t{1} << 62;
const std::string kBindingBytes = Field(1, "writer") + Varint(2, kFirstName) + Varint(3, 0);

TEST(ControlBatch, Draft_CountsAndStampsTheRecords) {
  const BatchDraft draft = EncodeControlBatch({SomeLeaderChange(), SomeVoters()}, 1234);
  EXPECT_EQ(draft.record_count, 2u);
  EXPECT_TRUE(draft.control);
  EXPECT_EQ(draft.base_timestamp_ms, 1234);
  EXPECT_EQ(draft.max_timestamp_ms, 1234);
}

TEST(ControlBatch, Decode_ReadsWhatEncodeWrote) {
  LeaderChange lonely;
  lonely.leader = ReplicaKey{NodeId(2147483647), DirectoryId{UINT64_MAX, UINT64_MAX}};
  const std::vector<std::vector<ControlRecord>> batches = {
      {SomeLeaderChange()},
      {SomeVoters()},
      {lonely},
      {SomeLeaderChange(), SomeVoters()},
      {SomeVoters(), SomeLeaderChange(), SomeVoters()},
      {SomeBinding()},
      {ProducerBinding{std::string(kProducerNameMax, 'x'), INT64_MAX, INT32_MAX}, SomeBinding()},
  };
  for (const std::vector<ControlRecord>& records : batches) {
    const absl::StatusOr<std::vector<ControlRecord>> decoded =
        Decode(EncodeControlBatch(records, 5));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, records);
  }
}

// The hand-made messages of the tests below are legal until each test breaks them.
TEST(ControlBatch, Decode_HandMadeRecords_AreRead) {
  EXPECT_TRUE(DecodeBytes(LeaderChangeBytes(Field(1, kKeyBytes))).ok());
  EXPECT_TRUE(DecodeBytes(VotersBytes(Field(1, Field(1, kKeyBytes)))).ok());
  EXPECT_TRUE(DecodeBytes(BindingBytes(kBindingBytes)).ok());
}

TEST(ControlBatch, Decode_UnknownKind_IsDataLoss) {
  for (const std::string& bytes : {std::string(), Field(3, "a later kind"), Varint(9, 1)}) {
    const auto decoded = DecodeBytes(bytes);
    EXPECT_EQ(decoded.status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(ControlBatch, Decode_OneBadRecordAmongGoodOnes_IsDataLoss) {
  BatchDraft draft = EncodeControlBatch({SomeLeaderChange(), SomeVoters()}, 5);
  draft.records += Field(kControlRecordsField, "");
  draft.record_count = 3;
  EXPECT_EQ(Decode(draft).status().code(), absl::StatusCode::kDataLoss);
}

TEST(ControlBatch, Decode_TwoKindsInOneRecord_IsDataLoss) {
  const std::string leader_change = LeaderChangeBytes(Field(1, kKeyBytes));
  const std::string voters = VotersBytes(Field(1, Field(1, kKeyBytes)));
  EXPECT_FALSE(DecodeBytes(leader_change + voters).ok());
  EXPECT_FALSE(DecodeBytes(voters + leader_change).ok());
  EXPECT_FALSE(DecodeBytes(leader_change + leader_change).ok());
}

TEST(ControlBatch, Decode_FieldsOfALaterVersion_ArePassedOver) {
  const std::string later = Field(15, "later") + Varint(16, 3);
  const std::string key = kKeyBytes + later;
  const std::string voter = Field(1, key) + Field(2, "a:1") + later;
  const auto voters = DecodeBytes(VotersBytes(Field(1, voter) + later) + later);
  ASSERT_TRUE(voters.ok()) << voters.status();
  EXPECT_EQ(voters->at(0), ControlRecord(VotersRecord{VoterSet({Voter{Key(1), "a:1"}})}));
  const auto change = DecodeBytes(LeaderChangeBytes(Field(1, key) + later) + later);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->at(0), ControlRecord(LeaderChange{Key(1), {}, {}}));
}

TEST(ControlBatch, Decode_IllegalReplicaKey_IsDataLoss) {
  const std::string directory = Field(2, kDirectoryBytes);
  const std::vector<std::string> keys = {
      "",
      Varint(1, 1),
      directory,
      Varint(1, 0) + directory,
      Varint(1, static_cast<uint64_t>(-1)) + directory,
      Varint(1, uint64_t{1} << 31) + directory,
      Varint(1, (uint64_t{1} << 32) + 1) + directory,
      Varint(1, 1) + Varint(1, 1) + directory,
      Varint(1, 1) + directory + directory,
      Field(1, "1") + directory,
      Varint(1, 1) + Varint(2, 1),
      Varint(1, 1) + Field(2, std::string(16, '\0')),
      Varint(1, 1) + Field(2, kDirectoryBytes.substr(1)),
      Varint(1, 1) + Field(2, kDirectoryBytes + "x"),
      kKeyBytes + "\x80",
  };
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_FALSE(DecodeBytes(LeaderChangeBytes(Field(1, keys[i]))).ok()) << i;
    EXPECT_FALSE(DecodeBytes(LeaderChangeBytes(Field(1, kKeyBytes) + Field(2, keys[i]))).ok()) << i;
    EXPECT_FALSE(DecodeBytes(LeaderChangeBytes(Field(1, kKeyBytes) + Field(3, keys[i]))).ok()) << i;
    EXPECT_FALSE(DecodeBytes(VotersBytes(Field(1, Field(1, keys[i])))).ok()) << i;
  }
}

TEST(ControlBatch, Decode_LeaderChangeOutOfShape_IsDataLoss) {
  const std::string leader = Field(1, kKeyBytes);
  EXPECT_FALSE(DecodeBytes(LeaderChangeBytes("")).ok());
  EXPECT_FALSE(DecodeBytes(LeaderChangeBytes(leader + leader)).ok());
  EXPECT_FALSE(DecodeBytes(LeaderChangeBytes(Field(2, kKeyBytes))).ok());
  EXPECT_FALSE(DecodeBytes(LeaderChangeBytes(leader + Varint(2, 1))).ok());
  EXPECT_FALSE(DecodeBytes(LeaderChangeBytes(leader + '\x80')).ok());
  EXPECT_FALSE(DecodeBytes(Varint(1, 1)).ok());
}

TEST(ControlBatch, Decode_VotersOutOfShape_IsDataLoss) {
  const std::string voter = Field(1, kKeyBytes);
  const std::string endpoint = Field(2, "a:1");
  EXPECT_FALSE(DecodeBytes(VotersBytes("")).ok());
  EXPECT_FALSE(DecodeBytes(VotersBytes(Field(1, ""))).ok());
  EXPECT_FALSE(DecodeBytes(VotersBytes(Field(1, endpoint))).ok());
  EXPECT_FALSE(DecodeBytes(VotersBytes(Field(1, voter + voter))).ok());
  EXPECT_FALSE(DecodeBytes(VotersBytes(Field(1, voter + endpoint + endpoint))).ok());
  EXPECT_FALSE(DecodeBytes(VotersBytes(Field(1, voter + Varint(2, 1)))).ok());
  EXPECT_FALSE(DecodeBytes(VotersBytes(Field(1, voter + '\x80'))).ok());
  EXPECT_FALSE(DecodeBytes(VotersBytes(Varint(1, 1))).ok());
  // Twice the same node.
  EXPECT_FALSE(DecodeBytes(VotersBytes(Field(1, voter) + Field(1, voter))).ok());
  EXPECT_FALSE(DecodeBytes(Varint(2, 1)).ok());
}

TEST(ControlBatch, Decode_BindingOutOfShape_IsDataLoss) {
  const std::string name = Field(1, "writer");
  const std::string id = Varint(2, kFirstName);
  const std::string epoch = Varint(3, 0);
  for (const std::string& content :
       {std::string(), name + id, name + epoch, id + epoch, name + name + id + epoch,
        name + id + id + epoch, name + id + epoch + epoch, Field(1, "") + id + epoch,
        Field(1, std::string(kProducerNameMax + 1, 'x')) + id + epoch,
        name + Varint(2, kFirstName - 1) + epoch, name + Varint(2, uint64_t{1} << 63) + epoch,
        name + id + Varint(3, uint64_t{1} << 31), Varint(1, 1) + id + epoch,
        name + Field(2, "x") + epoch, name + id + Field(3, "x")}) {
    EXPECT_EQ(DecodeBytes(BindingBytes(content)).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(ControlBatch, Decode_EachTruncationOfARecord_IsDataLoss) {
  for (const ControlRecord& record : {ControlRecord(SomeLeaderChange()),
                                      ControlRecord(SomeVoters()), ControlRecord(SomeBinding())}) {
    const std::string encoded = EncodeControlBatch({record}, 0).records;
    wire::Reader reader(encoded);
    wire::Field field;
    ASSERT_TRUE(reader.Next(&field));
    const std::string content(field.content);
    ASSERT_TRUE(DecodeBytes(content).ok());
    for (size_t size = 0; size < content.size(); ++size) {
      EXPECT_FALSE(DecodeBytes(content.substr(0, size)).ok()) << size;
    }
  }
}

TEST(ControlBatchDeathTest, Encode_WhatNoReplicaCouldRead_Dies) {
  EXPECT_DEATH(EncodeControlBatch({}, 0), "empty");
  EXPECT_DEATH(EncodeControlBatch({VotersRecord{}}, 0), "empty");
  EXPECT_DEATH(EncodeControlBatch({LeaderChange{}}, 0), "id");
  LeaderChange no_directory;
  no_directory.leader.id = NodeId(1);
  EXPECT_DEATH(EncodeControlBatch({no_directory}, 0), "IsZero");
  EXPECT_DEATH(EncodeControlBatch({ProducerBinding{"", kNamedProducerIds, 0}}, 0), "IsLegalName");
  EXPECT_DEATH(EncodeControlBatch({ProducerBinding{"x", 7, 0}}, 0), "producer_id");
}

TEST(ControlBatchDeathTest, Decode_OfAnOrdinaryBatch_Dies) {
  BatchDraft draft;
  draft.record_count = 1;
  draft.records = Field(kRecordsField, "");
  const RecordBatch batch = SealControl(draft);
  EXPECT_DEATH((void)DecodeControlBatch(batch).ok(), "not a control batch");
}

}  // namespace
}  // namespace quorum
