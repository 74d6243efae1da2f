// The second phase of a run: everything is healed, and the cluster has to recover in bounded time,
// answer everybody who waits, and then be quiet.

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/sim/sim_cluster.h"

namespace quorum::sim {

void SimCluster::RunUntil(Duration limit, const char* what,
                          const std::function<std::string()>& missing) {
  const WorldTime end = queue_.now() + limit;
  // Looking is not free; it is done now and then.
  while (!failure_.failed() && queue_.now() < end) {
    if (missing().empty()) return;
    RunFor(options_.raft.election_timeout / 4);
  }
  const std::string still = missing();
  if (!failure_.failed() && !still.empty()) {
    failure_.Report("liveness", what, " within ", limit.count() / 1'000'000, " ms: ", still);
  }
}

// A replica that is damaged for good, or was until its disk was wiped, owes nothing.
bool SimCluster::IsExempt(PartitionId partition, const SimNode& node) const {
  const auto view = oracle_.partitions().find(partition);
  if (view == oracle_.partitions().end()) return true;
  const auto found = view->second.replicas.find(node.key());
  return found != view->second.replicas.end() && found->second.damaged;
}

void SimCluster::NoteTargets() {
  for (const auto& [partition, assignment] : catalog_.assignments()) {
    Offset target(0);
    for (const auto& node : nodes_) {
      const raft::Replica* replica = node->Find(partition);
      if (replica != nullptr) target = std::max(target, replica->log().end());
    }
    targets_[partition] = target;
  }
}

const raft::Replica* SimCluster::LeaderOf(PartitionId partition) const {
  const raft::Replica* leader = nullptr;
  for (const auto& node : nodes_) {
    const raft::Replica* replica = node->Find(partition);
    if (replica == nullptr || !replica->is_ready_leader()) continue;
    if (leader == nullptr || replica->election().epoch > leader->election().epoch) leader = replica;
  }
  return leader;
}

std::string SimCluster::WhatLeadersMiss() const {
  for (const auto& [partition, target] : targets_) {
    const raft::Replica* leader = LeaderOf(partition);
    if (leader == nullptr) return absl::StrCat(ToText(partition), " has no leader");
    if (leader->committed() >= target) continue;
    return absl::StrCat(ToText(partition), " has committed ", leader->committed().value(), " of ",
                        target.value());
  }
  return "";
}

std::string SimCluster::WhatMembersMiss() const {
  for (const auto& [partition, assignment] : catalog_.assignments()) {
    const raft::Replica* leader = LeaderOf(partition);
    if (leader == nullptr) return absl::StrCat(ToText(partition), " has no leader");
    const Offset end = leader->log().end();
    for (const auto& node : nodes_) {
      if (!assignment.NamesNode(node->id()) || IsExempt(partition, *node)) continue;
      const raft::Replica* replica = node->Find(partition);
      const Offset shown = replica == nullptr ? Offset(-1) : replica->exposed();
      if (shown == end) continue;
      return absl::StrCat(ToText(partition), " node ", node->id().value(), " shows ", shown.value(),
                          " of ", end.value());
    }
  }
  if (workload_->pending() == 0) return "";
  return absl::StrCat(workload_->pending(), " calls of clients are not answered");
}

// The log that was longest at the heal may be cut, so that only new records move the watermark past
// it.
void SimCluster::ProbeSometimes() {
  if (!probing_) return;
  for (const auto& [partition, target] : targets_) {
    for (const auto& node : nodes_) {
      const raft::Replica* replica = node->Find(partition);
      if (replica == nullptr || !replica->is_ready_leader()) continue;
      if (replica->committed() < target) workload_->Probe(partition, *node);
    }
  }
  queue_.After(options_.raft.election_timeout / 2, [this] { ProbeSometimes(); });
}

// What it takes to bring those up to date that are behind, where a fetch brings one record at
// least.
Duration SimCluster::TransferTime() const {
  const Duration turn =
      2 * options_.network.delay_max + options_.disk.sync_max + 8 * options_.round_cost;
  Duration longest = Duration::zero();
  for (const auto& node : nodes_) {
    Duration time = Duration::zero();
    for (const auto& [partition, target] : targets_) {
      const raft::Replica* replica = node->Find(partition);
      const Offset end = replica == nullptr ? Offset(0) : replica->log().end();
      if (end < target) time += turn * (target - end);
    }
    longest = std::max(longest, time);
  }
  return 2 * longest;
}

void SimCluster::CheckLiveness() {
  tracer_.Note(NodeId(0), "everything is healed");
  faults_->Heal();
  for (const auto& [partition, assignment] : catalog_.assignments()) {
    for (const auto& node : nodes_) node->Learn(partition);
  }
  const Duration limit = 30 * options_.raft.fetch_timeout;
  NoteTargets();
  probing_ = true;
  ProbeSometimes();
  RunUntil(limit + TransferTime(), "not recovered", [this] { return WhatLeadersMiss(); });
  probing_ = false;
  workload_->Stop();
  RunFor(options_.raft.election_timeout);
  NoteTargets();
  RunUntil(limit + TransferTime() + options_.workload.deadline_max, "not up to date",
           [this] { return WhatMembersMiss(); });
  if (!failure_.failed()) CheckIdle();
}

// Nobody asks for anything: what still runs is long polls and timers, and nobody takes over from a
// leader that is well. That has to come back after a disturbance, without a record to help.
void SimCluster::CheckIdle() {
  const Duration fetch = options_.raft.fetch_timeout;
  tracer_.Note(NodeId(0), "nothing is asked for any more");
  faults_->DisturbOnce(3 * fetch);
  RunFor(3 * fetch);
  RunUntil(20 * fetch, "not up to date after a disturbance", [this] { return WhatMembersMiss(); });
  RunFor(3 * fetch);
  std::vector<uint64_t> before;
  for (const auto& node : nodes_) before.push_back(node->rounds());
  const auto campaigns = [this] {
    return world_.statistics.Get(Counter::kElections) +
           world_.statistics.Get(Counter::kVotesRefused);
  };
  const uint64_t campaigns_before = campaigns();
  const Duration length = 3 * fetch;
  RunFor(length);
  if (failure_.failed()) return;
  if (campaigns() > campaigns_before) {
    failure_.Report("stability", "somebody campaigned while everything was well");
  }
  const auto peers = static_cast<int64_t>(nodes_.size());
  const auto partitions = static_cast<int64_t>(catalog_.assignments().size());
  const int64_t polls = length / options_.raft.fetch_max_wait + 1;
  const int64_t rounds_max =
      10 + 5 * polls * static_cast<int64_t>(options_.lanes) * peers + 12 * partitions;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto rounds = static_cast<int64_t>(nodes_[i]->rounds() - before[i]);
    if (rounds > rounds_max) {
      failure_.Report("busy loop", "node ", i + 1, " ran ", rounds, " rounds while idle; at most ",
                      rounds_max, " are needed");
    }
    const bool exempt =
        std::any_of(catalog_.assignments().begin(), catalog_.assignments().end(),
                    [&](const auto& entry) { return IsExempt(entry.first, *nodes_[i]); });
    if (!exempt && nodes_[i]->unsynced_bytes() > 0) {
      failure_.Report("bounds", "node ", i + 1, " has unsynced bytes while idle");
    }
    nodes_[i]->CheckAll(static_cast<size_t>(partitions * peers) + 1);
  }
}

}  // namespace quorum::sim
