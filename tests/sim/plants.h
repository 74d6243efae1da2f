// The planted bugs as tests of the simulator itself: each has to be found. Every run is a process
// of its own, because a plant may end in a failed CHECK.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <string>

namespace quorum::sim {

// Runs every plant on the seed that is known to find it, and prints `N passed, N failed`. The exit
// code of the program.
int CheckPlants();

// Prints, for `plant` or for all of them, after how many seeds from `from` it is found, at most
// `seeds`.
int FindPlants(uint64_t from, uint64_t seeds, const std::string& plant);

}  // namespace quorum::sim
