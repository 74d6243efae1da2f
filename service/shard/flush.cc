// Timers, and the end of a round: one write for everything, at most one request per destination and
// kind.

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

// Voters for the check of the quorum, observers for DescribeQuorum.
std::vector<raft::PeerSeen> SeenByLeader(const ShardState& shard, const Partition& partition) {
  std::vector<raft::PeerSeen> seen;
  const Epoch epoch = partition.replica.election().epoch;
  for (const auto& [key, session] : shard.leader_sessions) {
    if (key.lane != partition.lane) continue;
    const auto at = session.LastSeen(partition.id, epoch);
    if (at.has_value()) seen.push_back(raft::PeerSeen{session.follower().key, *at});
  }
  return seen;
}

std::vector<raft::PeerSeen> SeenByFollower(const ShardState& shard, const Partition& partition) {
  const auto& leader = partition.replica.election().leader;
  if (!leader.has_value()) return {};
  const auto found = shard.follower_sessions.find(LinkKey{*leader, partition.lane});
  if (found == shard.follower_sessions.end()) return {};
  const auto at = found->second.LastSeen(partition.id, partition.replica.incarnation());
  if (!at.has_value()) return {};
  return {raft::PeerSeen{*leader, *at}};
}

// What is committed and synced here can never be cut.
Offset BoundOf(const Partition& partition) {
  const raft::Replica& replica = partition.replica;
  return std::min(replica.committed(), replica.log().durable_end());
}

// Writes the lower bounds of log end and watermark. Both are the same offset, and what the log says
// of its producers up to there goes with them.
void NoteBound(ShardState& shard, Partition& partition) {
  ForgetBound(shard, partition);
  const Offset bound = BoundOf(partition);
  if (bound <= partition.noted_bound) return;
  shard.round_writes.writes.push_back(storage::PutBounds{partition.id, bound, bound});
  ProducerStates::Unwritten producers = partition.producers.TakeUnwritten();
  shard.round_writes.writes.push_back(storage::PutProducers{
      partition.id, producers.summary, std::move(producers.changed), std::move(producers.removed)});
  partition.noted_bound = bound;
  partition.note_bound_at = shard.now + shard.config.bound_interval;
}

// Of the logs that are written anyway.
void NoteBounds(ShardState& shard) {
  for (const PartitionId& id : shard.round_in_flight.partitions) {
    Partition* partition = shard.Find(id);
    if (partition == nullptr || partition->note_bound_at > shard.now) continue;
    NoteBound(shard, *partition);
  }
}

void NoteDueBounds(ShardState& shard) {
  while (!shard.bound_deadlines.empty() && shard.bound_deadlines.begin()->first <= shard.now) {
    NoteBound(shard, *shard.Find(shard.bound_deadlines.begin()->second));
  }
}

void SubmitRound(ShardState& shard) {
  NoteDueBounds(shard);
  if (shard.round_writes.empty()) return;
  NoteBounds(shard);
  const uint64_t number = shard.round_number++;
  shard.round_in_flight.number = number;
  shard.writes_in_flight.push_back(std::exchange(shard.round_in_flight, {}));
  Mailbox<MailboxItem>& mailbox = shard.mailbox;
  shard.seams.writer.Submit(std::exchange(shard.round_writes, {}), [&mailbox, number] {
    mailbox.PostOwn(Task([number](ShardState& owner) { OnWriteDurable(owner, number); }));
  });
}

}  // namespace

raft::TimerFired MakeTimerFired(const ShardState& shard, const Partition& partition) {
  switch (partition.replica.role()) {
    case raft::RoleKind::kLeader:
      return raft::TimerFired{SeenByLeader(shard, partition)};
    case raft::RoleKind::kFollower:
      return raft::TimerFired{SeenByFollower(shard, partition)};
    case raft::RoleKind::kUnattached:
    case raft::RoleKind::kProspective:
    case raft::RoleKind::kCandidate:
    case raft::RoleKind::kResigned:
      return raft::TimerFired{};
  }
  return raft::TimerFired{};
}

void Arm(ShardState& shard, Partition& partition, MonoTime deadline) {
  if (partition.armed != kNever) shard.timers.erase({partition.armed, partition.id});
  partition.armed = deadline;
  if (deadline != kNever) shard.timers.emplace(deadline, partition.id);
}

void FireTimers(ShardState& shard) {
  for (size_t fired = 0; fired < shard.config.round_timers_max; ++fired) {
    if (shard.timers.empty() || shard.timers.begin()->first > shard.now) return;
    const PartitionId id = shard.timers.begin()->second;
    Partition& partition = *shard.Find(id);
    Arm(shard, partition, kNever);
    StepPartition(shard, partition, MakeTimerFired(shard, partition));
  }
}

void PlanBound(ShardState& shard, Partition& partition) {
  if (BoundOf(partition) <= partition.noted_bound) return;
  // On the grid, so that those that become idle together are written together.
  const MonoTime due =
      partition.replica.quarantine().has_value()
          ? shard.now
          : RoundUp(shard.now + shard.config.bound_interval, shard.config.raft.timer_grid);
  if (due >= partition.bound_due) return;
  ForgetBound(shard, partition);
  partition.bound_due = due;
  shard.bound_deadlines.emplace(due, partition.id);
}

void ForgetBound(ShardState& shard, Partition& partition) {
  if (partition.bound_due == kNever) return;
  shard.bound_deadlines.erase({partition.bound_due, partition.id});
  partition.bound_due = kNever;
}

void FlushRound(ShardState& shard) {
  ExpireClients(shard);
  FlushReadRounds(shard);
  FlushFetchAnswers(shard);
  FlushPeerRequests(shard);
  SubmitRound(shard);
  CheckShutdown(shard);
}

MonoTime NextDeadline(const ShardState& shard) {
  MonoTime next = shard.timers.empty() ? kNever : shard.timers.begin()->first;
  next = std::min(next, NextFetchDeadline(shard));
  if (!shard.bound_deadlines.empty()) next = std::min(next, shard.bound_deadlines.begin()->first);
  return std::min(next, NextClientDeadline(shard));
}

}  // namespace quorum::shard
