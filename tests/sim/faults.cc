#include "tests/sim/faults.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace quorum::sim {

Faults::Faults(World* world, std::vector<std::unique_ptr<SimNode>>* nodes, Workload* workload,
               Topics* topics, Producers* producers, Prng prng)
    : world_(*world),
      nodes_(*nodes),
      workload_(*workload),
      topics_(*topics),
      producers_(*producers),
      prng_(prng) {}

void Faults::Start() {
  for (size_t kind = 0; kind < kFaultKinds; ++kind) Schedule(static_cast<FaultKind>(kind));
}

void Faults::After(Duration delay, std::function<void()> action) {
  world_.queue.After(delay, [this, action = std::move(action)] {
    if (!healed_) action();
  });
}

void Faults::Schedule(FaultKind kind) {
  const Duration every = world_.options.EveryOf(kind);
  if (every == Duration::zero()) return;
  After(prng_.Between(Duration::zero(), 2 * every), [this, kind] {
    Inject(kind);
    Schedule(kind);
  });
}

Duration Faults::DrawLength() {
  return prng_.Between(world_.options.raft.election_timeout / 10, world_.options.fault_length_max);
}

void Faults::Inject(FaultKind kind) {
  SimNode& node = RandomNode();
  switch (kind) {
    case FaultKind::kCrash:
      return Crash(node, false);
    case FaultKind::kPowerCut:
      return Crash(node, true);
    case FaultKind::kPowerCutAll:
      return PowerCutAll();
    case FaultKind::kPause:
      world_.statistics.Add(Counter::kPauses);
      return node.Pause(DrawLength());
    case FaultKind::kCutOneWay:
      return CutOneLink(false);
    case FaultKind::kCutBothWays:
      return CutOneLink(true);
    case FaultKind::kIsolate:
      return Isolate();
    case FaultKind::kSplit:
      return Split();
    case FaultKind::kSwizzle:
      return Swizzle();
    case FaultKind::kSlowDisk:
      node.SlowDisk(DrawLength() / 4);
      return After(DrawLength(), [&node] { node.SlowDisk(Duration::zero()); });
    case FaultKind::kStuckDisk:
      return StickDisk(node);
    case FaultKind::kClock:
      return ChangeClock(node);
    case FaultKind::kResign:
      return Resign();
    case FaultKind::kShutdown:
      return ShutDown(node);
    case FaultKind::kDamage:
      return Damage(node);
    case FaultKind::kWipe:
      return Wipe(node);
    case FaultKind::kBury:
      return MoveObserver();
    case FaultKind::kStallController:
      return node.StallController(DrawLength());
    case FaultKind::kEmptyVoters:
      return EmptyVoters();
    case FaultKind::kForgetfulDisks:
      return ForgetfulDisks();
    case FaultKind::kDepose:
      return Depose();
    case FaultKind::kCount:
      return;
  }
}

void Faults::Heal() {
  healed_ = true;
  world_.network.Heal();
  for (const auto& node : nodes_) {
    node->Heal();
    if (!node->up()) node->Start();
  }
}

