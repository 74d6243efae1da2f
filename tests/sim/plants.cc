#include "tests/sim/plants.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "service/base/check.h"
#include "service/base/plant.h"
#include "tests/sim/seed_run.h"

namespace quorum::sim {
namespace {

// Runs one seed with the plant in a process of its own. True when the seed passed.
bool Passes(const std::string& plant, uint64_t seed) {
  std::cout << std::flush;
  const pid_t child = fork();
  CHECK_GE(child, 0) << "fork";
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) {
      (void)dup2(nowhere, STDOUT_FILENO);
      (void)dup2(nowhere, STDERR_FILENO);
    }
    plants::SetPlant(plants::ParsePlant(plant));
    Statistics statistics;
    const bool passed = RunSeed(SeedRequest{seed, plant, false, false}, &statistics);
    std::_Exit(passed ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

}  // namespace

const std::vector<KnownPlant>& KnownPlants() {
  static const std::vector<KnownPlant>& plants = *new std::vector<KnownPlant>{
      {"M01", 1},   {"M03", 2},  {"M04", 1}, {"M05", 1}, {"M06", 1},   {"M07", 1},
      {"M09", 1},   {"M10", 49}, {"M11", 1}, {"M13", 1}, {"M37", 154}, {"M38", 21},
      {"M39", 1},   {"M40", 45}, {"M41", 6}, {"M42", 1}, {"M43", 1},   {"M44", 58},
      {"M45", 373}, {"M47", 3},  {"M50", 3}, {"M51", 9},
  };
  return plants;
}

std::optional<uint64_t> FindPlant(const std::string& plant, uint64_t from, uint64_t seeds) {
  CHECK(plants::ParsePlant(plant) != Plant::kNone) << plant;
  for (uint64_t i = 0; i < seeds; ++i) {
    if (!Passes(plant, from + i)) return from + i;
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
