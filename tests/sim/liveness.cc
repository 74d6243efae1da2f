// The second phase of a run: everything is healed, and the cluster has to recover in bounded time,
// answer everybody who waits, and then be quiet.

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "storage/layout/key_codec.h"
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

// A replica that is damaged for good owes nothing; nor does who cannot read the catalog any more.
bool SimCluster::IsExempt(PartitionId partition, const SimNode& node) const {
  const auto is_damaged = [&](PartitionId id) {
    const auto view = oracle_.partitions().find(id);
    if (view == oracle_.partitions().end()) return true;
    const auto found = view->second.replicas.find(node.key());
    return found != view->second.replicas.end() && found->second.damaged;
  };
  return is_damaged(partition) || is_damaged(kMetadataPartition);
}

bool SimCluster::SomebodyIsBehind() const {
  for (const auto& [partition, fact] : catalog_.partitions()) {
    const raft::Replica* leader = LeaderOf(partition);
    if (leader == nullptr) continue;
    for (const auto& node : nodes_) {
      const raft::Replica* replica = node->Find(partition);
      if (replica == nullptr || !IsExempt(partition, *node)) continue;
      if (replica->log().end() < leader->log().end() && !replica->quarantine().has_value()) {
        return true;
      }
    }
  }
  return false;
}

void SimCluster::NoteTargets() {
  targets_.clear();
  for (const auto& [partition, fact] : catalog_.partitions()) {
    if (partition == kMetadataPartition || faults_->IsLost(partition.topic)) continue;
    Offset target(0);
    for (const auto& node : nodes_) {
      const raft::Replica* replica = node->Find(partition);
      if (replica != nullptr) target = std::max(target, replica->log().end());
    }
    targets_[partition] = target + 1;
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
    // It may be deleted meanwhile.
    if (catalog_.partitions().count(partition) == 0) continue;
    const raft::Replica* leader = LeaderOf(partition);
    if (leader == nullptr) return absl::StrCat(ToText(partition), " has no leader");
    if (leader->committed() >= target) continue;
    return absl::StrCat(ToText(partition), " has committed ", leader->committed().value(), " of ",
                        target.value());
  }
  return "";
}

std::string SimCluster::WhatReplicasMiss(PartitionId partition, const PartitionFact& fact) const {
  if (!fact.created) return absl::StrCat(ToText(partition), " is still being created");
  const raft::Replica* leader = LeaderOf(partition);
  if (leader == nullptr) return absl::StrCat(ToText(partition), " has no leader");
  const Offset end = leader->log().end();
  for (const auto& node : nodes_) {
    if (IsExempt(partition, *node)) continue;
    const raft::Replica* replica = node->Find(partition);
    const bool needed = partition == kMetadataPartition || fact.NamesVoter(node->key());
    if (replica == nullptr && !needed) continue;
    const Offset shown = replica == nullptr ? Offset(-1) : replica->exposed();
    if (shown == end) continue;
    return absl::StrCat(ToText(partition), " node ", node->id().value(), " shows ", shown.value(),
                        " of ", end.value());
  }
  return "";
}

std::string SimCluster::WhatMembersMiss() const {
  std::string missing = WhatCatalogMisses();
  if (!missing.empty()) return missing;
  for (const auto& [partition, fact] : catalog_.partitions()) {
    missing = WhatReplicasMiss(partition, fact);
    if (!missing.empty()) return missing;
  }
  missing = producers_->WhatIsMissing();
  if (!missing.empty()) return missing;
  if (workload_->pending() == 0) return "";
  return absl::StrCat(workload_->pending(), " calls of clients are not answered");
}

std::string SimCluster::WhatCatalogMisses() const {
  std::string missing = topics_->WhatIsMissing();
  if (!missing.empty()) return missing;
  for (const auto& node : nodes_) {
    if (IsExempt(kMetadataPartition, *node)) continue;
    missing = WhatNodeMisses(*node);
    if (missing.empty()) missing = WhatIsLeft(*node);
    if (!missing.empty()) return absl::StrCat("node ", node->id().value(), " ", missing);
  }
  return "";
}

std::string SimCluster::WhatNodeMisses(SimNode& node) const {
  const controller::NodeController& own = *node.controller();
  if (!own.caught_up() || own.catalog().position() != catalog_.position()) {
    return absl::StrCat("has read the catalog up to ", own.catalog().position().value(), " of ",
                        catalog_.position().value());
  }
  if (!own.registered()) return "is not registered";
  if (!own.leads()) return "";
  for (const controller::NodeView& other : own.view().Nodes()) {
    const SimNode& seen = *nodes_[static_cast<size_t>(other.key.id.value() - 1)];
    if (other.live == true || IsExempt(kMetadataPartition, seen)) continue;
    std::string heard = ", never heard of";
    for (const raft::ReplicaDescription& row :
         node.Find(kMetadataPartition)->Describe(node.clock().Now())) {
      if (row.key != other.key || !row.last_fetch.has_value()) continue;
      const Duration silent = node.clock().Now() - *row.last_fetch;
      heard = absl::StrCat(", heard of ", silent.count() / 1'000'000, " ms ago");
    }
    return absl::StrCat("is the controller, and counts node ", ToText(other.key), " as dead",
                        heard);
  }
  return "";
}

