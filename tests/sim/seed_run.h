// Runs one seed and reports. A failed CHECK of the product ends the process; the report is printed
// on the way out all the same.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/statistics.h"

namespace quorum::sim {

struct SeedRequest {
  uint64_t seed = 0;
  // For the command that reproduces a failure; empty without a planted bug.
  std::string plant;
  bool verbose = false;
  // Run it twice, and compare the hashes of the two runs.
  bool replay = false;
};

// True when the seed passed. Otherwise what was found has been printed, with the last lines of each
// node and the command that reproduces it.
bool RunSeed(const SeedRequest& request, Statistics* statistics);

}  // namespace quorum::sim
