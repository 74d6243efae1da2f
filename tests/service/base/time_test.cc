#include "service/base/time.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace quorum {
namespace {

MonoTime At(int64_t nanoseconds) { return MonoTime(Duration(nanoseconds)); }

TEST(RoundUp, OnTheGrid_StaysPut) {
  EXPECT_EQ(RoundUp(At(0), Duration(10)), At(0));
  EXPECT_EQ(RoundUp(At(30), Duration(10)), At(30));
  EXPECT_EQ(RoundUp(At(-30), Duration(10)), At(-30));
}

TEST(RoundUp, BetweenTwoLines_GoesToTheNext) {
  EXPECT_EQ(RoundUp(At(1), Duration(10)), At(10));
  EXPECT_EQ(RoundUp(At(39), Duration(10)), At(40));
  EXPECT_EQ(RoundUp(At(-1), Duration(10)), At(0));
  EXPECT_EQ(RoundUp(At(-15), Duration(10)), At(-10));
}

TEST(RoundUp, ZeroOrNegativeGrid_ChangesNothing) {
  EXPECT_EQ(RoundUp(At(7), Duration(0)), At(7));
  EXPECT_EQ(RoundUp(At(7), Duration(-10)), At(7));
}

TEST(RoundUp, NearTheEndOfTime_IsNever) {
  EXPECT_EQ(RoundUp(kNever, Duration(10)), kNever);
  EXPECT_EQ(RoundUp(kNever - Duration(1), Duration(1'000'000)), kNever);
}

// Against the definition: the lowest multiple that is not below the instant.
TEST(RoundUp, SmallNumbers_AgreeWithTheDefinition) {
  for (int64_t grid = 1; grid <= 7; ++grid) {
    for (int64_t instant = -30; instant <= 30; ++instant) {
      int64_t multiple = -10 * grid;
      while (multiple < instant) multiple += grid;
      if (-10 * grid > instant) continue;
      EXPECT_EQ(RoundUp(At(instant), Duration(grid)), At(multiple)) << instant << " on " << grid;
    }
  }
}

}  // namespace
}  // namespace quorum
