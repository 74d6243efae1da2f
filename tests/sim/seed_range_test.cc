// Seeds that several processes share: the sum of what they have seen is judged, and a process that
// fails, whatever its end, fails the whole.

#include "tests/sim/seed_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "service/base/check.h"
#include "service/base/time.h"
#include "tests/sim/seed_run.h"
#include "tests/sim/statistics.h"

namespace quorum::sim {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto kCounters = static_cast<uint64_t>(Counter::kCount);

SeedRange Range(uint64_t seeds, uint64_t jobs) { return SeedRange{1, seeds, jobs, false}; }

// Each seed sees one thing; a single part of the range sees few of them.
bool SeeOne(uint64_t seed, Statistics* statistics) {
  statistics->Add(static_cast<Counter>(seed % kCounters));
  return true;
}

bool SeeOneButNoElection(uint64_t seed, Statistics* statistics) {
  const auto counter = static_cast<Counter>(seed % kCounters);
  if (counter != Counter::kElections) statistics->Add(counter);
  return true;
}

TEST(SeedRange, WhatIsSeenIsASumOverAllProcesses) {
  for (const uint64_t jobs : {1u, 2u, 7u, 64u, 200u}) {
    const RangeResult result = RunRange(Range(200, jobs), SeeOne);
    EXPECT_EQ(result.passed, 200u) << jobs;
    EXPECT_EQ(result.failed, 0u) << jobs;
    EXPECT_THAT(NotSeen(result), IsEmpty()) << jobs;
  }
}

TEST(SeedRange, WhatNoProcessSeesIsMissedForAnyNumberOfThem) {
  for (const uint64_t jobs : {1u, 2u, 7u, 64u, 200u}) {
    EXPECT_THAT(NotSeen(RunRange(Range(200, jobs), SeeOneButNoElection)), ElementsAre("elections"))
        << jobs;
  }
}

TEST(SeedRange, FewSeedsNeedNotSeeEverything) {
  EXPECT_THAT(NotSeen(RunRange(Range(kSeedsThatSeeAll - 1, 4), SeeOneButNoElection)), IsEmpty());
}

TEST(SeedRange, EachSeedRunsOnce) {
  const auto note = [](uint64_t seed, Statistics* statistics) {
    statistics->AddCost(milliseconds(seed));
    return true;
  };
  for (const uint64_t jobs : {1u, 3u, 8u}) {
    SeedRange range{100, 5, jobs, false};
    const Statistics seen = RunRange(range, note).statistics;
    EXPECT_EQ(seen.CostMedian(), milliseconds(102)) << jobs;
    EXPECT_EQ(seen.CostMax(), milliseconds(104)) << jobs;
  }
}

TEST(SeedRange, OfAHighestValueTheHighestCounts) {
  const auto run = [](uint64_t seed, Statistics* statistics) {
    statistics->Max(Counter::kSyncsInFlightMax, seed);
    return true;
  };
  EXPECT_EQ(RunRange(Range(9, 3), run).statistics.Get(Counter::kSyncsInFlightMax), 9u);
}

TEST(SeedRange, AFailureIsCountedAndToldWithTheOthers) {
  const auto run = [](uint64_t seed, Statistics*) {
    std::cout << "this is seed " << seed << '\n';
    return seed != 3;
  };
  testing::internal::CaptureStdout();
  const RangeResult result = RunRange(Range(6, 2), run);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_EQ(result.passed, 5u);
  EXPECT_EQ(result.failed, 1u);
  EXPECT_THAT(printed, HasSubstr("this is seed 3"));
  EXPECT_THAT(printed, Not(HasSubstr("this is seed 4"))) << "its process passed";
}

TEST(SeedRange, AProcessEndsWithItsFirstFailureUnlessItShallGoOn) {
  const auto run = [](uint64_t seed, Statistics*) { return seed > 2; };
  EXPECT_EQ(RunRange(Range(8, 2), run).passed, 4u);
  SeedRange range = Range(8, 2);
  range.keep_going = true;
  EXPECT_EQ(RunRange(range, run).passed, 6u);
  EXPECT_EQ(RunRange(range, run).failed, 2u);
}

TEST(SeedRange, AProcessThatDiesIsAFailure) {
  const auto run = [](uint64_t seed, Statistics*) {
    if (seed == 2) {
      std::cout << "last words" << std::endl;
      std::_Exit(EXIT_FAILURE);
    }
    return true;
  };
  testing::internal::CaptureStdout();
  const RangeResult result = RunRange(Range(6, 2), run);
  EXPECT_EQ(result.passed, 3u);
  EXPECT_EQ(result.failed, 1u);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("last words"));
}

// Real seeds: that they share the work changes nothing of what is seen, but for the costs.
TEST(SeedRange, SeedsSeeTheSameInWhicheverProcess) {
  const auto run = [](uint64_t seed, Statistics* statistics) {
    return RunSeed(SeedRequest{seed, "", false, false}, statistics);
  };
  const RangeResult one = RunRange(Range(4, 1), run);
  const RangeResult three = RunRange(Range(4, 3), run);
  EXPECT_EQ(one.passed, 4u);
  EXPECT_EQ(three.passed, 4u);
  for (uint64_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    EXPECT_EQ(one.statistics.Get(counter), three.statistics.Get(counter)) << i;
  }
  EXPECT_GT(three.statistics.CostMedian(), Duration::zero());
}

}  // namespace
}  // namespace quorum::sim
