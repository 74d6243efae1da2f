#include "service/base/ids.h"

#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>

#include "service/base/election_state.h"

namespace quorum {
namespace {

constexpr DirectoryId kDirectory{0x0123456789abcdefULL, 0xfedcba9876543210ULL};
constexpr char kDirectoryText[] = "01234567-89ab-cdef-fedc-ba9876543210";

template <typename T>
std::string Print(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST(DirectoryId, ToString_IsCanonical) {
  EXPECT_EQ(kDirectory.ToString(), kDirectoryText);
  EXPECT_EQ((DirectoryId{0, 1}).ToString(), "00000000-0000-0000-0000-000000000001");
}

TEST(DirectoryId, Parse_ReadsWhatToStringWrote) {
  for (const DirectoryId& directory :
       {kDirectory, DirectoryId{0, 1}, DirectoryId{1, 0}, DirectoryId{UINT64_MAX, UINT64_MAX}}) {
    EXPECT_EQ(DirectoryId::Parse(directory.ToString()), directory);
  }
}

TEST(DirectoryId, Parse_UpperCase_IsRead) {
  EXPECT_EQ(DirectoryId::Parse("01234567-89AB-CDEF-FEDC-BA9876543210"), kDirectory);
}

TEST(DirectoryId, Parse_AllZero_IsRefused) {
  EXPECT_EQ(DirectoryId::Parse("00000000-0000-0000-0000-000000000000"), std::nullopt);
}

TEST(DirectoryId, Parse_WrongLength_IsRefused) {
  const std::string text = kDirectoryText;
  EXPECT_EQ(DirectoryId::Parse(""), std::nullopt);
  EXPECT_EQ(DirectoryId::Parse(text.substr(1)), std::nullopt);
  EXPECT_EQ(DirectoryId::Parse(text + "0"), std::nullopt);
}

TEST(DirectoryId, Parse_ForeignCharacterAnywhere_IsRefused) {
  const std::string text = kDirectoryText;
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char wrong : {'g', ' ', '-', '0', '\0'}) {
      if ((text[i] == '-') == (wrong == '-')) continue;
      if (wrong == '0' && text[i] != '-') continue;
      std::string damaged = text;
      damaged[i] = wrong;
      EXPECT_EQ(DirectoryId::Parse(damaged), std::nullopt) << damaged;
    }
  }
}

TEST(DirectoryId, ToBytes_MostSignificantFirst) {
  EXPECT_EQ(kDirectory.ToBytes(),
            std::string("\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10", 16));
}

TEST(DirectoryId, FromBytes_ReadsWhatToBytesWrote) {
  for (const DirectoryId& directory : {kDirectory, DirectoryId{0, 1}, DirectoryId{1, 0}}) {
    EXPECT_EQ(DirectoryId::FromBytes(directory.ToBytes()), directory);
  }
}

TEST(DirectoryId, FromBytes_WrongSizeOrZero_IsRefused) {
  EXPECT_EQ(DirectoryId::FromBytes(""), std::nullopt);
  EXPECT_EQ(DirectoryId::FromBytes(std::string(15, 'a')), std::nullopt);
  EXPECT_EQ(DirectoryId::FromBytes(std::string(17, 'a')), std::nullopt);
  EXPECT_EQ(DirectoryId::FromBytes(std::string(16, '\0')), std::nullopt);
}

TEST(DirectoryId, Order_HighHalfFirst) {
  EXPECT_LT((DirectoryId{1, 9}), (DirectoryId{2, 0}));
  EXPECT_LT((DirectoryId{1, 1}), (DirectoryId{1, 2}));
  EXPECT_FALSE((DirectoryId{1, 2}) < (DirectoryId{1, 2}));
}

TEST(ReplicaKey, Order_NodeFirst) {
  EXPECT_LT((ReplicaKey{NodeId(1), DirectoryId{9, 9}}), (ReplicaKey{NodeId(2), DirectoryId{1, 1}}));
  EXPECT_LT((ReplicaKey{NodeId(1), DirectoryId{1, 1}}), (ReplicaKey{NodeId(1), DirectoryId{1, 2}}));
}

TEST(ReplicaKey, SameNodeOnAnotherDirectory_IsAnotherReplica) {
  EXPECT_NE((ReplicaKey{NodeId(1), DirectoryId{1, 1}}), (ReplicaKey{NodeId(1), DirectoryId{1, 2}}));
}

TEST(ReplicaKey, Print_ShortensTheDirectory) {
  EXPECT_EQ(Print(ReplicaKey{NodeId(3), kDirectory}), "3@01234567");
}

TEST(PartitionId, Order_TopicFirst) {
  EXPECT_LT((PartitionId{TopicId(1), 9}), (PartitionId{TopicId(2), 0}));
  EXPECT_LT((PartitionId{TopicId(1), 0}), (PartitionId{TopicId(1), 1}));
  EXPECT_EQ(kMetadataPartition, (PartitionId{TopicId(1), 0}));
}

TEST(PartitionId, Print_TopicAndIndex) { EXPECT_EQ(Print(PartitionId{TopicId(12), 3}), "12:3"); }

TEST(Offset, Arithmetic_CountsRecords) {
  EXPECT_EQ(Offset(5) + 3, Offset(8));
  EXPECT_EQ(Offset(8) - Offset(5), 3);
  EXPECT_EQ(Print(Offset(8)), "8");
}

TEST(Epoch, Next_IsOneMore) { EXPECT_EQ(Next(Epoch(6)), Epoch(7)); }

TEST(OffsetAndEpoch, Order_EpochBeforeOffset) {
  const OffsetAndEpoch longer_but_older{Offset(100), Epoch(1)};
  const OffsetAndEpoch shorter_but_newer{Offset(2), Epoch(2)};
  EXPECT_LT(longer_but_older, shorter_but_newer);
  EXPECT_GE(shorter_but_newer, longer_but_older);
  EXPECT_LT((OffsetAndEpoch{Offset(1), Epoch(2)}), shorter_but_newer);
  EXPECT_GE(shorter_but_newer, shorter_but_newer);
}

TEST(OffsetAndEpoch, Print_OffsetThenEpoch) {
  EXPECT_EQ(Print(OffsetAndEpoch{Offset(10), Epoch(2)}), "10/2");
}

TEST(ElectionState, Print_SaysWhatIsUnknown) {
  ElectionState state;
  state.epoch = Epoch(4);
  EXPECT_EQ(Print(state), "epoch=4 leader=none voted=none");
  state.leader = ReplicaKey{NodeId(3), kDirectory};
  state.voted = ReplicaKey{NodeId(2), kDirectory};
  EXPECT_EQ(Print(state), "epoch=4 leader=3@01234567 voted=2@01234567");
}

TEST(ElectionState, Equality_LooksAtEachField) {
  const ElectionState state{Epoch(4), ReplicaKey{NodeId(3), kDirectory}, std::nullopt};
  ElectionState other = state;
  EXPECT_EQ(state, other);
  other.epoch = Epoch(5);
  EXPECT_NE(state, other);
  other = state;
  other.leader.reset();
  EXPECT_NE(state, other);
  other = state;
  other.voted = state.leader;
  EXPECT_NE(state, other);
}

}  // namespace
}  // namespace quorum
