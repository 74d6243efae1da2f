// SimCluster: one run. It builds the nodes that the seed describes, lets faults and clients loose on
// them, then heals everything and demands that every partition recovers in bounded time.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "service/base/prng.h"
#include "tests/sim/faults.h"
#include "tests/sim/sim_node.h"
#include "tests/sim/sim_options.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

namespace quorum::sim {

class SimCluster {
 public:
  // With `trace`, every line of the trace is printed as it comes.
  SimCluster(const SimOptions& options, Statistics* statistics, std::ostream* trace);
  ~SimCluster();

  // Runs to the end, or to the first failure.
  void Run();

  bool failed() const { return failure_.failed(); }
  const std::string& failure() const { return failure_.text(); }
  // Of everything that happened.
  uint64_t hash() const { return tracer_.hash(); }
  void PrintTail(std::ostream& out) const { tracer_.PrintTail(out); }

 private:
  void CreatePartitions();
  void CreatePartition(uint32_t index);
  void CheckEverythingSometimes();
  void MarkCreated();

  // Runs until `done` says so, or fails with `what` after `limit`.
  template <typename Done>
  void RunUntil(Duration limit, const char* what, Done done);
  void RunFor(Duration length);

  // --- liveness.cc ---
  void CheckLiveness();
  void NoteTargets();
  void ProbeSometimes();
  // Empty when every partition has recovered; else what is missing.
  std::string WhatIsMissing() const;
  std::string WhatIsMissing(PartitionId partition, Offset target) const;
  bool IsExempt(PartitionId partition, const SimNode& node) const;
  void CheckIdle();

  const SimOptions options_;
  EventQueue queue_;
  Failure failure_;
  Tracer tracer_;
  Oracle oracle_;
  SessionOracle sessions_;
  ClientOracle clients_;
  SimCatalog catalog_;
  Prng prng_;
  SimNetwork network_;
  World world_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<Faults> faults_;
  // The largest log end of each partition when everything was healed.
  std::map<PartitionId, Offset> targets_;
  bool probing_ = false;
};

}  // namespace quorum::sim
