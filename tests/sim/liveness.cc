// The second phase of a run: everything is healed, and the cluster has to recover in bounded time,
// answer everybody who waits, and then be quiet.

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/sim/sim_cluster.h"

namespace quorum::sim {

template <typename Done>
void SimCluster::RunUntil(Duration limit, const char* what, Done done) {
  const WorldTime end = queue_.now() + limit;
  // Looking is not free; it is done now and then.
  WorldTime look_at = queue_.now();
  while (!failure_.failed() && queue_.now() < end) {
    if (queue_.now() >= look_at) {
      if (done()) return;
      look_at = queue_.now() + options_.raft.election_timeout / 4;
    }
    queue_.RunNext();
  }
  if (!failure_.failed() && !done()) {
    failure_.Report("liveness", what, " within ", limit.count() / 1'000'000, " ms: ",
                    WhatIsMissing());
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

std::string SimCluster::WhatIsMissing(PartitionId partition, Offset target) const {
  bool led = false;
  for (const auto& node : nodes_) {
    const raft::Replica* replica = node->Find(partition);
    if (replica != nullptr && replica->is_ready_leader()) led = true;
  }
  if (!led) return absl::StrCat(ToText(partition), " has no leader");
  for (const auto& node : nodes_) {
    if (!catalog_.assignments().at(partition).NamesNode(node->id())) continue;
    if (IsExempt(partition, *node)) continue;
    const raft::Replica* replica = node->Find(partition);
    if (replica == nullptr) {
      return absl::StrCat(ToText(partition), " has no replica on node ", node->id().value());
    }
    if (replica->exposed() < target) {
      return absl::StrCat(ToText(partition), " node ", node->id().value(), " shows ",
                          replica->exposed().value(), " of ", target.value());
    }
  }
  return "";
}

std::string SimCluster::WhatIsMissing() const {
  for (const auto& [partition, target] : targets_) {
    std::string missing = WhatIsMissing(partition, target);
    if (!missing.empty()) return missing;
  }
  if (!probing_ && workload_->pending() > 0) {
    return absl::StrCat(workload_->pending(), " calls of clients are not answered");
  }
  return "";
}

// The log that was longest at the heal may be cut, so that only new records move the watermark past
// it.
void SimCluster::ProbeSometimes() {
  if (!probing_) return;
  for (const auto& [partition, target] : targets_) {
    for (const auto& node : nodes_) {
      const raft::Replica* replica = node->Find(partition);
      if (replica == nullptr || !replica->is_ready_leader()) continue;
      if (!WhatIsMissing(partition, target).empty()) workload_->Probe(partition, *node);
    }
  }
  queue_.After(options_.raft.election_timeout / 2, [this] { ProbeSometimes(); });
}

void SimCluster::CheckLiveness() {
  tracer_.Note(NodeId(0), "everything is healed");
  faults_->Heal();
  for (const auto& [partition, assignment] : catalog_.assignments()) {
    for (const auto& node : nodes_) node->Learn(partition);
  }
  NoteTargets();
  probing_ = true;
  ProbeSometimes();
  const Duration fetch = options_.raft.fetch_timeout;
  RunUntil(40 * fetch, "not recovered", [this] { return WhatIsMissing().empty(); });
  probing_ = false;
  workload_->Stop();
  RunUntil(20 * fetch + options_.workload.deadline_max, "calls are open",
           [this] { return WhatIsMissing().empty(); });
  if (!failure_.failed()) CheckIdle();
}

// Nobody asks for anything: what still runs is long polls and timers.
void SimCluster::CheckIdle() {
  const Duration wait = std::max(options_.raft.fetch_max_wait, Duration(1));
  RunFor(2 * options_.raft.fetch_timeout);
  std::vector<uint64_t> before;
  for (const auto& node : nodes_) before.push_back(node->rounds());
  const int64_t polls = 4;
  RunFor(polls * wait);
  if (failure_.failed()) return;
  const auto peers = static_cast<int64_t>(nodes_.size());
  const auto partitions = static_cast<int64_t>(catalog_.assignments().size());
  const int64_t periods = polls * wait / options_.raft.fetch_timeout + 1;
  const int64_t rounds_max = 10 + 6 * (polls + 1) * static_cast<int64_t>(options_.lanes) * peers +
                             6 * partitions * periods;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto rounds = static_cast<int64_t>(nodes_[i]->rounds() - before[i]);
    if (rounds > rounds_max) {
      failure_.Report("busy loop", "node ", i + 1, " ran ", rounds, " rounds while idle; at most ",
                      rounds_max, " are needed");
    }
    if (nodes_[i]->unsynced_bytes() > 0) {
      failure_.Report("bounds", "node ", i + 1, " has unsynced bytes while idle");
    }
    nodes_[i]->CheckAll(static_cast<size_t>(partitions * peers) + 1);
  }
}

}  // namespace quorum::sim
