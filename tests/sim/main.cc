// quorum_sim: runs seeds of the simulator. `--help` says how.

#include <glog/logging.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "service/base/check.h"
#include "service/base/plant.h"
#include "tests/sim/plants.h"
#include "tests/sim/seed_range.h"
#include "tests/sim/seed_run.h"

namespace quorum::sim {
namespace {

constexpr char kHelp[] = R"(Simulates clusters, one per seed, on one thread and without real time.

  ./dev sim --seeds=500             seeds 1 to 500
  ./dev sim --from=7 --seeds=1      seed 7 again
  ./dev sim --from=7 --seeds=1 --verbose

  --seeds=N       how many seeds; 100 if not given
  --from=S        the first one; 1 if not given
  --jobs=N        that many processes share the seeds; 1 if not given
  --plant=M07     with this planted bug: the run is expected to fail
  --find-plants=N says for every planted bug which of the first N seeds finds it
  --verbose       prints the trace
  --keep-going    runs on after a seed that failed
)";

constexpr uint64_t kJobsMax = 1024;

struct Flags {
  uint64_t from = 1;
  uint64_t seeds = 100;
  uint64_t jobs = 1;
  uint64_t find_plants = 0;
  std::string plant;
  bool verbose = false;
  bool keep_going = false;
  bool help = false;
};

bool ParseFlag(absl::string_view argument, Flags* flags) {
  if (absl::ConsumePrefix(&argument, "--seeds=")) {
    return absl::SimpleAtoi(argument, &flags->seeds);
  }
  if (absl::ConsumePrefix(&argument, "--from=")) return absl::SimpleAtoi(argument, &flags->from);
  if (absl::ConsumePrefix(&argument, "--jobs=")) {
    return absl::SimpleAtoi(argument, &flags->jobs) && flags->jobs > 0 && flags->jobs <= kJobsMax;
  }
  if (absl::ConsumePrefix(&argument, "--find-plants=")) {
    return absl::SimpleAtoi(argument, &flags->find_plants);
  }
  if (absl::ConsumePrefix(&argument, "--plant=")) {
    flags->plant = std::string(argument.data(), argument.size());
    return plants::ParsePlant(argument) != Plant::kNone;
  }
  if (argument == "--verbose") return flags->verbose = true;
  if (argument == "--keep-going") return flags->keep_going = true;
  if (argument == "--help") return flags->help = true;
  return false;
}

// One seed in this many runs twice.
constexpr uint64_t kReplayEvery = 25;

int RunSeeds(const Flags& flags) {
  const SeedRange range{flags.from, flags.seeds, flags.jobs, flags.keep_going};
  RangeResult result = RunRange(range, [&](uint64_t seed, Statistics* statistics) {
    const bool replay = seed % kReplayEvery == 0;
    return RunSeed(SeedRequest{seed, flags.plant, flags.verbose, replay}, statistics);
  });
  std::cout << "seen in " << result.statistics.Get(Counter::kSeeds) << " seeds:\n";
  result.statistics.Print(std::cout);
  if (flags.plant.empty()) {
    for (const std::string& name : NotSeen(result)) {
      std::cout << "FAILED: nothing was seen of: " << name << '\n';
      result.failed = 1;
    }
  }
  std::cout << result.passed << " passed, " << result.failed << " failed" << std::endl;
  return result.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int Main(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (ParseFlag(argv[i], &flags)) continue;
    std::cerr << "unknown or malformed: " << argv[i] << "\n\n" << kHelp;
    return 2;
  }
  if (flags.help) {
    std::cout << kHelp;
    return EXIT_SUCCESS;
  }
  BugsAreFatal() = true;
  if (flags.find_plants > 0) return FindPlants(flags.from, flags.find_plants, flags.plant);
  if (!flags.plant.empty()) plants::SetPlant(plants::ParsePlant(flags.plant));
  return RunSeeds(flags);
}

}  // namespace
}  // namespace quorum::sim

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  return quorum::sim::Main(argc, argv);
}
