#include "tests/sim/seed_range.h"

#include <algorithm>
#include <iostream>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "service/base/check.h"
#include "tests/sim/child.h"

namespace quorum::sim {
namespace {

RangeResult RunHere(const SeedRange& range, const RunOneSeed& run) {
  RangeResult result;
  for (uint64_t i = 0; i < range.seeds && (result.failed == 0 || range.keep_going); ++i) {
    run(range.from + i, &result.statistics) ? ++result.passed : ++result.failed;
  }
  return result;
}

std::string Encode(const RangeResult& result) {
  return absl::StrCat(result.passed, " ", result.failed, " ", result.statistics.Encode());
}

RangeResult Decode(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  CHECK_EQ(parts.size(), 3u);
  RangeResult result;
  CHECK(absl::SimpleAtoi(parts[0], &result.passed)) << parts[0];
  CHECK(absl::SimpleAtoi(parts[1], &result.failed)) << parts[1];
  result.statistics = Statistics::Decode(parts[2]);
  return result;
}

// The `index`th of range.jobs parts, which differ by one seed at most.
SeedRange PartOf(const SeedRange& range, uint64_t index) {
  SeedRange part = range;
  const uint64_t first = range.seeds * index / range.jobs;
  part.from = range.from + first;
  part.seeds = range.seeds * (index + 1) / range.jobs - first;
  return part;
}

}  // namespace

RangeResult RunRange(const SeedRange& range, const RunOneSeed& run) {
  CHECK_GE(range.jobs, 1u);
  if (range.jobs == 1) return RunHere(range, run);
  std::vector<std::unique_ptr<Child>> children;
  for (uint64_t i = 0; i < range.jobs; ++i) {
    children.push_back(std::make_unique<Child>(
        [part = PartOf(range, i), &run] { return Encode(RunHere(part, run)); }));
  }
  RangeResult sum;
  for (const auto& child : children) {
    const Child::End end = child->Wait();
    RangeResult part;
    if (end.done) {
      part = Decode(end.returned);
    } else {
      part.failed = 1;
    }
    if (part.failed > 0) std::cout << end.output << std::flush;
    sum.passed += part.passed;
    sum.failed += part.failed;
    sum.statistics.Merge(part.statistics);
  }
  return sum;
}

std::vector<std::string> NotSeen(const RangeResult& result) {
  if (result.failed > 0 || result.passed < kSeedsThatSeeAll) return {};
  const std::vector<const char*> missing = result.statistics.Missing();
  return {missing.begin(), missing.end()};
}

}  // namespace quorum::sim
