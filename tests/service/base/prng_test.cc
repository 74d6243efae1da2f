#include "service/base/prng.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "service/base/time.h"

namespace quorum {
namespace {

std::vector<uint64_t> Draw(Prng prng, int count) {
  std::vector<uint64_t> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(prng.Next());
  return drawn;
}

// The first values of the reference implementation of splitmix64 for seed 1234567.
TEST(Prng, Next_IsSplitmix64) {
  EXPECT_EQ(
      Draw(Prng(1234567), 5),
      (std::vector<uint64_t>{6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL,
                             4593380528125082431ULL, 16408922859458223821ULL}));
}

TEST(Prng, OneSeed_OneSequence) {
  EXPECT_EQ(Draw(Prng(7), 100), Draw(Prng(7), 100));
  EXPECT_NE(Draw(Prng(7), 100), Draw(Prng(8), 100));
}

TEST(Prng, Below_StaysBelowAndReachesEachValue) {
  Prng prng(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 7000; ++i) ++counts.at(prng.Below(7));
  // The expected count is 1000 with a standard deviation of 29.
  for (const int count : counts) EXPECT_NEAR(count, 1000, 180);
}

TEST(PrngDeathTest, Below_Zero_Dies) { EXPECT_DEATH(Prng(1).Below(0), "bound"); }

TEST(Prng, Between_HoldsBothEnds) {
  Prng prng(2);
  std::set<int64_t> drawn;
  for (int i = 0; i < 1000; ++i) drawn.insert(prng.Between(int64_t{-2}, int64_t{2}));
  EXPECT_EQ(drawn, (std::set<int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(prng.Between(int64_t{5}, int64_t{5}), 5);
}

TEST(Prng, Between_WidestRange_DoesNotOverflow) {
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
  Prng prng(3);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const int64_t drawn = prng.Between(kLow, kHigh);
    negative = negative || drawn < 0;
    positive = positive || drawn > 0;
    EXPECT_GE(prng.Between(int64_t{-1}, kHigh), -1);
    EXPECT_LE(prng.Between(kLow, int64_t{1}), 1);
  }
  EXPECT_TRUE(negative);
  EXPECT_TRUE(positive);
}

TEST(PrngDeathTest, Between_EmptyRange_Dies) {
  EXPECT_DEATH(Prng(1).Between(int64_t{2}, int64_t{1}), "low");
}

TEST(Prng, BetweenDurations_LeavesTheHighEndOut) {
  Prng prng(4);
  std::set<int64_t> drawn;
  for (int i = 0; i < 1000; ++i) drawn.insert(prng.Between(Duration(10), Duration(13)).count());
  EXPECT_EQ(drawn, (std::set<int64_t>{10, 11, 12}));
}

TEST(Prng, BetweenDurations_EmptyRange_GivesLow) {
  Prng prng(5);
  EXPECT_EQ(prng.Between(Duration(10), Duration(10)), Duration(10));
  EXPECT_EQ(prng.Between(Duration(10), Duration(3)), Duration(10));
}

TEST(Prng, Chance_FollowsTheProbability) {
  Prng prng(6);
  int hits = 0;
  for (int i = 0; i < 10000; ++i) {
    EXPECT_FALSE(prng.Chance(0));
    EXPECT_TRUE(prng.Chance(1'000'000));
    hits += prng.Chance(250'000) ? 1 : 0;
  }
  // The expected count is 2500 with a standard deviation of 43.
  EXPECT_NEAR(hits, 2500, 260);
}

TEST(Prng, Fork_DependsOnStateAndName) {
  Prng one(9);
  Prng two(9);
  EXPECT_EQ(Draw(one.Fork("link"), 10), Draw(two.Fork("link"), 10));
  Prng three(9);
  Prng four(9);
  EXPECT_NE(Draw(three.Fork("link"), 10), Draw(four.Fork("disk"), 10));
  Prng five(9);
  Prng six(10);
  EXPECT_NE(Draw(five.Fork("link"), 10), Draw(six.Fork("link"), 10));
}

TEST(Prng, Fork_Twice_GivesTwoStreams) {
  Prng parent(9);
  const std::vector<uint64_t> first = Draw(parent.Fork("link"), 10);
  EXPECT_NE(first, Draw(parent.Fork("link"), 10));
}

TEST(Prng, Fork_DrawsOfTheForkDoNotShiftTheParent) {
  Prng idle(9);
  Prng busy(9);
  idle.Fork("link");
  Prng fork = busy.Fork("link");
  for (int i = 0; i < 100; ++i) fork.Next();
  EXPECT_EQ(Draw(idle, 10), Draw(busy, 10));
}

TEST(Prng, Fork_SharesNoValueWithItsSiblings) {
  Prng parent(11);
  std::set<uint64_t> drawn;
  for (int i = 0; i < 50; ++i) {
    for (const uint64_t value : Draw(parent.Fork("partition"), 100)) drawn.insert(value);
  }
  EXPECT_EQ(drawn.size(), 5000u);
}

}  // namespace
}  // namespace quorum
