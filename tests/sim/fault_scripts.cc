// Faults that chance would hardly ever put together.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/sim/faults.h"

namespace quorum::sim {

SimNode& Faults::NodeOf(const ReplicaKey& key) {
  return *nodes_[static_cast<size_t>(key.id.value() - 1)];
}

Faults::Links Faults::AllLinksOf(NodeId node) const {
  Links links;
  for (const auto& other : nodes_) {
    if (other->id() == node) continue;
    links.emplace_back(node, other->id());
    links.emplace_back(other->id(), node);
  }
  return links;
}

void Faults::StopFor(SimNode& node, Duration length) {
  if (node.up()) {
    node.Crash(true);
    OnStopped(node);
  }
  After(length, [&node] {
    if (!node.up()) node.Start();
  });
}

void Faults::EmptyVoters() {
  for (const auto& [partition, fact] : world_.catalog.partitions()) {
    if (EmptyVoters(partition, fact)) return;
  }
}

// The catalog goes on without them.
bool Faults::CatalogSurvives(const std::vector<SimNode*>& stopped,
                             const std::vector<SimNode*>& wiped) {
  const PartitionFact& catalog = world_.catalog.partitions().at(kMetadataPartition);
  size_t left = 0;
  for (const ReplicaKey& voter : catalog.voters) {
    SimNode* node = &NodeOf(voter);
    const auto is_among = [node](const std::vector<SimNode*>& nodes) {
      return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    };
    const bool there = node->up() && node->key() == voter;
    if (there && !is_among(stopped) && !is_among(wiped)) ++left;
  }
  return left > catalog.voters.size() / 2;
}

bool Faults::EmptyVoters(PartitionId partition, const PartitionFact& fact) {
  if (!fact.created || partition == kMetadataPartition) return false;
  std::vector<SimNode*> late;
  std::vector<SimNode*> wiped;
  std::vector<SimNode*> others;
  const size_t destroyed = destroyed_.count(partition) > 0 ? destroyed_[partition].size() : 0;
  for (const ReplicaKey& voter : fact.voters) {
    SimNode& node = NodeOf(voter);
    const bool may_wipe = destroyed + wiped.size() < (fact.voters.size() - 1) / 2;
    if (node.key() == voter && node.controller_stalled() &&
        !world_.catalog.WasBorn(partition, voter)) {
      late.push_back(&node);
    } else if (node.key() == voter && may_wipe && MayDestroyAll(node)) {
      wiped.push_back(&node);
    } else {
      others.push_back(&node);
    }
  }
  if (late.empty() || late.size() + wiped.size() <= fact.voters.size() / 2) return false;
  if (!CatalogSurvives(others, wiped)) return false;
  const Duration election = world_.options.raft.election_timeout;
  world_.tracer.Note(NodeId(0),
                     absl::StrCat("blank replicas of ", ToText(partition), " are to be alone"));
  for (SimNode* node : others) StopFor(*node, 24 * election);
  for (SimNode* node : late) node->StallController(24 * election);
  for (SimNode* node : wiped) {
    // Another partition may not bear that both of them go.
    if (!MayDestroyAll(*node)) continue;
    StopFor(*node, Duration::zero());
    world_.statistics.Add(Counter::kWipes);
    MarkDestroyed(*node);
    node->Wipe();
  }
  WakeAfter(late, wiped, 20);
  return true;
}

void Faults::WakeAfter(const std::vector<SimNode*>& late, const std::vector<SimNode*>& wiped,
                       int tries) {
  const bool joined = std::all_of(wiped.begin(), wiped.end(), [](SimNode* node) {
    return node->up() && node->controller()->registered();
  });
  if (joined || tries == 0) {
    for (SimNode* node : late) node->WakeController();
    return;
  }
  After(world_.options.raft.election_timeout / 2,
        [this, late, wiped, tries] { WakeAfter(late, wiped, tries - 1); });
}

void Faults::ForgetfulDisks() {
  const std::vector<ReplicaKey> voters = world_.catalog.partitions().at(RandomPartition()).voters;
  if (voters.size() < 3) return;
  const Duration election = world_.options.raft.election_timeout;
  // The first falls behind; a majority together with it forgets; the last knows what is committed.
  SimNode& behind = NodeOf(voters.front());
  const Links links = AllLinksOf(behind.id());
  for (const auto& [from, to] : links) world_.network.Cut(from, to);
  After(6 * election, [this, links, voters, election] {
    for (const auto& [from, to] : links) world_.network.Mend(from, to);
    for (size_t i = 1; i < voters.size(); ++i) {
      SimNode& node = NodeOf(voters[i]);
      if (i > voters.size() / 2) {
        const Links apart = AllLinksOf(node.id());
        for (const auto& [from, to] : apart) world_.network.Cut(from, to);
        After(20 * election, [this, apart] {
          for (const auto& [from, to] : apart) world_.network.Mend(from, to);
        });
        continue;
      }
      StopFor(node, Duration::zero());
      node.Forget();
    }
  });
}

void Faults::Depose() {
  const PartitionId partition = producers_.AnyPartition().value_or(RandomPartition());
  const auto leader = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    const raft::Replica* replica = node->up() ? node->Find(partition) : nullptr;
    return replica != nullptr && replica->is_ready_leader();
  });
  if (leader == nodes_.end()) return;
  world_.statistics.Add(Counter::kLeadersDeposed);
  world_.tracer.Note((*leader)->id(), absl::StrCat("is to be deposed in ", ToText(partition)));
  const Duration length = 3 * world_.options.raft.fetch_timeout;
  // It wakes with what clients have asked in the meantime, and before it hears of anybody else.
  if (prng_.Chance(500'000)) (*leader)->Pause(length);
  const Links links = AllLinksOf((*leader)->id());
  for (const auto& [from, to] : links) world_.network.Cut(from, to);
  After(length, [this, links] {
    for (const auto& [from, to] : links) world_.network.Mend(from, to);
  });
}

}  // namespace quorum::sim
