#include "storage/rocksdb/acked_floor.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/storage/rocksdb/store_harness.h"

namespace quorum::storage {
namespace {

class AckedFloorTest : public ::testing::Test {
 protected:
  AckedFloorTest() : path_(FreshPath("floor")) {
    EXPECT_FALSE(AckedFloor::Create(path_, kDirectory).has_value());
  }

  std::unique_ptr<AckedFloor> OpenFloor() {
    std::unique_ptr<AckedFloor> floor;
    const auto error = AckedFloor::Open(path_, &floor);
    EXPECT_FALSE(error.has_value()) << *error;
    return floor;
  }

  std::string ReasonOfOpenFloor() {
    std::unique_ptr<AckedFloor> floor;
    const auto error = AckedFloor::Open(path_, &floor);
    return error.has_value() ? error->reason : "none";
  }

  void FlipBit(size_t byte, int bit) {
    std::string bytes = ReadFile(path_);
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit));
    WriteFile(path_, bytes);
  }

  const std::string path_;
};

TEST_F(AckedFloorTest, StartsAtZeroAndKeepsWhatWasRaised) {
  auto floor = OpenFloor();
  EXPECT_EQ(floor->number(), 0u);
  EXPECT_EQ(floor->directory(), kDirectory);
  for (uint64_t number : {1u, 2u, 7u, 100u}) {
    ASSERT_FALSE(floor->Raise(number).has_value());
    EXPECT_EQ(OpenFloor()->number(), number);
  }
}

TEST_F(AckedFloorTest, NeverGoesDown) {
  auto floor = OpenFloor();
  ASSERT_FALSE(floor->Raise(9).has_value());
  ASSERT_FALSE(floor->Raise(3).has_value());
  EXPECT_EQ(floor->number(), 9u);
  EXPECT_EQ(OpenFloor()->number(), 9u);
}

TEST_F(AckedFloorTest, IsNeverMadeTwice) {
  ASSERT_FALSE(OpenFloor()->Raise(5).has_value());
  EXPECT_TRUE(AckedFloor::Create(path_, kDirectory).has_value());
  EXPECT_EQ(OpenFloor()->number(), 5u);
}

TEST_F(AckedFloorTest, DoesNotChangeItsSize) {
  EXPECT_EQ(ReadFile(path_).size(), AckedFloor::kFileSize);
  ASSERT_FALSE(OpenFloor()->Raise(5).has_value());
  EXPECT_EQ(ReadFile(path_).size(), AckedFloor::kFileSize);
}

TEST_F(AckedFloorTest, ATornSlotLeavesTheOtherOne) {
  auto floor = OpenFloor();
  ASSERT_FALSE(floor->Raise(5).has_value());
  const std::string before = ReadFile(path_);
  ASSERT_FALSE(floor->Raise(6).has_value());
  const std::string after = ReadFile(path_);
  // Any mixture of old and new bytes: a power cut in the middle of the second raise.
  for (size_t cut = 0; cut <= 64; ++cut) {
    for (const size_t slot : {size_t{0}, AckedFloor::kSlotSize}) {
      std::string torn = before;
      torn.replace(slot, cut, after, slot, cut);
      WriteFile(path_, torn);
      EXPECT_GE(OpenFloor()->number(), 5u);
    }
  }
}

TEST_F(AckedFloorTest, AFlippedBitInASlotIsFoundAndMadeGood) {
  auto floor = OpenFloor();
  ASSERT_FALSE(floor->Raise(5).has_value());
  ASSERT_FALSE(floor->Raise(6).has_value());
  ASSERT_FALSE(floor->RewriteBoth().has_value());
  const std::string whole = ReadFile(path_);
  for (size_t byte = 0; byte < 36; ++byte) {
    for (const size_t slot : {size_t{0}, AckedFloor::kSlotSize}) {
      FlipBit(slot + byte, static_cast<int>(byte % 8));
      auto reopened = OpenFloor();
      EXPECT_EQ(reopened->number(), 6u);
      ASSERT_FALSE(reopened->RewriteBoth().has_value());
      EXPECT_EQ(ReadFile(path_), whole);
    }
  }
}

TEST_F(AckedFloorTest, TwoDamagedSlotsAreDamage) {
  FlipBit(20, 1);
  FlipBit(AckedFloor::kSlotSize + 20, 1);
  EXPECT_EQ(ReasonOfOpenFloor(), kCorrupt);
}

TEST_F(AckedFloorTest, AShortOrMissingFileIsDamage) {
  WriteFile(path_, ReadFile(path_).substr(0, 100));
  EXPECT_EQ(ReasonOfOpenFloor(), kCorrupt);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_EQ(ReasonOfOpenFloor(), kAckedFloorMissing);
}

}  // namespace
}  // namespace quorum::storage
