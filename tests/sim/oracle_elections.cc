// I1 to I4: who leads, who votes, and what is on disk when somebody says so.

#include <optional>
#include <utility>

#include "tests/sim/oracle.h"

namespace quorum::sim {

void Oracle::NoteLeader(const ProcessId& process, PartitionId partition, Epoch epoch) {
  PartitionView& view = partitions_[partition];
  const auto [found, added] =
      view.leaders.try_emplace(epoch, Leadership{process.key, process.life, false});
  if (added) return;
  if (found->second.leader != process.key) {
    failure_.Report("I1", ToText(partition), " epoch ", epoch.value(), " is led by ",
                    ToText(found->second.leader), " and by ", ToText(process.key));
  } else {
    failure_.Report("I3", ToText(partition), " ", ToText(process.key), " leads epoch ",
                    epoch.value(), " a second time");
  }
}

void Oracle::OnTrace(const ProcessId& process, PartitionId partition,
                     const raft::TraceEvent& event) {
  touched_.insert(partition);
  if (event.kind == raft::TraceKind::kVoteRefused) statistics_.Add(Counter::kVotesRefused);
  if (event.kind == raft::TraceKind::kHighWatermark && event.to == raft::RoleKind::kLeader) {
    led_commits_[partition] = event.offset;
  }
  if (event.kind != raft::TraceKind::kTransition || event.to != raft::RoleKind::kLeader) return;
  statistics_.Add(Counter::kElections);
  elected_[partition] = event.epoch;
  NoteLeader(process, partition, event.epoch);
}

void Oracle::NoteVote(const ProcessId& process, PartitionId partition, Epoch epoch,
                      const ReplicaKey& candidate) {
  const auto [found, added] =
      partitions_[partition].votes.try_emplace(std::make_pair(epoch, process.key), candidate);
  if (added || found->second == candidate) return;
  failure_.Report("I2", ToText(partition), " ", ToText(process.key), " votes in epoch ",
                  epoch.value(), " for ", ToText(found->second), " and for ", ToText(candidate));
}

void Oracle::OnMessageLeaves(const ProcessId& process, PartitionId partition) {
  const raft::Replica* replica = find_replica_(process.key.id, partition);
  if (replica == nullptr || replica->quarantine().has_value()) return;
  touched_.insert(partition);
  const ElectionState& memory = replica->election();
  const std::optional<ElectionState>& disk =
      partitions_[partition].replicas[process.key].durable_election;
  if (!disk.has_value() || disk->epoch != memory.epoch || disk->leader != memory.leader) {
    failure_.Report("I4", ToText(partition), " ", ToText(process.key), " speaks in epoch ",
                    memory.epoch.value(), ", which is not on its disk");
  }
  if (replica->role() == raft::RoleKind::kCandidate) {
    NoteVote(process, partition, memory.epoch, process.key);
  }
}

void Oracle::OnVoteLeaves(const ProcessId& process, PartitionId partition, Epoch epoch,
                          const ReplicaKey& candidate) {
  const std::optional<ElectionState>& disk =
      partitions_[partition].replicas[process.key].durable_election;
  const bool stored = disk.has_value() && disk->epoch == epoch && disk->voted == candidate;
  if (!stored) {
    failure_.Report("I4", ToText(partition), " ", ToText(process.key), " votes in epoch ",
                    epoch.value(), " for ", ToText(candidate), " before it is on its disk");
  }
  NoteVote(process, partition, epoch, candidate);
}

void Oracle::CheckLeadership(const ProcessId& process, PartitionId partition,
                             const raft::Replica& replica) {
  if (replica.role() != raft::RoleKind::kLeader) return;
  const Epoch epoch = replica.election().epoch;
  const PartitionView& view = partitions_[partition];
  const auto found = view.leaders.find(epoch);
  if (found == view.leaders.end() || found->second.leader != process.key) {
    failure_.Report("I1", ToText(partition), " ", ToText(process.key), " leads epoch ",
                    epoch.value(), " without an election");
  } else if (found->second.life != process.life) {
    failure_.Report("I3", ToText(partition), " ", ToText(process.key), " goes on leading epoch ",
                    epoch.value(), " after a restart");
  }
}

}  // namespace quorum::sim
