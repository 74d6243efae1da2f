#include "tests/sim/sim_replicas.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/base/plant.h"

namespace quorum::sim {
namespace {

// Plants M38: the first voters by node id, on whatever directory they are now.
std::vector<ReplicaKey> VotersByNode(const SimCatalog& catalog, const Assignment& assignment) {
  std::vector<ReplicaKey> voters;
  for (const ReplicaKey& voter : assignment.voters) {
    voters.push_back(catalog.keys().at(voter.id));
  }
  return voters;
}

}  // namespace

ReplicaManager::ReplicaManager(World* world, ReplicaKey self, const storage::RecoveredStore& store,
                               Post post)
    : world_(*world), self_(self), post_(std::move(post)) {
  for (const storage::RecoveredReplica& replica : store.replicas) {
    if (replica.tombstone) {
      tombstones_[replica.partition] = replica.election;
    } else {
      open_.insert(replica.partition);
    }
  }
}

void ReplicaManager::Act(PartitionId partition) {
  const Assignment& assignment = world_.catalog.assignments().at(partition);
  const bool assigned = assignment.NamesNode(self_.id);
  const bool open = open_.count(partition) > 0;
  if (burying_.count(partition) > 0) return;
  if (assigned && open) {
    post_(partition, shard::DiscoveryCall{partition, world_.catalog.PeersOf(assignment, self_.id)});
  } else if (assigned) {
    Birth(partition, assignment);
  } else if (open && burying_.insert(partition).second) {
    Bury(partition);
  }
}

void ReplicaManager::Birth(PartitionId partition, const Assignment& assignment) {
  shard::BirthCall call;
  call.partition = partition;
  call.discovery_peers = world_.catalog.PeersOf(assignment, self_.id);
  const auto tombstone = tombstones_.find(partition);
  if (tombstone != tombstones_.end()) call.election = tombstone->second;
  std::vector<ReplicaKey> voters = assignment.voters;
  bool founds =
      assignment.NamesVoter(self_) && !assignment.created && tombstone == tombstones_.end();
  if (Planted(Plant::kM38)) {
    voters = VotersByNode(world_.catalog, assignment);
    founds = assignment.observers.count(self_.id) == 0;
  }
  if (founds) {
    const auto place = std::find(voters.begin(), voters.end(), self_);
    call.position = static_cast<size_t>(place - voters.begin());
    call.initial_voters = MakeVoterSet(voters);
  } else if (assignment.NamesVoter(self_)) {
    world_.statistics.Add(Counter::kLateBirths);
  }
  world_.tracer.Note(self_.id, absl::StrCat(ToText(partition), " is born ",
                                            founds ? "as a first voter" : "blank"));
  call.done = [] {};
  open_.insert(partition);
  post_(partition, call);
}

void ReplicaManager::Bury(PartitionId partition) {
  world_.statistics.Add(Counter::kBurials);
  world_.tracer.Note(self_.id, absl::StrCat(ToText(partition), " is buried"));
  shard::BuryCall call;
  call.partition = partition;
  call.done = [this, partition](const std::optional<ElectionState>& election) {
    open_.erase(partition);
    burying_.erase(partition);
    if (election.has_value()) tombstones_[partition] = *election;
    Act(partition);
  };
  post_(partition, call);
}

}  // namespace quorum::sim
