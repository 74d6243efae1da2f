// SimNode: one node, and everything outside of its shards that the product would find there: a
// clock, a disk, a network, a supervisor that starts the process again, and a replica manager. The
// shards are the product's own. This is the place to attach what else runs in a process.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/shard/peer_transport.h"
#include "service/shard/shard.h"
#include "service/shard/shard_config.h"
#include "storage/api/log_writer.h"
#include "storage/memory/memory_disk.h"
#include "tests/sim/sim_clock.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_replicas.h"
#include "tests/sim/world.h"

namespace quorum::sim {

class SimNode : public NetworkHost,
                private shard::PeerTransport,
                private shard::ShardObserver,
                private storage::LogWriter {
 public:
  SimNode(World* world, NodeId id, int shards, Prng prng);
  ~SimNode() override;

  NodeId id() const { return id_; }
  const ReplicaKey& key() const { return key_; }
  bool up() const { return !slots_.empty(); }
  uint64_t life() const { return life_; }
  SimClock& clock() { return clock_; }
  storage::MemoryDisk& disk() { return disk_; }
  uint64_t rounds() const { return rounds_; }

  // --- the process ---

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
  // The directory is emptied and formatted anew, under another directory id. Not while it runs.
  void Wipe();
  // The same under the same directory id, which nobody may ever do: it has forgotten its votes.
  void Forget();

  // --- the machine ---

  void SetClockRate(int64_t rate_ppm);
  void SetDiskStuck(bool stuck);
  // Every sync takes this much longer, until it is set to zero again.
  void SlowDisk(Duration extra) { disk_extra_ = extra; }
  // Faults of the machine are over.
  void Heal();

  // --- what reaches the shards ---

  shard::ShardApi* ForLane(Lane lane) override;
  // False when the process does not run, or does not take the call.
  bool Post(PartitionId partition, shard::ShardCall call);
  const raft::Replica* Find(PartitionId partition) const;
  // The node has learnt what the catalog says of the partition.
  void Learn(PartitionId partition);
  bool HasLearnt(PartitionId partition) const { return learnt_.count(partition) > 0; }
  size_t waiter_count() const;
  size_t unsynced_bytes() const;
  // Checks every replica, and that what is waited for stays bounded.
  void CheckAll(size_t waiters_max);

 private:
  struct Slot {
    std::unique_ptr<shard::Shard> shard;
    bool scheduled = false;
    WorldTime run_at;
    uint64_t generation = 0;
    WorldTime busy_until = WorldTime::zero();
  };

  ProcessId process() const { return ProcessId{key_, life_}; }
  size_t SlotOf(Lane lane) const { return lane.value() % shard_count_; }
  size_t SlotOf(PartitionId partition) const;
  void Format();
  shard::ShardConfig MakeConfig(Incarnation incarnation);
  void OpenShards(const storage::RecoveredStore& store);
  // The process is gone; the disk keeps what `outcome` says.
  void End(const storage::CrashOutcome& outcome, bool power_cut);
  void ScheduleRun(size_t slot, WorldTime at);
  void RunShard(size_t slot);
  void RunAllSoon();
  void PostUntilTaken(PartitionId partition, const shard::ShardCall& call);
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
  std::vector<Slot> slots_;
  std::unique_ptr<ReplicaManager> replicas_;
  std::set<PartitionId> learnt_;
  WorldTime paused_until_ = WorldTime::zero();
  bool sync_scheduled_ = false;
  // The disk does its best from now on.
  bool healed_ = false;
  Duration disk_extra_ = Duration::zero();
  std::function<void()> after_next_submit_;
  size_t shards_shutting_down_ = 0;
  uint64_t rounds_ = 0;
};

}  // namespace quorum::sim
