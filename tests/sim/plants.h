// The planted bugs as tests of the simulator itself: each has to be found. Every run is a process
// of its own, because a plant may end in a failed CHECK.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quorum::sim {

struct KnownPlant {
  const char* name;
  // The first seed that is known to find it; PLANTS.md says what it finds.
  uint64_t seed;
};

const std::vector<KnownPlant>& KnownPlants();

// The first seed at or after `from` that finds the plant, and nothing without it; empty when none
// of `seeds` does.
std::optional<uint64_t> FindPlant(const std::string& plant, uint64_t from, uint64_t seeds);

// Whether nothing is found in the seed when no bug is planted.
bool PassesWithoutPlant(uint64_t seed);

// Prints, for `only` or for every plant, after how many seeds from `from` it is found, at most
// `seeds`. The exit code of the program.
int FindPlants(uint64_t from, uint64_t seeds, const std::string& only);

}  // namespace quorum::sim
