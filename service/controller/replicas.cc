// From the catalog to the replicas of this node (architecture.md 7). Rules:
//
//   1. nothing is done before the catalog has been read up to a watermark named since this start;
//   2. a replica starts from the partition's first voters only if the creation record names it by
//   exact key,
//      this directory never held it, the creation was not acted on by an earlier process, and the
//      catalog still says "creating"; every other one starts blank;
//   3. data goes when a committed record deletes the partition, never because anybody does not know
//   it;
//   4. what a tombstone remembers of votes outlives the data, and is what a later replica starts
//   from.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "service/base/plant.h"
#include "service/controller/controller_state.h"

namespace quorum::controller {
namespace {

// Plants M38: the first voters by node id, on whatever directory they are now.
bool IsSame(const ReplicaKey& self, const ReplicaKey& key) {
  return Planted(Plant::kM38) ? self.id == key.id : self == key;
}

std::optional<size_t> PlaceOf(const ReplicaKey& self, const PartitionPlan& plan) {
  const auto found = std::find_if(plan.assignment.begin(), plan.assignment.end(),
                                  [&](const ReplicaKey& key) { return IsSame(self, key); });
  if (found == plan.assignment.end()) return std::nullopt;
  return static_cast<size_t>(found - plan.assignment.begin());
}

std::vector<ReplicaKey> Others(const ReplicaKey& self, const PartitionPlan& plan) {
  std::vector<ReplicaKey> others;
  for (const ReplicaKey& key : plan.assignment) {
    if (key != self) others.push_back(key);
  }
  return others;
}

VoterSet InitialVoters(const ControllerState& state, const PartitionPlan& plan) {
  std::vector<Voter> voters;
  for (ReplicaKey key : plan.assignment) {
    if (Planted(Plant::kM38) && state.catalog.FindBroker(key.id) != nullptr) {
      key = state.catalog.FindBroker(key.id)->key;
    }
    if (IsSame(state.config.self, key)) key = state.config.self;
    voters.push_back(Voter{key, ""});
  }
  return VoterSet(std::move(voters));
}

bool IsFirstBirth(const ControllerState& state, const PartitionPlan& plan) {
  if (Planted(Plant::kM38)) return true;
  return state.tombstones.count(plan.id) == 0 && plan.life == PartitionLife::kCreating &&
         plan.created_at >= state.stored_position;
}

void FinishAct(ControllerState& state) {
  --state.acts_in_flight;
  state.act_again = true;
}

void Give(ControllerState& state, const PartitionPlan& plan, size_t place) {
  shard::BirthCall call;
  call.partition = plan.id;
  call.discovery_peers = Others(state.config.self, plan);
  const auto tombstone = state.tombstones.find(plan.id);
  if (tombstone != state.tombstones.end()) call.election = tombstone->second;
  if (IsFirstBirth(state, plan)) {
    call.initial_voters = InitialVoters(state, plan);
    call.position = place;
  }
  Mailbox<Task>* mailbox = &state.mailbox;
  const PartitionId id = plan.id;
  call.done = [mailbox, id] {
    PostOwn(mailbox, [id](ControllerState& owner) {
      owner.local[id] = LocalLife::kOpen;
      FinishAct(owner);
    });
  };
  if (!PostTo(state, id, std::move(call))) {
    state.act_again = true;
    return;
  }
  state.local[id] = LocalLife::kOpening;
  ++state.acts_in_flight;
}

void Take(ControllerState& state, PartitionId id) {
  Mailbox<Task>* mailbox = &state.mailbox;
  shard::BuryCall call;
  call.partition = id;
  call.done = [mailbox, id](const std::optional<ElectionState>& election) {
    PostOwn(mailbox, [id, election](ControllerState& owner) {
      owner.local.erase(id);
      // A shard that holds no such replica knows nothing of its votes.
      if (election.has_value()) owner.tombstones[id] = *election;
      FinishAct(owner);
    });
  };
  if (!PostTo(state, id, std::move(call))) {
    state.act_again = true;
    return;
  }
  state.local[id] = LocalLife::kBurying;
  ++state.acts_in_flight;
}

// Replicas that were opened from the disk learn once whom they may ask.
void Introduce(ControllerState& state) {
  if (std::exchange(state.introduced, true)) return;
  for (const auto& [id, life] : state.local) {
    const PartitionPlan* plan = state.catalog.FindPartition(id);
    if (plan == nullptr) continue;
    (void)PostTo(state, id, shard::DiscoveryCall{id, Others(state.config.self, *plan)});
  }
}

// The position is noted when all that it stands for is on disk, so that it is never ahead of a
// birth.
void NotePosition(ControllerState& state) {
  if (state.acts_in_flight > 0 || state.act_again) return;
  if (state.acted_position <= state.noted_position) return;
  if (PostTo(state, kMetadataPartition, shard::CatalogPositionCall{state.acted_position})) {
    state.noted_position = state.acted_position;
  }
}

}  // namespace

void OpenMetadataReplica(ControllerState& state) {
  if (state.local.count(kMetadataPartition) > 0) return;
  // A directory that was formatted to join holds nothing yet. Its replica of the catalog starts
  // blank, and whoever knows the leader tells it (DiscoveryCall).
  shard::BirthCall call;
  call.partition = kMetadataPartition;
  Mailbox<Task>* mailbox = &state.mailbox;
  call.done = [mailbox] {
    PostOwn(mailbox, [](ControllerState& owner) {
      owner.local[kMetadataPartition] = LocalLife::kOpen;
      owner.read_at = owner.now;
    });
  };
  if (PostTo(state, kMetadataPartition, std::move(call))) {
    state.local[kMetadataPartition] = LocalLife::kOpening;
  }
}

void ActOnCatalog(ControllerState& state) {
  if (!state.caught_up || state.failed) return;
  if (!std::exchange(state.act_again, false)) {
    NotePosition(state);
    return;
  }
  Introduce(state);
  state.acted_position = state.catalog.position();
  for (const auto& [id, plan] : state.catalog.partitions()) {
    const std::optional<size_t> place = PlaceOf(state.config.self, plan);
    if (place.has_value() && state.local.count(id) == 0) Give(state, plan, *place);
  }
  std::vector<PartitionId> deleted;
  for (const auto& [id, life] : state.local) {
    if (life != LocalLife::kOpen || id == kMetadataPartition) continue;
    if (state.catalog.FindPartition(id) == nullptr) deleted.push_back(id);
  }
  for (const PartitionId& id : deleted) Take(state, id);
  NotePosition(state);
}

}  // namespace quorum::controller
