#include "service/shard/fetch_sizes.h"

#include <gtest/gtest.h>

#include "tests/service/shard/shard_fixtures.h"

namespace quorum::shard {
namespace {

constexpr size_t kMost = 1 << 20;
constexpr size_t kLeast = FetchSizes::kLeast;

class FetchSizesTest : public ::testing::Test {
 protected:
  void Fail(size_t asked) { sizes_.OnFailure(link_, asked, At(0)); }
  void Answer(size_t bytes, Duration took) { sizes_.OnAnswer(link_, Next(), bytes, took, At(0)); }
  size_t Next() const { return sizes_.Next(link_); }

  const LinkKey link_{Key(2), Lane(0)};
  FetchSizes sizes_{kMost, Ms(2000)};
};

TEST_F(FetchSizesTest, NothingIsKeptOfLinksThatAreQuick) {
  EXPECT_EQ(Next(), kMost);
  Answer(kMost, Ms(900));
  Answer(0, Ms(2400));
  EXPECT_EQ(Next(), kMost);
  EXPECT_EQ(sizes_.link_count(), 0u);
}

TEST_F(FetchSizesTest, AFailureHalvesWhatWasAskedForDownToTheLeast) {
  Fail(kMost);
  EXPECT_EQ(Next(), kMost / 2);
  Fail(kMost);
  EXPECT_EQ(Next(), kMost / 2) << "it was out together with the first";
  for (int i = 0; i < 20; ++i) Fail(Next());
  EXPECT_EQ(Next(), kLeast);
  Fail(0);
  EXPECT_EQ(Next(), kLeast) << "it had asked for one batch only";
}

TEST_F(FetchSizesTest, AnAnswerThatComesLateIsAsGoodAsNone) {
  Answer(kMost, Ms(1001));
  EXPECT_EQ(Next(), kMost / 2);
  Answer(kMost / 2, Ms(1000));
  EXPECT_EQ(Next(), kMost / 2) << "twice as much would be late";
}

TEST_F(FetchSizesTest, TwiceOfWhatCameQuicklyIsAskedFor) {
  for (int i = 0; i < 20; ++i) Fail(Next());
  Answer(kLeast, Ms(500));
  EXPECT_EQ(Next(), 2 * kLeast);
  Answer(kLeast, Ms(500));
  EXPECT_EQ(Next(), 2 * kLeast) << "small ones prove nothing";
  Answer(0, Ms(1));
  EXPECT_EQ(Next(), 2 * kLeast);
  Answer(kMost / 4, Ms(500));
  EXPECT_EQ(Next(), kMost / 2) << "one large batch";
  Answer(kMost / 2, Ms(500));
  EXPECT_EQ(Next(), kMost);
  EXPECT_EQ(sizes_.link_count(), 0u);
}

TEST_F(FetchSizesTest, EachLinkHasItsOwn) {
  Fail(kMost);
  EXPECT_EQ(sizes_.Next(LinkKey{Key(3), Lane(0)}), kMost);
  EXPECT_EQ(sizes_.Next(LinkKey{Key(2), Lane(1)}), kMost);
}

TEST_F(FetchSizesTest, ALinkThatIsNotUsedAnyMoreIsForgotten) {
  Fail(kMost);
  sizes_.OnFailure(LinkKey{Key(3), Lane(0)}, kMost, At(300'000));
  EXPECT_EQ(sizes_.link_count(), 2u);
  sizes_.OnAnswer(link_, kMost / 2, 1, Ms(700), At(300'000));
  sizes_.OnFailure(LinkKey{Key(4), Lane(0)}, kMost, At(600'000));
  EXPECT_EQ(sizes_.link_count(), 3u);
  sizes_.OnFailure(LinkKey{Key(4), Lane(0)}, kMost, At(600'001));
  EXPECT_EQ(sizes_.link_count(), 1u);
}

TEST_F(FetchSizesTest, AMostBelowTheLeastIsAllThatIsAskedFor) {
  FetchSizes small(100, Ms(2000));
  small.OnFailure(link_, 100, At(0));
  EXPECT_EQ(small.Next(link_), 100u);
  EXPECT_EQ(small.link_count(), 0u);
}

}  // namespace
}  // namespace quorum::shard
