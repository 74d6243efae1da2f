// Faults: draws what goes wrong, and when. Each kind that the seed switched on happens again and
// again, with a mean time between two; how long it lasts is drawn each time. Damage for good (a
// wiped disk, a flipped bit) is kept below what a partition can survive: fewer than half of its
// voters, ever. Where chance places a new partition on disks that are lost already, it is lost, and
// its topic has to be deleted.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "tests/sim/producers.h"
#include "tests/sim/sim_node.h"
#include "tests/sim/topics.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

namespace quorum::sim {

class Faults {
 public:
  Faults(World* world, std::vector<std::unique_ptr<SimNode>>* nodes, Workload* workload,
         Topics* topics, Producers* producers, Prng prng);

  void Start();
  // No new fault from now on, and all that can be healed is: every node runs, every link works.
  void Heal();
  // After the heal: one node is cut off from the others for `length`, one time in two.
  void DisturbOnce(Duration length);
  // A partition was created: some of its first voters may be late, or lost already.
  void OnPartition(PartitionId partition, const PartitionFact& fact);
  // Too many of the voters of one of its partitions are lost for ever.
  bool IsLost(TopicId topic) const;

 private:
  using Links = std::vector<std::pair<NodeId, NodeId>>;

  void Schedule(FaultKind kind);
  void Inject(FaultKind kind);
  Duration DrawLength();
  SimNode& RandomNode() { return *nodes_[prng_.Below(nodes_.size())]; }
  void After(Duration delay, std::function<void()> action);

  void Crash(SimNode& node, bool power_cut);
  void AfterCrash(SimNode& node);
  void RestartLater(SimNode& node);
  void PowerCutAll();
  void CutForAWhile(const Links& links);
  void CutOneLink(bool both_ways);
  void Isolate();
  void Split();
  void Swizzle();
  void StickDisk(SimNode& node);
  void ChangeClock(SimNode& node);
  void Resign();
  void ShutDown(SimNode& node);
  void Damage(SimNode& node);
  void Wipe(SimNode& node);
  void MoveObserver();
  bool MayDestroy(PartitionId partition, const ReplicaKey& key) const;
  bool MayDestroyAll(const SimNode& node) const;
  void MarkDestroyed(const SimNode& node);
  PartitionId RandomPartition();
  void OnStopped(const SimNode& node);

  // --- fault_scripts.cc: faults that chance would hardly ever put together ---

  SimNode& NodeOf(const ReplicaKey& key);
  void StopFor(SimNode& node, Duration length);
  // The blank replicas of a partition are alone: those that open late, and those that were wiped.
  void EmptyVoters();
  bool EmptyVoters(PartitionId partition, const PartitionFact& fact);
  bool CatalogSurvives(const std::vector<SimNode*>& stopped, const std::vector<SimNode*>& wiped);
  // Lets the late ones go on once the wiped ones are part of the cluster again.
  void WakeAfter(const std::vector<SimNode*>& late, const std::vector<SimNode*>& wiped, int tries);
  // A voter that is behind is elected by disks that have forgotten everything.
  void ForgetfulDisks();
  // A leader is cut off, and maybe sleeps, until its voters have elected another one.
  void Depose();
  Links AllLinksOf(NodeId node) const;

  World& world_;
  std::vector<std::unique_ptr<SimNode>>& nodes_;
  Workload& workload_;
  Topics& topics_;
  Producers& producers_;
  Prng prng_;
  bool healed_ = false;
  std::map<PartitionId, std::set<ReplicaKey>> destroyed_;
  // Directories that are wiped, or whose catalog cannot be read any more.
  std::set<ReplicaKey> lost_;
};

}  // namespace quorum::sim
