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

struct KnownPlant {
  const char* name;
  // A seed that finds it. PLANTS.md says how many seeds it takes from the first one.
  uint64_t seed;
};

constexpr KnownPlant kPlants[] = {
    {"M01", 1}, {"M03", 1}, {"M04", 1}, {"M05", 1}, {"M06", 1}, {"M07", 1}, {"M09", 1}, {"M10", 1},
    {"M11", 1}, {"M13", 1}, {"M37", 1}, {"M38", 1}, {"M39", 1}, {"M40", 1}, {"M41", 1}, {"M43", 1},
};

// Runs one seed with the plant in a process of its own. True when the seed passed.
bool Passes(const char* plant, uint64_t seed) {
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

int CheckPlants() {
  int passed = 0;
  int failed = 0;
  for (const KnownPlant& plant : kPlants) {
    const bool found = !Passes(plant.name, plant.seed);
    found ? ++passed : ++failed;
    if (!found) std::cout << "FAILED: " << plant.name << " is not found any more\n";
  }
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int FindPlants(uint64_t from, uint64_t seeds, const std::string& only) {
  int missing = 0;
  for (const KnownPlant& plant : kPlants) {
    if (!only.empty() && only != plant.name) continue;
    uint64_t tried = 0;
    while (tried < seeds && Passes(plant.name, from + tried)) ++tried;
    if (tried == seeds) {
      ++missing;
      std::cout << plant.name << ": not found in " << seeds << " seeds" << std::endl;
    } else {
      std::cout << plant.name << ": found after " << tried + 1 << " seeds, by seed " << from + tried
                << std::endl;
    }
  }
  return missing == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace quorum::sim
