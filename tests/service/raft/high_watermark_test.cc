// MajorityOffset: the table of C-088 and BUG-061, and a count by hand for random ends.

#include "service/raft/high_watermark.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"

namespace quorum::raft {
namespace {

using Ends = std::vector<std::optional<Offset>>;

Ends Of(const std::vector<int64_t>& ends) {
  Ends result;
  for (const int64_t end : ends) result.emplace_back(Offset(end));
  return result;
}

std::optional<Offset> CountByHand(const Ends& ends) {
  std::optional<Offset> largest;
  for (const std::optional<Offset>& candidate : ends) {
    if (!candidate.has_value()) continue;
    const auto holders = std::count_if(
        ends.begin(), ends.end(),
        [&](const std::optional<Offset>& end) { return end.has_value() && *end >= *candidate; });
    const bool majority = static_cast<size_t>(holders) >= ends.size() / 2 + 1;
    if (majority && (!largest.has_value() || *candidate > *largest)) largest = candidate;
  }
  return largest;
}

TEST(MajorityOffset, C088_BUG061_TheIndexRule) {
  EXPECT_EQ(MajorityOffset(Of({7})), Offset(7));
  EXPECT_EQ(MajorityOffset(Of({7, 3})), Offset(3));
  EXPECT_EQ(MajorityOffset(Of({1, 7, 3})), Offset(3));
  EXPECT_EQ(MajorityOffset(Of({9, 9, 3, 3})), Offset(3)) << "two of four are no majority";
  EXPECT_EQ(MajorityOffset(Of({9, 9, 9, 3})), Offset(9));
  EXPECT_EQ(MajorityOffset(Of({1, 2, 3, 4, 5})), Offset(3));
  EXPECT_EQ(MajorityOffset(Of({6, 5, 4, 3, 2, 1})), Offset(3));
  EXPECT_EQ(MajorityOffset(Of({7, 6, 5, 4, 3, 2, 1})), Offset(4));
}

TEST(MajorityOffset, AnUnknownEnd_OrdersBelowEveryOffset) {
  EXPECT_EQ(MajorityOffset({std::nullopt}), std::nullopt);
  EXPECT_EQ(MajorityOffset({Offset(5), std::nullopt}), std::nullopt);
  EXPECT_EQ(MajorityOffset({Offset(5), std::nullopt, std::nullopt}), std::nullopt);
  EXPECT_EQ(MajorityOffset({std::nullopt, Offset(5), Offset(0)}), Offset(0));
}

TEST(MajorityOffset, EqualsACountByHand_ForOneToSevenVoters) {
  Prng prng(88);
  for (size_t voters = 1; voters <= 7; ++voters) {
    for (int trial = 0; trial < 2000; ++trial) {
      Ends ends;
      for (size_t i = 0; i < voters; ++i) {
        ends.push_back(prng.Chance(200'000) ? std::optional<Offset>()
                                            : Offset(prng.Between(int64_t{0}, int64_t{9})));
      }
      EXPECT_EQ(MajorityOffset(ends), CountByHand(ends)) << voters << " voters";
    }
  }
}

TEST(MajorityOffsetDeathTest, OfNobody_Dies) { EXPECT_DEATH(MajorityOffset({}), ""); }

}  // namespace
}  // namespace quorum::raft
