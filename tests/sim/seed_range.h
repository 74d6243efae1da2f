// SeedRange: many seeds, in one process or in several at a time, and the sum of what they have
// seen. What nothing was seen of fails the whole, however many processes shared the seeds.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/sim/statistics.h"

namespace quorum::sim {

struct SeedRange {
  uint64_t from = 1;
  uint64_t seeds = 0;
  // Processes; each takes a part of the range. At least 1.
  uint64_t jobs = 1;
  // Otherwise a process ends with its first seed that fails.
  bool keep_going = false;
};

struct RangeResult {
  uint64_t passed = 0;
  uint64_t failed = 0;
  Statistics statistics;
};

// Whether the seed passed; says what was wrong otherwise.
using RunOneSeed = std::function<bool(uint64_t seed, Statistics* statistics)>;

// What a process has printed in which a seed failed, or that came to no end, is printed here. Such
// an end is one failed seed; what the process has seen counts for nothing.
RangeResult RunRange(const SeedRange& range, const RunOneSeed& run);

// What should have been seen in so many seeds, and was not; fewer seeds need not see everything.
inline constexpr uint64_t kSeedsThatSeeAll = 200;
std::vector<std::string> NotSeen(const RangeResult& result);

}  // namespace quorum::sim
