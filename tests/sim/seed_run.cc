#include "tests/sim/seed_run.h"

#include <glog/logging.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_options.h"

namespace quorum::sim {
namespace {

// What the failure handler needs of the run that is going on.
struct Current {
  const SeedRequest* request = nullptr;
  const SimCluster* cluster = nullptr;
};
Current current;

void PrintReport(const std::string& what) {
  std::cout << std::flush;
  current.cluster->PrintTail(std::cout);
  std::cout << Describe(DrawOptions(current.request->seed)) << '\n'
            << "FAILED seed " << current.request->seed << ": " << what << '\n'
            << "again: ./dev sim --from=" << current.request->seed << " --seeds=1";
  if (!current.request->plant.empty()) std::cout << " --plant=" << current.request->plant;
  std::cout << std::endl;
}

// glog has printed the message of the CHECK by now.
__attribute__((noreturn)) void OnFatal() {
  if (current.cluster != nullptr) {
    PrintReport("a CHECK of the product failed, see above");
    std::cout << "0 passed, 1 failed" << std::endl;
  }
  std::_Exit(EXIT_FAILURE);
}

// An error that the product logs is a failure, whatever it does about it.
class ErrorCounter : public google::LogSink {
 public:
  ErrorCounter() {
    google::InstallFailureFunction(OnFatal);
    google::AddLogSink(this);
  }
  ~ErrorCounter() override { google::RemoveLogSink(this); }

  void send(google::LogSeverity severity, const char*, const char*, int, const struct ::tm*,
            const char* message, size_t size) override {
    if (severity < google::GLOG_ERROR || !first_.empty()) return;
    first_.assign(message, size);
  }

  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

// The hash of the run; `error` says what was wrong with it.
uint64_t RunOnce(const SeedRequest& request, Statistics* statistics, std::string* error) {
  ErrorCounter errors;
  SimCluster cluster(DrawOptions(request.seed), statistics, request.verbose ? &std::cout : nullptr);
  current = Current{&request, &cluster};
  cluster.Run();
  *error = cluster.failure();
  if (error->empty() && !errors.first().empty()) {
    *error = absl::StrCat("the product logged an error: ", errors.first());
  }
  if (!error->empty()) PrintReport(*error);
  current = Current{};
  return cluster.hash();
}

}  // namespace

bool RunSeed(const SeedRequest& request, Statistics* statistics) {
  statistics->Add(Counter::kSeeds);
  std::string error;
  const std::clock_t before = std::clock();
  const uint64_t hash = RunOnce(request, statistics, &error);
  const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  statistics->AddCost(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
  if (!error.empty()) return false;
  if (!request.replay) return true;
  statistics->Add(Counter::kReplayedSeeds);
  Statistics ignored;
  const uint64_t again = RunOnce(request, &ignored, &error);
  if (!error.empty()) return false;
  if (again == hash) return true;
  std::cout << "FAILED seed " << request.seed << ": two runs differ: " << hash << " and " << again
            << std::endl;
  return false;
}

}  // namespace quorum::sim