std::string SimCluster::WhatIsLeft(const SimNode& node) const {
  for (const PartitionId& partition : node.Partitions()) {
    if (catalog_.deleted().count(partition) == 0) continue;
    return absl::StrCat("still holds the deleted ", ToText(partition));
  }
  for (const auto& [key, value] : node.disk().image().family(storage::ColumnFamily::kLog)) {
    for (const auto& [partition, fact] : catalog_.deleted()) {
      const std::string prefix = storage::PartitionKey(partition);
      if (key.compare(0, prefix.size(), prefix) != 0) continue;
      return absl::StrCat("still has records of the deleted ", ToText(partition), " on its disk");
    }
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
  healed_ = true;
  faults_->Heal();
  topics_->Settle([this](TopicId topic) { return faults_->IsLost(topic); });
  const Duration limit = 30 * options_.raft.fetch_timeout;
  NoteTargets();
  probing_ = true;
  ProbeSometimes();
  RunUntil(limit + TransferTime(), "not recovered", [this] { return WhatLeadersMiss(); });
  probing_ = false;
  workload_->Stop();
  producers_->Stop();
  RunFor(options_.raft.election_timeout);
  NoteTargets();
  RunUntil(limit + TransferTime() + options_.workload.deadline_max + options_.topics.deadline_max,
           "not up to date", [this] { return WhatMembersMiss(); });
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
  std::vector<std::pair<uint64_t, uint64_t>> before;
  for (const auto& node : nodes_) before.emplace_back(node->rounds(), node->controller_rounds());
  const auto campaigns = [this] {
    return world_.statistics.Get(Counter::kElections) +
           world_.statistics.Get(Counter::kVotesRefused);
  };
  const uint64_t campaigns_before = campaigns();
  const Duration length = 3 * fetch;
  RunFor(length);
  if (failure_.failed()) return;
  // Who cannot read the catalog any more keeps what is deleted, and campaigns for it in vain.
  const bool all_read = std::none_of(nodes_.begin(), nodes_.end(), [this](const auto& node) {
    return IsExempt(kMetadataPartition, *node);
  });
  if (all_read && campaigns() > campaigns_before) {
    failure_.Report("stability", "somebody campaigned while everything was well");
  }
  if (SomebodyIsBehind()) return;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    CheckBusy(i, static_cast<int64_t>(nodes_[i]->rounds() - before[i].first),
              static_cast<int64_t>(nodes_[i]->controller_rounds() - before[i].second), length);
  }
}

void SimCluster::CheckBusy(size_t index, int64_t rounds, int64_t controller_rounds,
                           Duration length) {
  SimNode& node = *nodes_[index];
  // Who cannot read the catalog any more keeps what is deleted, and campaigns for it in vain.
  if (IsExempt(kMetadataPartition, node)) return;
  const auto peers = static_cast<int64_t>(nodes_.size());
  const auto partitions = static_cast<int64_t>(catalog_.partitions().size());
  const int64_t polls = length / options_.raft.fetch_max_wait + 1;
  // A controller looks for what is left undone, and asks who is alive.
  const int64_t looks = 10 * (length / options_.raft.fetch_timeout + 1) +
                        2 * (length / options_.raft.request_timeout + 1);
  const int64_t rounds_max =
      10 + 5 * polls * static_cast<int64_t>(options_.lanes) * peers + 12 * partitions + 3 * looks;
  if (rounds > rounds_max) {
    failure_.Report("busy loop", "node ", index + 1, " ran ", rounds,
                    " rounds while idle; at most ", rounds_max, " are needed");
  }
  if (controller_rounds > 10 + 4 * looks) {
    failure_.Report("busy loop", "the controller of node ", index + 1, " ran ", controller_rounds,
                    " rounds while idle; at most ", 10 + 4 * looks, " are needed");
  }
  const bool exempt = std::any_of(catalog_.partitions().begin(), catalog_.partitions().end(),
                                  [&](const auto& entry) { return IsExempt(entry.first, node); });
  if (!exempt && node.unsynced_bytes() > 0) {
    failure_.Report("bounds", "node ", index + 1, " has unsynced bytes while idle");
  }
  node.CheckAll(static_cast<size_t>(partitions * (peers + 2)) + 8);
}

}  // namespace quorum::sim
