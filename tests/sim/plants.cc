#include "tests/sim/plants.h"

#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/base/plant.h"
#include "tests/sim/child.h"
#include "tests/sim/seed_run.h"

namespace quorum::sim {
namespace {

// Whether the seed passes with the plant. A process that neither comes to its end nor says what is
// wrong has found nothing: it was killed, or there is a bug in the simulator.
bool Passes(const std::string& plant, uint64_t seed) {
  Child child([&]() -> std::string {
    plants::SetPlant(plants::ParsePlant(plant));
    Statistics statistics;
    (void)RunSeed(SeedRequest{seed, plant, false, false}, &statistics);
    return "";
  });
  const Child::End end = child.Wait();
  const bool failed =
      end.output.find(absl::StrCat("FAILED seed ", seed, ": ")) != std::string::npos;
  CHECK(failed || end.done) << plant << " ends seed " << seed << " without a word:\n" << end.output;
  return !failed;
}

}  // namespace

const std::vector<KnownPlant>& KnownPlants() {
  static const std::vector<KnownPlant>& plants = *new std::vector<KnownPlant>{
      {"M01", 1},    {"M03", 1}, {"M04", 1}, {"M05", 1},  {"M06", 1},   {"M07", 1},  {"M09", 1},
      {"M10", 220},  {"M11", 1}, {"M13", 4}, {"M33", 70}, {"M37", 179}, {"M38", 21}, {"M39", 1},
      {"M40", 19},   {"M41", 6}, {"M42", 1}, {"M43", 1},  {"M44", 58},  {"M45", 43}, {"M47", 1},
      {"M48", 2913}, {"M50", 1}, {"M51", 6}, {"M52", 1},
  };
  return plants;
}

bool PassesWithoutPlant(uint64_t seed) { return Passes("", seed); }

std::optional<uint64_t> FindPlant(const std::string& plant, uint64_t from, uint64_t seeds) {
  CHECK(plants::ParsePlant(plant) != Plant::kNone) << plant;
  for (uint64_t i = 0; i < seeds; ++i) {
    if (!Passes(plant, from + i) && PassesWithoutPlant(from + i)) return from + i;
  }
  return std::nullopt;
}

int FindPlants(uint64_t from, uint64_t seeds, const std::string& only) {
  int missing = 0;
  for (const KnownPlant& plant : KnownPlants()) {
    if (!only.empty() && only != plant.name) continue;
    const std::optional<uint64_t> seed = FindPlant(plant.name, from, seeds);
    if (seed.has_value()) {
      std::cout << plant.name << ": found after " << *seed - from + 1 << " seeds, by seed " << *seed
                << std::endl;
    } else {
      ++missing;
      std::cout << plant.name << ": not found in " << seeds << " seeds" << std::endl;
    }
  }
  return missing == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace quorum::sim