void Faults::DisturbOnce(Duration length) {
  if (prng_.Chance(500'000)) return;
  const Links links = AllLinksOf(RandomNode().id());
  for (const auto& [from, to] : links) world_.network.Cut(from, to);
  world_.queue.After(length, [this, links] {
    for (const auto& [from, to] : links) world_.network.Mend(from, to);
  });
}

void Faults::RestartLater(SimNode& node) {
  const auto start = [&node] {
    if (!node.up()) node.Start();
  };
  // A shutdown that was under way when everything was healed ends like every other.
  if (healed_) return world_.queue.After(Duration::zero(), start);
  const bool at_once = prng_.Chance(300'000);
  After(at_once ? Duration::zero() : DrawLength(), start);
}

void Faults::OnStopped(const SimNode& node) {
  workload_.OnStopped(node.id());
  topics_.OnStopped(node.id());
  producers_.OnStopped(node.id());
}

void Faults::AfterCrash(SimNode& node) {
  OnStopped(node);
  RestartLater(node);
}

void Faults::Crash(SimNode& node, bool power_cut) {
  if (!node.up()) return;
  if (prng_.Chance(world_.options.disk.crash_in_write_ppm)) {
    node.CrashInWrite(power_cut, [this, &node] { AfterCrash(node); });
    return;
  }
  node.Crash(power_cut);
  AfterCrash(node);
}

void Faults::PowerCutAll() {
  for (const auto& node : nodes_) {
    if (!node->up()) continue;
    node->Crash(true);
    AfterCrash(*node);
  }
}

void Faults::CutForAWhile(const Links& links) {
  world_.statistics.Add(Counter::kCuts);
  std::string text = "cut:";
  for (const auto& [from, to] : links) {
    absl::StrAppend(&text, " ", from.value(), ">", to.value());
    world_.network.Cut(from, to);
  }
  world_.tracer.Note(NodeId(0), text);
  After(DrawLength(), [this, links] {
    world_.tracer.Note(NodeId(0), "mended");
    for (const auto& [from, to] : links) world_.network.Mend(from, to);
  });
}

void Faults::CutOneLink(bool both_ways) {
  const NodeId from = RandomNode().id();
  const NodeId to = RandomNode().id();
  if (from == to) return;
  Links links{{from, to}};
  if (both_ways) links.emplace_back(to, from);
  CutForAWhile(links);
}

void Faults::Isolate() {
  const NodeId victim = RandomNode().id();
  const uint64_t direction = prng_.Below(3);
  Links links;
  for (const auto& node : nodes_) {
    if (node->id() == victim) continue;
    if (direction != 0) links.emplace_back(victim, node->id());
    if (direction != 1) links.emplace_back(node->id(), victim);
  }
  CutForAWhile(links);
}

void Faults::Split() {
  std::vector<bool> left;
  for (size_t i = 0; i < nodes_.size(); ++i) left.push_back(prng_.Chance(500'000));
  Links links;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (size_t j = 0; j < nodes_.size(); ++j) {
      if (left[i] != left[j]) links.emplace_back(nodes_[i]->id(), nodes_[j]->id());
    }
  }
  CutForAWhile(links);
}

// Cuts off some nodes one after the other, and lets them back in another order.
void Faults::Swizzle() {
  for (const auto& node : nodes_) {
    if (!prng_.Chance(600'000)) continue;
    Links links;
    for (const auto& other : nodes_) {
      if (other->id() == node->id()) continue;
      links.emplace_back(node->id(), other->id());
      links.emplace_back(other->id(), node->id());
    }
    After(DrawLength(), [this, links] { CutForAWhile(links); });
  }
}

void Faults::StickDisk(SimNode& node) {
  world_.statistics.Add(Counter::kStuckDisks);
  world_.tracer.Note(node.id(), "the disk is stuck");
  node.SetDiskStuck(true);
  After(2 * DrawLength(), [this, &node] {
    world_.tracer.Note(node.id(), "the disk works again");
    node.SetDiskStuck(false);
  });
}

void Faults::ChangeClock(SimNode& node) {
  world_.statistics.Add(Counter::kClockChanges);
  if (prng_.Chance(500'000)) {
    node.clock().JumpWallTime(prng_.Between(-600'000, 600'000));
    return;
  }
  node.SetClockRate(prng_.Between(500'000, 2'000'000));
  After(DrawLength(), [&node] { node.SetClockRate(1'000'000); });
}

PartitionId Faults::RandomPartition() {
  const auto& partitions = world_.catalog.partitions();
  auto chosen = partitions.begin();
  std::advance(chosen, static_cast<int64_t>(prng_.Below(partitions.size())));
  return chosen->first;
}

void Faults::Resign() {
  const PartitionId partition = RandomPartition();
  std::optional<ReplicaKey> preferred;
  if (prng_.Chance(500'000)) preferred = RandomNode().key();
  for (const auto& node : nodes_) {
    shard::ResignCall call;
    call.partition = partition;
    call.preferred = preferred;
    call.done = [this](raft::RaftError error, const shard::LeaderHint&) {
      if (error == raft::RaftError::kNone) world_.statistics.Add(Counter::kResignations);
    };
    (void)node->Post(partition, std::move(call));
  }
}

void Faults::ShutDown(SimNode& node) {
  if (!node.up()) return;
  node.ShutDown(2 * world_.options.raft.fetch_timeout, [this, &node] { AfterCrash(node); });
}

void Faults::OnPartition(PartitionId partition, const PartitionFact& fact) {
  for (const ReplicaKey& key : fact.voters) {
    if (lost_.count(key) > 0) destroyed_[partition].insert(key);
  }
  if (healed_ || !prng_.Chance(world_.options.late_birth_ppm)) return;
  SimNode& late = NodeOf(fact.voters[prng_.Below(fact.voters.size())]);
  if (!late.up() || late.controller()->leads()) return;
  late.StallController(prng_.Between(Duration::zero(), world_.options.safety_length / 2));
}

bool Faults::IsLost(TopicId topic) const {
  for (const auto& [partition, destroyed] : destroyed_) {
    const auto fact = world_.catalog.partitions().find(partition);
    if (partition.topic != topic || fact == world_.catalog.partitions().end()) continue;
    if (destroyed.size() > (fact->second.voters.size() - 1) / 2) return true;
  }
  return false;
}

bool Faults::MayDestroy(PartitionId partition, const ReplicaKey& key) const {
  const PartitionFact& fact = world_.catalog.partitions().at(partition);
  if (!fact.NamesVoter(key)) return true;
  const auto found = destroyed_.find(partition);
  const size_t before = found == destroyed_.end() ? 0 : found->second.size();
  const bool again = before > 0 && found->second.count(key) > 0;
  return again || before + 1 <= (fact.voters.size() - 1) / 2;
}

void Faults::Damage(SimNode& node) {
  const PartitionId partition = RandomPartition();
  // Who cannot read the catalog any more is lost for all that will be placed on it.
  const bool catalog = partition == kMetadataPartition;
  if (catalog ? !MayDestroyAll(node) : !MayDestroy(partition, node.key())) return;
  if (!node.disk().FlipBitOfLog(partition, &prng_)) return;
  world_.tracer.Note(node.id(), absl::StrCat(ToText(partition), " a bit of its log flips"));
  world_.oracle.OnDamaged(node.key(), partition);
  if (catalog) {
    MarkDestroyed(node);
  } else if (world_.catalog.partitions().at(partition).NamesVoter(node.key())) {
    destroyed_[partition].insert(node.key());
  }
}

bool Faults::MayDestroyAll(const SimNode& node) const {
  for (const auto& [partition, fact] : world_.catalog.partitions()) {
    if (!MayDestroy(partition, node.key())) return false;
  }
  return true;
}

void Faults::MarkDestroyed(const SimNode& node) {
  lost_.insert(node.key());
  for (const auto& [partition, fact] : world_.catalog.partitions()) {
    if (fact.NamesVoter(node.key())) destroyed_[partition].insert(node.key());
  }
}

void Faults::Wipe(SimNode& node) {
  if (!MayDestroyAll(node)) return;
  if (node.up()) {
    node.Crash(true);
    AfterCrash(node);
  }
  world_.statistics.Add(Counter::kWipes);
  MarkDestroyed(node);
  node.Wipe();
}

// An observer is taken away from a partition, or given to it.
void Faults::MoveObserver() {
  const PartitionId partition = RandomPartition();
  const PartitionFact& fact = world_.catalog.partitions().at(partition);
  SimNode& node = RandomNode();
  if (partition == kMetadataPartition || fact.NamesVoter(node.key()) || !node.up()) return;
  world_.statistics.Add(Counter::kObserversMoved);
  if (node.Find(partition) != nullptr) return node.CloseObserver(partition);
  node.OpenObserver(partition, fact.voters);
}

}  // namespace quorum::sim
