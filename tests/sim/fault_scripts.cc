// Faults that chance would hardly ever put together.

#include <algorithm>
#include <utility>
#include <vector>

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
    workload_.OnStopped(node.id());
  }
  After(length, [&node] {
    if (!node.up()) node.Start();
  });
}

void Faults::EmptyVoters() {
  for (const auto& [partition, assignment] : world_.catalog.assignments()) {
    if (EmptyVoters(partition, assignment)) return;
  }
}

bool Faults::EmptyVoters(PartitionId partition, const Assignment& assignment) {
  if (!assignment.created) return false;
  std::vector<SimNode*> late;
  std::vector<SimNode*> wiped;
  std::vector<SimNode*> others;
  const size_t destroyed = destroyed_.count(partition) > 0 ? destroyed_[partition].size() : 0;
  for (const ReplicaKey& voter : assignment.voters) {
    SimNode& node = NodeOf(voter);
    const bool may_wipe = destroyed + wiped.size() < (assignment.voters.size() - 1) / 2;
    if (!node.HasLearnt(partition)) {
      late.push_back(&node);
    } else if (node.key() == voter && may_wipe && MayDestroyAll(node)) {
      wiped.push_back(&node);
    } else {
      others.push_back(&node);
    }
  }
  if (late.empty() || late.size() + wiped.size() <= assignment.voters.size() / 2) return false;
  const Duration election = world_.options.raft.election_timeout;
  for (SimNode* node : others) StopFor(*node, 8 * election);
  for (SimNode* node : wiped) {
    // Another partition may not bear that both of them go.
    if (!MayDestroyAll(*node)) continue;
    StopFor(*node, Duration::zero());
    MarkDestroyed(*node);
    node->Wipe();
  }
  for (SimNode* node : late) {
    After(election / 2, [node, id = partition] { node->Learn(id); });
  }
  return true;
}

void Faults::ForgetfulDisks() {
  auto chosen = world_.catalog.assignments().begin();
  std::advance(chosen, static_cast<int64_t>(prng_.Below(world_.catalog.assignments().size())));
  const std::vector<ReplicaKey>& voters = chosen->second.voters;
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
        After(10 * election, [this, apart] {
          for (const auto& [from, to] : apart) world_.network.Mend(from, to);
        });
        continue;
      }
      StopFor(node, Duration::zero());
      node.Forget();
    }
  });
}

}  // namespace quorum::sim
