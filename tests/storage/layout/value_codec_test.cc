#include "storage/layout/value_codec.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "service/base/crc32c.h"
#include "tests/storage/store_fixtures.h"

namespace quorum::storage {
namespace {

constexpr ValuePlace kPlace{ColumnFamily::kVoters, "some key"};

// A value of any kind, and its decoder's answer.
struct Sample {
  std::string value;
  std::function<absl::Status(ValuePlace, absl::string_view)> decode;
};

std::vector<Sample> Samples() {
  NodeIdentity identity;
  identity.cluster_id = "cluster";
  identity.node = NodeId(3);
  identity.directory = kDirectory;
  ElectionState election = ElectionOf(9, 2);
  election.leader = KeyOf(3);
  return {
      {EncodeNumber(kPlace, 123'456'789),
       [](ValuePlace place, absl::string_view v) { return DecodeNumber(place, v).status(); }},
      {EncodeElection(kPlace, election),
       [](ValuePlace place, absl::string_view v) { return DecodeElection(place, v).status(); }},
      {EncodeVoters(kPlace, ThreeVoters()),
       [](ValuePlace place, absl::string_view v) { return DecodeVoters(place, v).status(); }},
      {EncodeBirth(kPlace, BirthRecord{false, ThreeVoters()}),
       [](ValuePlace place, absl::string_view v) { return DecodeBirth(place, v).status(); }},
      {EncodeIdentity(kPlace, identity),
       [](ValuePlace place, absl::string_view v) { return DecodeIdentity(place, v).status(); }},
  };
}

TEST(ValueCodec, ReadsBackWhatItWrote) {
  EXPECT_EQ(*DecodeNumber(kPlace, EncodeNumber(kPlace, INT64_MAX)), INT64_MAX);
  EXPECT_EQ(*DecodeNumber(kPlace, EncodeNumber(kPlace, 0)), 0);
  ElectionState election = ElectionOf(int64_t{1} << 61, 2);
  EXPECT_EQ(*DecodeElection(kPlace, EncodeElection(kPlace, election)), election);
  election.leader = KeyOf(1);
  election.voted.reset();
  EXPECT_EQ(*DecodeElection(kPlace, EncodeElection(kPlace, election)), election);
  EXPECT_EQ(*DecodeVoters(kPlace, EncodeVoters(kPlace, ThreeVoters())), ThreeVoters());
  EXPECT_EQ(*DecodeVoters(kPlace, EncodeVoters(kPlace, VoterSet())), VoterSet());
}

TEST(ValueCodec, C012_AnElectionStateKeepsEveryField) {
  for (const int64_t epoch : {int64_t{0}, int64_t{1}, kEpochLimit.value() - 1}) {
    for (const int leader : {0, 1, 3}) {
      for (const int voted : {0, 2, 3}) {
        ElectionState election;
        election.epoch = Epoch(epoch);
        if (leader > 0) election.leader = KeyOf(leader);
        if (voted > 0) election.voted = KeyOf(voted);
        const auto read = DecodeElection(kPlace, EncodeElection(kPlace, election));
        ASSERT_TRUE(read.ok()) << read.status();
        EXPECT_EQ(read->epoch, election.epoch);
        EXPECT_EQ(read->leader, election.leader) << "node and directory";
        EXPECT_EQ(read->voted, election.voted) << "node and directory";
      }
    }
  }
}

TEST(ValueCodec, KeepsTheDifferenceBetweenNoVotersAndAnEmptySet) {
  const auto blank = DecodeBirth(kPlace, EncodeBirth(kPlace, BirthRecord{}));
  ASSERT_TRUE(blank.ok());
  EXPECT_FALSE(blank->initial_voters.has_value());
  EXPECT_FALSE(blank->tombstone);
  const auto empty = DecodeBirth(kPlace, EncodeBirth(kPlace, BirthRecord{true, VoterSet()}));
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->initial_voters.has_value());
  EXPECT_TRUE(empty->tombstone);
}

TEST(ValueCodec, FindsEveryFlippedBit) {
  for (const Sample& sample : Samples()) {
    ASSERT_TRUE(sample.decode(kPlace, sample.value).ok());
    for (size_t bit = 0; bit < 8 * sample.value.size(); ++bit) {
      std::string damaged = sample.value;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_TRUE(absl::IsDataLoss(sample.decode(kPlace, damaged))) << "bit " << bit;
    }
  }
}

TEST(ValueCodec, FindsEveryTruncation) {
  for (const Sample& sample : Samples()) {
    for (size_t size = 0; size < sample.value.size(); ++size) {
      EXPECT_TRUE(absl::IsDataLoss(sample.decode(kPlace, sample.value.substr(0, size))));
    }
  }
}

TEST(ValueCodec, FindsAValueUnderAnotherKeyOrFamily) {
  for (const Sample& sample : Samples()) {
    EXPECT_TRUE(
        absl::IsDataLoss(sample.decode({ColumnFamily::kVoters, "other key"}, sample.value)));
    EXPECT_TRUE(
        absl::IsDataLoss(sample.decode({ColumnFamily::kDefault, kPlace.key}, sample.value)));
  }
}

TEST(ValueCodec, TellsAnUnknownVersionFromDamage) {
  std::string versioned = "\x02payload of a newer program";
  const char family = static_cast<char>(kPlace.family);
  uint32_t crc = Crc32cExtend(Crc32c(absl::string_view(&family, 1)), kPlace.key);
  crc = Crc32cExtend(crc, versioned);
  for (int i = 0; i < 4; ++i) versioned.push_back(static_cast<char>(crc >> (8 * i)));
  for (const Sample& sample : Samples()) {
    EXPECT_TRUE(absl::IsUnimplemented(sample.decode(kPlace, versioned)));
  }
}

TEST(ValueCodec, RefusesAPayloadOfAnotherKind) {
  const std::string sealed = SealValue(kPlace, "\xff\xff not a message");
  for (const Sample& sample : Samples()) {
    EXPECT_TRUE(absl::IsDataLoss(sample.decode(kPlace, sealed)));
  }
}

}  // namespace
}  // namespace quorum::storage
