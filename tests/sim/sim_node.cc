#include "tests/sim/sim_node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"

namespace quorum::sim {
namespace {

constexpr char kClusterId[] = "simulated";

}  // namespace

SimNode::SimNode(World* world, NodeId id, int shards, Prng prng)
    : world_(*world),
      id_(id),
      shard_count_(static_cast<size_t>(shards)),
      prng_(prng),
      clock_(&world->queue),
      disk_(&clock_) {
  Wipe();
  world_.network.Register(id_, this);
  Housekeep();
}

SimNode::~SimNode() = default;

size_t SimNode::SlotOf(PartitionId partition) const {
  return SlotOf(shard::LaneOf(partition, world_.options.lanes));
}

shard::ShardConfig SimNode::MakeConfig(Incarnation incarnation) {
  shard::ShardConfig config;
  config.raft = world_.options.raft;
  config.cluster_id = kClusterId;
  config.self = key_;
  config.incarnation = incarnation;
  config.lane_count = world_.options.lanes;
  config.seed = prng_.Next();
  config.mailbox_max = world_.options.mailbox_max;
  config.round_items_max = world_.options.round_items_max;
  config.cache_bytes_max = world_.options.cache_bytes_max;
  config.fetch_bytes_max = world_.options.fetch_bytes_max;
  config.fetch_entries_max = world_.options.fetch_entries_max;
  config.unsynced_bytes_max = world_.options.unsynced_bytes_max;
  config.fetched_unsynced_bytes_max = world_.options.unsynced_bytes_max;
  return config;
}

void SimNode::OpenShards(const storage::RecoveredStore& store) {
  std::vector<std::vector<storage::RecoveredReplica>> replicas(shard_count_);
  for (const storage::RecoveredReplica& replica : store.replicas) {
    replicas[SlotOf(replica.partition)].push_back(replica);
  }
  slots_.resize(shard_count_);
  const shard::ShardSeams seams{clock_, *this, disk_, *this, *this};
  for (size_t i = 0; i < shard_count_; ++i) {
    slots_[i].shard =
        std::make_unique<shard::Shard>(MakeConfig(store.node.incarnation), seams,
                                       [this, i] { ScheduleRun(i, WorldTime::zero()); });
  }
  for (size_t i = 0; i < shard_count_; ++i) {
    slots_[i].shard->Open(replicas[i]);
    world_.oracle.AfterRound(process());
    ScheduleRun(i, WorldTime::zero());
  }
}

void SimNode::Start() {
  CHECK(!up());
  ++life_;
  world_.statistics.Add(Counter::kRestarts);
  const uint64_t syncs = disk_.syncs();
  storage::RecoveredStore store;
  const auto error = disk_.Recover({kClusterId, id_}, &store);
  if (error.has_value()) {
    world_.failure.Report("restart", "node ", id_.value(), " refuses to start: ", error->reason,
                          " ", error->message);
    return;
  }
  world_.tracer.Note(id_, absl::StrCat("starts, incarnation ", store.node.incarnation.value()));
  sync_scheduled_ = false;
  disk_.SetObservers([this] { ScheduleSync(); }, [this] { ScheduleReads(); });
  world_.oracle.OnStarted(process(), disk_.image(), disk_.syncs() > syncs);
  OpenShards(store);
  replicas_ = std::make_unique<ReplicaManager>(
      &world_, key_, store, [this](PartitionId partition, const shard::ShardCall& call) {
        PostUntilTaken(partition, call);
      });
  for (const PartitionId& partition : learnt_) replicas_->Act(partition);
}

void SimNode::End(const storage::CrashOutcome& outcome, bool power_cut) {
  CHECK(up());
  ++life_;
  replicas_.reset();
  slots_.clear();
  after_next_submit_ = nullptr;
  shards_shutting_down_ = 0;
  paused_until_ = WorldTime::zero();
  world_.network.DropCallsOf(id_);
  world_.sessions.OnStopped(id_);
  disk_.Crash(outcome);
  if (power_cut) disk_.PowerCut();
  world_.oracle.OnStopped(key_, disk_.image());
}

void SimNode::Crash(bool power_cut) {
  const size_t pending = disk_.PendingWriteSets();
  storage::CrashOutcome outcome;
  outcome.synced = prng_.Below(pending + 1);
  outcome.written = outcome.synced + prng_.Below(pending - outcome.synced + 1);
  if (power_cut) outcome.written = outcome.synced;
  world_.tracer.Note(
      id_, absl::StrCat(power_cut ? "loses power" : "crashes", "; of ", pending, " write sets ",
                        outcome.synced, " are synced, ", outcome.written, " written"));
  world_.statistics.Add(power_cut ? Counter::kPowerCuts : Counter::kCrashes);
  if (outcome.written < pending) world_.statistics.Add(Counter::kCrashesWithLostData);
  End(outcome, power_cut);
}

void SimNode::CrashInWrite(bool power_cut, std::function<void()> crashed) {
  after_next_submit_ = [this, power_cut, crashed = std::move(crashed)] {
    world_.queue.After(prng_.Between(Duration::zero(), DrawSyncTime()),
                       [this, power_cut, crashed, life = life_] {
                         if (life != life_) return;
                         Crash(power_cut);
                         crashed();
                       });
  };
}

void SimNode::ShutDown(Duration limit, std::function<void()> stopped) {
  const uint64_t life = life_;
  const auto stop = [this, life, stopped](bool handed_over) {
    if (life != life_) return;
    if (handed_over) world_.statistics.Add(Counter::kHandOvers);
    world_.tracer.Note(id_, handed_over ? "stops, handed over" : "stops");
    storage::CrashOutcome outcome;
    outcome.synced = disk_.PendingWriteSets();
    outcome.written = outcome.synced;
    End(outcome, false);
    stopped();
  };
  world_.tracer.Note(id_, "shuts down");
  shards_shutting_down_ = slots_.size();
  for (Slot& slot : slots_) {
    (void)slot.shard->Post(shard::ShutdownCall{[this, stop] {
      if (--shards_shutting_down_ > 0) return;
      world_.queue.After(Duration::zero(), [stop] { stop(true); });
    }});
  }
  world_.queue.After(limit, [stop] { stop(false); });
}

void SimNode::Pause(Duration length) {
  world_.tracer.Note(id_, "pauses");
  paused_until_ = std::max(paused_until_, world_.queue.now() + length);
}

void SimNode::Wipe() {
  CHECK(!up());
  if (disk_.formatted()) {
    world_.tracer.Note(id_, "is wiped");
    world_.oracle.OnWiped(key_);
  }
  key_ = ReplicaKey{id_, DirectoryId{prng_.Next() | 1, prng_.Next()}};
  Format();
}

void SimNode::Forget() {
  CHECK(!up());
  world_.tracer.Note(id_, "is wiped, and keeps its name");
  Format();
  world_.oracle.OnStopped(key_, disk_.image());
}

void SimNode::Format() {
  disk_.Wipe();
  storage::FormatPlan plan;
  plan.identity.cluster_id = kClusterId;
  plan.identity.node = id_;
  plan.identity.directory = key_.directory;
  plan.identity.lanes = world_.options.lanes;
  CHECK(!disk_.Format(plan).has_value());
  world_.catalog.keys()[id_] = key_;
}

void SimNode::SetClockRate(int64_t rate_ppm) {
  clock_.SetRate(rate_ppm);
  RunAllSoon();
}

void SimNode::SetDiskStuck(bool stuck) {
  disk_.SetStuck(stuck);
  if (stuck) return;
  if (disk_.HasPending()) ScheduleSync();
  if (disk_.HasPendingReads()) ScheduleReads();
}

void SimNode::Heal() {
  healed_ = true;
  paused_until_ = WorldTime::zero();
  after_next_submit_ = nullptr;
  disk_extra_ = Duration::zero();
  SetClockRate(1'000'000);
  SetDiskStuck(false);
}

void SimNode::ScheduleRun(size_t index, WorldTime at) {
  Slot& slot = slots_[index];
  const WorldTime when = std::max({at, world_.queue.now(), slot.busy_until, paused_until_});
  if (slot.scheduled && slot.run_at <= when) return;
  slot.scheduled = true;
  slot.run_at = when;
  const uint64_t generation = ++slot.generation;
  world_.queue.At(when, [this, index, generation, life = life_] {
    if (life == life_ && slots_[index].generation == generation) RunShard(index);
  });
}

void SimNode::RunShard(size_t index) {
  Slot& slot = slots_[index];
  slot.scheduled = false;
  if (world_.queue.now() < paused_until_) {
    ScheduleRun(index, paused_until_);
    return;
  }
  ++rounds_;
  world_.statistics.Add(Counter::kRounds);
  world_.tracer.Mix(static_cast<uint64_t>(world_.queue.now().count()));
  slot.busy_until = world_.queue.now() + world_.options.round_cost;
  const MonoTime next = slot.shard->RunOnce();
  world_.oracle.AfterRound(process());
  world_.clients.AfterRound();
  if (next != kNever) ScheduleRun(index, clock_.WorldTimeOf(next));
}

void SimNode::RunAllSoon() {
  for (size_t i = 0; i < slots_.size(); ++i) ScheduleRun(i, WorldTime::zero());
}

shard::ShardApi* SimNode::ForLane(Lane lane) {
  return up() ? slots_[SlotOf(lane)].shard.get() : nullptr;
}

bool SimNode::Post(PartitionId partition, shard::ShardCall call) {
  return up() && slots_[SlotOf(partition)].shard->Post(std::move(call));
}

void SimNode::PostUntilTaken(PartitionId partition, const shard::ShardCall& call) {
  if (Post(partition, call)) return;
  world_.queue.After(world_.options.raft.retry_backoff, [this, partition, call, life = life_] {
    if (life == life_) PostUntilTaken(partition, call);
  });
}

const raft::Replica* SimNode::Find(PartitionId partition) const {
  return up() ? slots_[SlotOf(partition)].shard->Find(partition) : nullptr;
}

void SimNode::Learn(PartitionId partition) {
  learnt_.insert(partition);
  if (up()) replicas_->Act(partition);
}

}  // namespace quorum::sim
