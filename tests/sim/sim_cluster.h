// SimCluster: one run. It builds the nodes that the seed describes, lets faults, clients and
// administrators loose on them, then heals everything and demands that every partition recovers in
// bounded time, and that all nodes are as the catalog says.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "service/base/prng.h"
#include "tests/sim/faults.h"
#include "tests/sim/producers.h"
#include "tests/sim/sim_node.h"
#include "tests/sim/sim_options.h"
#include "tests/sim/topics.h"
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
  void MakeNodes();
  // Part of the nodes found the cluster, the others join it.
  void Found();
  // Without faults, until the first topics are there; not for ever.
  void StartCalmly();
  void CheckEverythingSometimes();
  // Some nodes beside the voters observe a partition from its creation on.
  void AddObservers(PartitionId partition, const PartitionFact& fact);
  // The new disk of a voter that was wiped holds the partition again, as an observer.
  void ObserveAgain(SimNode& node);

  void RunFor(Duration length);

  // --- liveness.cc ---
  void CheckLiveness();
  // Runs until nothing is `missing`, or fails with what still is after `limit`.
  void RunUntil(Duration limit, const char* what, const std::function<std::string()>& missing);
  void NoteTargets();
  void ProbeSometimes();
  Duration TransferTime() const;
  // The leader of the highest epoch that has committed in it; null when there is none.
  const raft::Replica* LeaderOf(PartitionId partition) const;
  // Empty when every partition has a leader that has committed past its target.
  std::string WhatLeadersMiss() const;
  // Empty when every live replica shows all that its leader has, and every call is answered.
  std::string WhatMembersMiss() const;
  bool IsExempt(PartitionId partition, const SimNode& node) const;
  // Whether a replica that nobody waits for still fetches what it misses, and keeps others busy.
  bool SomebodyIsBehind() const;
  // Empty when what the catalog says of this partition is so on every node.
  std::string WhatReplicasMiss(PartitionId partition, const PartitionFact& fact) const;
  // Empty when every topic is there or gone as its administrator wishes, every node knows it, and
  // nothing is left of what was deleted.
  std::string WhatCatalogMisses() const;
  std::string WhatNodeMisses(SimNode& node) const;
  std::string WhatIsLeft(const SimNode& node) const;
  void CheckIdle();
  void CheckBusy(size_t node, int64_t rounds, int64_t controller_rounds, Duration length);

  const SimOptions options_;
  EventQueue queue_;
  Failure failure_;
  Tracer tracer_;
  Oracle oracle_;
  SessionOracle sessions_;
  ClientOracle clients_;
  ProducerOracle producer_oracle_;
  CatalogOracle catalog_;
  Prng prng_;
  SimNetwork network_;
  World world_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<Topics> topics_;
  std::unique_ptr<Producers> producers_;
  std::unique_ptr<Faults> faults_;
  // What has to be committed of each partition: more than the largest log end when everything was
  // healed, so that it is known to take appends.
  std::map<PartitionId, Offset> targets_;
  bool probing_ = false;
  // Everything is healed.
  bool healed_ = false;
};

}  // namespace quorum::sim
