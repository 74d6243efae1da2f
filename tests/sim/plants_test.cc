// Every planted bug of the layers that the simulator runs is found: the test of the test
// (reliability.md 6.4), by a seed that finds nothing without it.

#include "tests/sim/plants.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace quorum::sim {
namespace {

// So many seeds may pass before a plant counts as not found. The known seed needs one; when the
// draw of options changes, another one near it will do.
constexpr uint64_t kSeedsMax = 1500;

class PlantsTest : public ::testing::TestWithParam<KnownPlant> {};

TEST_P(PlantsTest, IsFound) {
  const std::optional<uint64_t> seed = FindPlant(GetParam().name, GetParam().seed, kSeedsMax);
  EXPECT_TRUE(seed.has_value()) << GetParam().name << " is not found in " << kSeedsMax << " seeds";
  EXPECT_TRUE(PassesWithoutPlant(GetParam().seed)) << "another bug is found by the known seed";
}

INSTANTIATE_TEST_SUITE_P(Each, PlantsTest, ::testing::ValuesIn(KnownPlants()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quorum::sim
