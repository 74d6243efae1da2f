// The hand-written values are the messages of storage.proto, in both directions.

#include <gtest/gtest.h>

#include <string>

#include "quorum/storage/v1/storage.pb.h"
#include "storage/layout/producer_codec.h"
#include "storage/layout/value_codec.h"
#include "tests/storage/store_fixtures.h"

namespace quorum::storage {
namespace {

constexpr ValuePlace kPlace{ColumnFamily::kQuorumState, "key"};

// The message in a value that our codec wrote. Fields that the schema does not know fail the test.
template <typename Message>
Message ReadOurs(const std::string& value) {
  const auto payload = OpenValue(kPlace, value);
  EXPECT_TRUE(payload.ok());
  Message message;
  EXPECT_TRUE(message.ParseFromString(*payload));
  EXPECT_EQ(message.GetReflection()->GetUnknownFields(message).field_count(), 0);
  return message;
}

template <typename Message>
std::string Sealed(const Message& message) {
  return SealValue(kPlace, message.SerializeAsString());
}

TEST(StorageProto, Number) {
  for (const int64_t number : {int64_t{0}, int64_t{300}, INT64_MAX}) {
    const auto message = ReadOurs<v1::Number>(EncodeNumber(kPlace, number));
    EXPECT_TRUE(message.has_number());
    EXPECT_EQ(message.number(), number);
    EXPECT_EQ(*DecodeNumber(kPlace, Sealed(message)), number);
  }
}

TEST(StorageProto, NodeIdentity) {
  const NodeIdentity identity = MakePlan().identity;
  const auto message = ReadOurs<v1::NodeIdentity>(EncodeIdentity(kPlace, identity));
  EXPECT_EQ(message.cluster_id(), "test");
  EXPECT_EQ(message.node_id(), 1);
  EXPECT_EQ(message.directory_id_high(), kDirectory.high);
  EXPECT_EQ(message.directory_id_low(), kDirectory.low);
  EXPECT_EQ(message.lane_count(), 4u);
  const auto decoded = DecodeIdentity(kPlace, Sealed(message));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->key(), identity.key());
  EXPECT_EQ(decoded->lanes, identity.lanes);
}

TEST(StorageProto, QuorumState) {
  ElectionState election = ElectionOf(7, 2);
  election.leader = KeyOf(3);
  const auto message = ReadOurs<v1::QuorumState>(EncodeElection(kPlace, election));
  EXPECT_EQ(message.epoch(), 7);
  EXPECT_EQ(message.leader().node_id(), 3);
  EXPECT_EQ(message.voted().node_id(), 2);
  EXPECT_EQ(message.voted_epoch(), 7);
  EXPECT_EQ(*DecodeElection(kPlace, Sealed(message)), election);

  const auto blank = ReadOurs<v1::QuorumState>(EncodeElection(kPlace, ElectionState{}));
  EXPECT_TRUE(blank.has_epoch());
  EXPECT_FALSE(blank.has_voted());
  EXPECT_FALSE(blank.has_voted_epoch());
  EXPECT_EQ(*DecodeElection(kPlace, Sealed(blank)), ElectionState{});
}

TEST(StorageProto, AVoteOfAnotherEpochIsDamage) {
  auto message = ReadOurs<v1::QuorumState>(EncodeElection(kPlace, ElectionOf(7, 2)));
  message.set_voted_epoch(6);
  EXPECT_TRUE(absl::IsDataLoss(DecodeElection(kPlace, Sealed(message)).status()));
  message.clear_voted_epoch();
  EXPECT_TRUE(absl::IsDataLoss(DecodeElection(kPlace, Sealed(message)).status()));
  message.set_voted_epoch(7);
  message.clear_voted();
  EXPECT_TRUE(absl::IsDataLoss(DecodeElection(kPlace, Sealed(message)).status()));
}

TEST(StorageProto, VoterSet) {
  const auto message = ReadOurs<v1::VoterSet>(EncodeVoters(kPlace, ThreeVoters()));
  ASSERT_EQ(message.voters_size(), 3);
  EXPECT_EQ(message.voters(0).key().directory_id_low(), kDirectory.low);
  EXPECT_EQ(message.voters(2).key().node_id(), 3);
  EXPECT_EQ(message.voters(2).endpoint(), "127.0.0.1:7103");
  EXPECT_EQ(*DecodeVoters(kPlace, Sealed(message)), ThreeVoters());
}

TEST(StorageProto, ReplicaLife) {
  const auto born = ReadOurs<v1::ReplicaLife>(EncodeBirth(kPlace, {false, ThreeVoters()}));
  EXPECT_FALSE(born.tombstone());
  EXPECT_EQ(born.initial_voters().voters_size(), 3);
  EXPECT_EQ(DecodeBirth(kPlace, Sealed(born))->initial_voters, ThreeVoters());
  const auto buried = ReadOurs<v1::ReplicaLife>(EncodeBirth(kPlace, {true, std::nullopt}));
  EXPECT_TRUE(buried.tombstone());
  EXPECT_FALSE(buried.has_initial_voters());
  EXPECT_TRUE(DecodeBirth(kPlace, Sealed(buried))->tombstone);
}

TEST(StorageProto, ProducerState) {
  ProducerState producer;
  producer.epoch = INT32_MAX;
  producer.next_sequence = kSequenceLimit;
  producer.name = "writer";
  producer.last_offset = Offset(77);
  producer.last_timestamp_ms = 1'700'000'000'000;
  producer.batches = {ProducerBatch{3, 40, 2, Offset(50)}, ProducerBatch{4, 0, 9, Offset(77)}};
  const auto message = ReadOurs<v1::ProducerState>(EncodeProducer(kPlace, producer));
  EXPECT_EQ(message.epoch(), INT32_MAX);
  EXPECT_EQ(message.next_sequence(), kSequenceLimit);
  EXPECT_EQ(message.name(), "writer");
  EXPECT_EQ(message.last_offset(), 77);
  EXPECT_EQ(message.last_timestamp_ms(), 1'700'000'000'000);
  ASSERT_EQ(message.batches_size(), 2);
  EXPECT_EQ(message.batches(0).epoch(), 3);
  EXPECT_EQ(message.batches(0).base_sequence(), 40);
  EXPECT_EQ(message.batches(0).record_count(), 2u);
  EXPECT_EQ(message.batches(0).base_offset(), 50);
  EXPECT_EQ(*DecodeProducer(kPlace, Sealed(message)), producer);
  const auto blank = ReadOurs<v1::ProducerState>(EncodeProducer(kPlace, {}));
  EXPECT_TRUE(blank.has_next_sequence());
  EXPECT_EQ(*DecodeProducer(kPlace, Sealed(blank)), ProducerState{});
}

TEST(StorageProto, ProducerStateOutOfRangeIsDamage) {
  const auto read = [](const v1::ProducerState& message) {
    return DecodeProducer(kPlace, Sealed(message)).status();
  };
  v1::ProducerState message;
  EXPECT_TRUE(read(message).ok());
  message.set_next_sequence(kSequenceLimit + 1);
  EXPECT_TRUE(absl::IsDataLoss(read(message)));
  message.set_next_sequence(0);
  message.set_epoch(-1);
  EXPECT_TRUE(absl::IsDataLoss(read(message)));
  message.set_epoch(0);
  message.set_name(std::string(256, 'x'));
  EXPECT_TRUE(absl::IsDataLoss(read(message)));
  message.set_name("");
  message.add_batches();
  EXPECT_TRUE(absl::IsDataLoss(read(message))) << "a batch without records";
  message.mutable_batches(0)->set_record_count(1);
  for (int i = 1; i < 5; ++i) *message.add_batches() = message.batches(0);
  EXPECT_TRUE(read(message).ok());
  *message.add_batches() = message.batches(0);
  EXPECT_TRUE(absl::IsDataLoss(read(message))) << "more than are kept";
}

TEST(StorageProto, ProducerSummary) {
  const ProducerSummary summary{Offset(9), Offset(8), 7};
  const auto message = ReadOurs<v1::ProducerSummary>(EncodeProducerSummary(kPlace, summary));
  EXPECT_EQ(message.offset(), 9);
  EXPECT_EQ(message.data_end(), 8);
  EXPECT_EQ(message.timestamp_ms(), 7);
  EXPECT_EQ(*DecodeProducerSummary(kPlace, Sealed(message)), summary);
}

}  // namespace
}  // namespace quorum::storage
