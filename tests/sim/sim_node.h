// SimNode: one node, and everything outside of its shards and its controller that the product would
// find there: a clock, a disk, a network, and a supervisor that starts the process again. Shards
// and controller are the product's own, and wired as service/server does it.
//
//   sim_node.cc             the process: how it starts, ends and runs
//   sim_node_machine.cc     disk, network, and what is seen of them
//   sim_node_controller.cc  the catalog's side: registration, births, observers
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/base/voter_set.h"
#include "service/controller/controller_link.h"
#include "service/controller/node_controller.h"
#include "service/shard/peer_transport.h"
#include "service/shard/shard.h"
#include "service/shard/shard_api.h"
#include "service/shard/shard_config.h"
#include "storage/api/log_writer.h"
#include "storage/memory/memory_disk.h"
#include "tests/sim/sim_clock.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/world.h"

namespace quorum::sim {

// What may wait for the disk on one shard (ShardConfig::gated_max); what its replicas ask for by
// themselves comes on top.
inline constexpr size_t kGatedMax = 100;

class SimNode : public NetworkHost,
                private shard::PeerTransport,
                private shard::ShardDirectory,
                private shard::ShardObserver,
                private storage::LogWriter,
                private controller::ControllerLink {
 public:
  // Its disk is blank: Format comes next.
  SimNode(World* world, NodeId id, int shards, Prng prng);
  ~SimNode() override;

  NodeId id() const { return id_; }
  const ReplicaKey& key() const { return key_; }
  bool up() const { return !slots_.empty(); }
  uint64_t life() const { return life_; }
  SimClock& clock() { return clock_; }
  storage::MemoryDisk& disk() { return disk_; }
  const storage::MemoryDisk& disk() const { return disk_; }
  // Rounds of its shards, and of its controller.
  uint64_t rounds() const { return rounds_; }
  uint64_t controller_rounds() const { return controller_rounds_; }

  // --- the process ---

  // As `quorumd format` does: with voters of `__metadata` it founds, without it joins.
  void Format(const std::optional<VoterSet>& founding_voters);
  // Starts the process on what the disk holds.
  void Start();
  // Ends it at once: kill -9, or the loss of power with all that was not synced.
  void Crash(bool power_cut);
  // Ends it with everything synced, after it has handed over what it led, or at the latest after
  // `limit`. `stopped` runs then, unless it crashed before.
  void ShutDown(Duration limit, std::function<void()> stopped);
  // Crashes a moment after the next write was submitted.
  void CrashInWrite(bool power_cut, std::function<void()> crashed);
  // Nothing of the process runs for a while.
  void Pause(Duration length);
  // The thread of its controller alone does not run, for so long or until WakeController.
  void StallController(Duration length);
  void WakeController();
  bool controller_stalled() const { return stalled_until_ > world_.queue.now(); }
  // The directory is emptied and formatted anew to join, under another directory id. Not while it
  // runs.
  void Wipe();
  // The same under the same directory id and with as many starts, which nobody may ever do: it has
  // forgotten its votes, and nobody can notice.
  void Forget();

  // --- the machine ---

  void SetClockRate(int64_t rate_ppm);
  void SetDiskStuck(bool stuck);
  // Every sync takes this much longer, until it is set to zero again.
  void SlowDisk(Duration extra) { disk_extra_ = extra; }
  // Faults of the machine are over.
  void Heal();

  // --- what reaches the process ---

  shard::ShardApi* ShardOf(Lane lane) override;
  controller::ControllerApi* ControllerOf(const ReplicaKey& key) override;
  std::optional<ReplicaKey> Introduction() const override;
  const Clock& HostClock() const override { return clock_; }
  // Null while the process does not run.
  controller::NodeController* controller() { return controller_.get(); }
  // False when the process does not run, or does not take the call.
  bool Post(PartitionId partition, shard::ShardCall call);
  const raft::Replica* Find(PartitionId partition) const;
  // All its replicas.
  std::vector<PartitionId> Partitions() const;

  // Observers of a partition, which the catalog cannot name yet: opened and closed from outside, as
  // a change of voters will do.
  void OpenObserver(PartitionId partition, const std::vector<ReplicaKey>& peers);
  void CloseObserver(PartitionId partition);
  // Closes those whose partition is deleted and which its controller has never heard of.
  void CloseOrphans();

  size_t waiter_count() const;
  size_t unsynced_bytes() const;
  // Checks every replica, and that what is waited for stays bounded.
  void CheckAll(size_t waiters_max);

 private:
  // Something that runs round by round on a thread of its own.
  struct Loop {
    bool scheduled = false;
    WorldTime run_at;
    uint64_t generation = 0;
    WorldTime busy_until = WorldTime::zero();
  };

  ProcessId process() const { return ProcessId{key_, life_}; }
  size_t SlotOf(Lane lane) const { return lane.value() % shard_count_; }
  size_t SlotOf(PartitionId partition) const;
  shard::ShardConfig MakeConfig(Incarnation incarnation);
  void OpenShards(const storage::RecoveredStore& store);
  // The process is gone; the disk keeps what `outcome` says.
  void End(const storage::CrashOutcome& outcome, bool power_cut);
  // Loops 0 to shard_count_ - 1 are shards, the last one is the controller.
  void ScheduleRun(size_t loop, WorldTime at);
  void RunLoop(size_t loop);
  MonoTime RunShard(size_t slot);
  void RunAllSoon();

  // --- sim_node_controller.cc ---
  void OpenController(const storage::RecoveredStore& store);
  MonoTime RunController();
  void PostUntilTaken(PartitionId partition, const shard::ShardCall& call);
  void LookForLeader();
  shard::ShardApi& ForPartition(PartitionId partition) override;
  shard::ShardApi& ForLane(Lane lane) override;
  void Register(const ReplicaKey& leader, const controller::BrokerRegistration& registration,
                Duration timeout,
                std::function<void(std::optional<controller::ControllerResult>)> done) override;
  void OnNode(const controller::NodeView&) override {}
  void OnCatalogFailure(const std::string& reason) override;
  void OnRegistrationRefused(const std::string&) override {}
  void OnFenced(const std::string& reason) override;

  // --- sim_node_machine.cc ---
  void Housekeep();

  Duration DrawSyncTime();
  void ScheduleSync();
  void ScheduleReads();

  void Send(shard::LaneRequest request, Duration timeout, shard::PeerDone done) override;
  void Submit(storage::WriteSet set, std::function<void()> on_durable) override;
  void OnTrace(PartitionId partition, const raft::TraceEvent& event) override;
  void OnQuarantine(PartitionId partition, const std::string& reason) override;
  void OnMessageLeaves(PartitionId partition) override;
  void OnVoteLeaves(PartitionId partition, Epoch epoch, const ReplicaKey& candidate) override;

  World& world_;
  const NodeId id_;
  const size_t shard_count_;
  Prng prng_;
  SimClock clock_;
  storage::MemoryDisk disk_;
  ReplicaKey key_;
  // Counts the starts and the ends of processes, so that what belongs to an earlier one is known.
  uint64_t life_ = 0;
  std::vector<std::unique_ptr<shard::Shard>> slots_;
  std::unique_ptr<controller::NodeController> controller_;
  std::vector<Loop> loops_;
  bool leads_catalog_ = false;
  std::set<PartitionId> observed_;
  // What is remembered of observers that were closed.
  std::map<PartitionId, ElectionState> closed_observers_;
  WorldTime paused_until_ = WorldTime::zero();
  WorldTime stalled_until_ = WorldTime::zero();
  bool sync_scheduled_ = false;
  // The disk does its best from now on.
  bool healed_ = false;
  Duration disk_extra_ = Duration::zero();
  std::function<void()> after_next_submit_;
  size_t shards_shutting_down_ = 0;
  uint64_t rounds_ = 0;
  uint64_t controller_rounds_ = 0;
};

}  // namespace quorum::sim
