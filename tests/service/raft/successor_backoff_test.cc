// The back-off of EndQuorumEpoch's successors (protocol.md 3.7; BUG-020).

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <set>

#include "service/base/prng.h"
#include "service/base/time.h"
#include "service/raft/on_resign.h"

namespace quorum::raft {
namespace {

constexpr Duration kCap = std::chrono::milliseconds(1000);

TEST(SuccessorBackoffTest, FirstStartsAtOnce) {
  Prng prng(1);
  for (const size_t count : std::initializer_list<size_t>{1, 2, 11, 40, 1000}) {
    EXPECT_EQ(SuccessorBackoff(0, count, kCap, prng), Duration::zero()) << count;
  }
}

// Whatever each of them draws: the latest start of one is before the earliest of the next.
TEST(SuccessorBackoffTest, StrictlyRisesWithThePositionAndStaysBelowTheCap) {
  for (const size_t count : std::initializer_list<size_t>{1, 2, 11, 40, 63, 64, 65, 1000}) {
    Prng prng(count);
    Duration latest_before = Duration(-1);
    for (size_t position = 0; position < count; ++position) {
      Duration earliest = kCap;
      Duration latest = Duration::zero();
      for (int draw = 0; draw < 50; ++draw) {
        const Duration wait = SuccessorBackoff(position, count, kCap, prng);
        earliest = std::min(earliest, wait);
        latest = std::max(latest, wait);
      }
      ASSERT_GT(earliest, latest_before) << position << " of " << count;
      ASSERT_LE(latest, kCap) << position << " of " << count;
      latest_before = latest;
    }
  }
}

TEST(SuccessorBackoffTest, SmallListsKeepTheHalvingOfKafka) {
  Prng prng(3);
  const Duration last_of_two = SuccessorBackoff(1, 2, kCap, prng);
  EXPECT_GE(last_of_two, kCap / 2);
  EXPECT_LT(last_of_two, kCap / 2 + std::chrono::milliseconds(20));
  const Duration middle_of_three = SuccessorBackoff(1, 3, kCap, prng);
  EXPECT_GE(middle_of_three, kCap / 4);
  EXPECT_LT(middle_of_three, kCap / 4 + std::chrono::milliseconds(20));
}

TEST(SuccessorBackoffTest, EmptyListOrMissingEntryIsRandom) {
  for (const size_t count : std::initializer_list<size_t>{0, 3, 40, 1000}) {
    Prng prng(count);
    std::set<Duration> waits;
    for (int draw = 0; draw < 100; ++draw) {
      waits.insert(SuccessorBackoff(std::nullopt, count, kCap, prng));
    }
    EXPECT_GT(*waits.begin(), Duration::zero()) << count;
    EXPECT_LT(*waits.rbegin(), kCap) << count;
    EXPECT_GT(waits.size(), 90u) << count;
    EXPECT_GT(*waits.rbegin() - *waits.begin(), kCap / 2) << count;
  }
}

TEST(SuccessorBackoffTest, TinyCapStillWorks) {
  Prng prng(5);
  const Duration cap(1);
  for (size_t position = 0; position < 100; ++position) {
    EXPECT_LE(SuccessorBackoff(position, 100, cap, prng), cap);
  }
  EXPECT_LE(SuccessorBackoff(std::nullopt, 100, cap, prng), cap);
}

}  // namespace
}  // namespace quorum::raft
