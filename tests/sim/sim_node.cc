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
      disk_(&clock_),
      key_{id, DirectoryId{prng_.Next() | 1, prng_.Next()}} {
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
  config.gated_max = kGatedMax;
  config.fetched_unsynced_bytes_max = world_.options.unsynced_bytes_max;
  config.producers.expiry = world_.options.producers.expiry;
  return config;
}

void SimNode::OpenShards(const storage::RecoveredStore& store) {
  std::vector<std::vector<storage::RecoveredReplica>> replicas(shard_count_);
  for (const storage::RecoveredReplica& replica : store.replicas) {
    replicas[SlotOf(replica.partition)].push_back(replica);
  }
  slots_.resize(shard_count_);
  loops_.assign(shard_count_ + 1, Loop());
  const shard::ShardSeams seams{clock_, *this, disk_, *this, *this};
  for (size_t i = 0; i < shard_count_; ++i) {
    slots_[i] = std::make_unique<shard::Shard>(MakeConfig(store.node.incarnation), seams,
                                               [this, i] { ScheduleRun(i, WorldTime::zero()); });
  }
  for (size_t i = 0; i < shard_count_; ++i) {
    slots_[i]->Open(replicas[i]);
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
  world_.catalog.OnStarted(key_, disk_.image());
  OpenShards(store);
  OpenController(store);
}

void SimNode::End(const storage::CrashOutcome& outcome, bool power_cut) {
  CHECK(up());
  ++life_;
  slots_.clear();
  after_next_submit_ = nullptr;
  shards_shutting_down_ = 0;
  paused_until_ = WorldTime::zero();
  world_.network.DropCallsOf(id_);
  world_.sessions.OnStopped(id_);
  disk_.Crash(outcome);
  // It outlives whoever could still complete a call of its own.
  controller_.reset();
  loops_.clear();
  stalled_until_ = WorldTime::zero();
  leads_catalog_ = false;
  observed_.clear();
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
  for (const auto& shard : slots_) {
    (void)shard->Post(shard::ShutdownCall{[this, stop] {
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
  world_.tracer.Note(id_, "is wiped");
  world_.oracle.OnWiped(key_);
  key_ = ReplicaKey{id_, DirectoryId{prng_.Next() | 1, prng_.Next()}};
  Format(std::nullopt);
}

void SimNode::Forget() {
  CHECK(!up());
  world_.tracer.Note(id_, "is wiped, and keeps its name");
  storage::RecoveredStore before;
  CHECK(!disk_.Recover({kClusterId, id_}, &before).has_value());
  Format(std::nullopt);
  storage::RecoveredStore after;
  while (after.node.incarnation < before.node.incarnation) {
    CHECK(!disk_.Recover({kClusterId, id_}, &after).has_value());
  }
  world_.oracle.OnStopped(key_, disk_.image());
}

void SimNode::Format(const std::optional<VoterSet>& founding_voters) {
  disk_.Wipe();
  closed_observers_.clear();
  storage::FormatPlan plan;
  plan.identity.cluster_id = kClusterId;
  plan.identity.node = id_;
  plan.identity.directory = key_.directory;
  plan.identity.lanes = world_.options.lanes;
  plan.initial_voters = founding_voters;
  CHECK(!disk_.Format(plan).has_value());
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
  stalled_until_ = WorldTime::zero();
  after_next_submit_ = nullptr;
  disk_extra_ = Duration::zero();
  SetClockRate(1'000'000);
  SetDiskStuck(false);
}

void SimNode::ScheduleRun(size_t index, WorldTime at) {
  Loop& loop = loops_[index];
  const WorldTime stalled = index == shard_count_ ? stalled_until_ : WorldTime::zero();
  const WorldTime when =
      std::max({at, world_.queue.now(), loop.busy_until, paused_until_, stalled});
  if (loop.scheduled && loop.run_at <= when) return;
  loop.scheduled = true;
  loop.run_at = when;
  const uint64_t generation = ++loop.generation;
  world_.queue.At(when, [this, index, generation, life = life_] {
    if (life == life_ && loops_[index].generation == generation) RunLoop(index);
  });
}

void SimNode::RunLoop(size_t index) {
  Loop& loop = loops_[index];
  loop.scheduled = false;
  const WorldTime stalled = index == shard_count_ ? stalled_until_ : WorldTime::zero();
  if (world_.queue.now() < std::max(paused_until_, stalled)) {
    ScheduleRun(index, WorldTime::zero());
    return;
  }
  world_.statistics.Add(Counter::kRounds);
  world_.tracer.Mix(static_cast<uint64_t>(world_.queue.now().count()));
  loop.busy_until = world_.queue.now() + world_.options.round_cost;
  const MonoTime next = index == shard_count_ ? RunController() : RunShard(index);
  if (next != kNever) ScheduleRun(index, clock_.WorldTimeOf(next));
}

MonoTime SimNode::RunShard(size_t index) {
  ++rounds_;
  const MonoTime next = slots_[index]->RunOnce();
  world_.oracle.AfterRound(process());
  world_.catalog.Advance();
  world_.clients.AfterRound();
  world_.producers.AfterRound();
  return next;
}

void SimNode::RunAllSoon() {
  for (size_t i = 0; i < loops_.size(); ++i) ScheduleRun(i, WorldTime::zero());
}

shard::ShardApi* SimNode::ShardOf(Lane lane) { return up() ? slots_[SlotOf(lane)].get() : nullptr; }

bool SimNode::Post(PartitionId partition, shard::ShardCall call) {
  return up() && slots_[SlotOf(partition)]->Post(std::move(call));
}

const raft::Replica* SimNode::Find(PartitionId partition) const {
  return up() ? slots_[SlotOf(partition)]->Find(partition) : nullptr;
}

std::vector<PartitionId> SimNode::Partitions() const {
  std::vector<PartitionId> all;
  for (const auto& shard : slots_) {
    const std::vector<PartitionId> some = shard->Partitions();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace quorum::sim
