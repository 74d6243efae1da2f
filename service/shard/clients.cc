// Calls of clients: Read, Describe, Resign; and the deadlines of all calls.

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

LeaderHint HintOf(const Partition& partition) {
  return LeaderHint{partition.replica.election().leader, partition.replica.election().epoch};
}

ReadResult StatusOf(const Partition& partition, Offset next) {
  ReadResult result;
  result.next = next;
  result.exposed = partition.replica.exposed();
  result.high_watermark = partition.replica.high_watermark();
  result.watermark_named = partition.replica.watermark_named();
  result.log_start = partition.replica.log().start();
  result.log_end = partition.replica.log().end();
  result.hint = HintOf(partition);
  return result;
}

bool HasNews(const Partition& partition, const ReadCall& call) {
  if (call.seen_epoch != partition.replica.election().epoch) return true;
  if (!call.seen_high_watermark.has_value()) return true;
  return *call.seen_high_watermark < partition.replica.exposed();
}

// Only what is below `exposed` may be shown; a batch that reaches beyond it is left out, which
// cannot happen as long as the watermark stands on batch borders.
void FinishRead(const ReadCall& call, ReadResult result, std::vector<RecordBatch> batches) {
  for (RecordBatch& batch : batches) {
    if (batch.next_offset() > result.exposed) break;
    result.next = batch.next_offset();
    result.batches.push_back(std::move(batch));
  }
  call.done(std::move(result));
}

// Says nothing of the replica: its state may not be on disk yet, or it is gone.
void RefuseRead(const ReadCall& call, raft::RaftError error) {
  ReadResult result;
  result.error = error;
  result.next = call.from;
  call.done(std::move(result));
}

// What comes back counts only while the replica lives that was asked: another one of the same
// partition has other records, and no part in what could not be read.
void ReadFromDisk(ShardState& shard, const Partition& partition, const ReadCall& call) {
  Mailbox<MailboxItem>& mailbox = shard.mailbox;
  const storage::ReadRequest request{partition.id, call.from, partition.replica.exposed(),
                                     call.max_bytes};
  const ReadResult status = StatusOf(partition, call.from);
  auto finish = [call, status, life = partition.life](ShardState& owner,
                                                      const storage::ReadResult& read) {
    Partition* asked = owner.Find(call.partition);
    if (asked == nullptr || asked->life != life) {
      RefuseRead(call, raft::RaftError::kUnknownTopicOrPartition);
      return;
    }
    const absl::Status how = StatusOfRead(read);
    NoteRead(owner, *asked, how);
    if (how.ok()) {
      FinishRead(call, status, *read);
      return;
    }
    ReadResult result = status;
    const bool busy = absl::IsResourceExhausted(how);
    result.error = busy ? raft::RaftError::kThrottled : raft::RaftError::kBrokerNotAvailable;
    call.done(std::move(result));
  };
  shard.seams.reader.Read(request, [&mailbox, finish](storage::ReadResult read) {
    mailbox.PostOwn(Task([finish, read](ShardState& owner) { finish(owner, read); }));
  });
}

// Answers the call if there is anything to say. False when it has to wait.
bool TryRead(ShardState& shard, const Partition& partition, const ReadCall& call) {
  const raft::Replica& replica = partition.replica;
  if (replica.quarantine().has_value()) {
    ReadResult result = StatusOf(partition, call.from);
    result.error = raft::RaftError::kBrokerNotAvailable;
    call.done(std::move(result));
    return true;
  }
  if (call.from < replica.log().start()) {
    ReadResult result = StatusOf(partition, replica.log().start());
    result.below_log_start = true;
    call.done(std::move(result));
    return true;
  }
  if (call.from < replica.exposed()) {
    auto cached = shard.cache.Read(partition.id, call.from, replica.exposed(), call.max_bytes);
    if (cached.has_value()) {
      FinishRead(call, StatusOf(partition, call.from), *std::move(cached));
    } else {
      ReadFromDisk(shard, partition, call);
    }
    return true;
  }
  if (!HasNews(partition, call) && shard.now < call.deadline) return false;
  call.done(StatusOf(partition, call.from));
  return true;
}

// What a session vouches for all its partitions at once has not reached the replica's own count.
void NoteSession(const ShardState& shard, const Partition& partition,
                 raft::ReplicaDescription* row) {
  const auto found = shard.leader_sessions.find(SessionKey{row->key.id, partition.lane});
  if (found == shard.leader_sessions.end() || found->second.follower().key != row->key) return;
  const auto seen = found->second.LastSeen(partition.id, partition.replica.election().epoch);
  if (!seen.has_value() || !row->last_fetch.has_value()) return;
  row->last_fetch = std::max(*row->last_fetch, *seen);
  // The leader's end only rises, so whoever holds all of it now held all of it then.
  if (row->log_end != partition.replica.log().end()) return;
  row->last_caught_up = std::max(row->last_caught_up.value_or(*seen), *seen);
}

// Looks at the parked reads again once the replica's role is on disk; once for all of them.
void WakeReadsAfterWrite(ShardState& shard, Partition& partition) {
  if (partition.reads_wake == partition.election_write) return;
  partition.reads_wake = partition.election_write;
  const PartitionId id = partition.id;
  AfterWrite(shard, partition.election_write, DurableGate::Item{id, 0, [&shard, id](bool) {
                                                                  Partition* again = shard.Find(id);
                                                                  if (again != nullptr)
                                                                    WakeReads(shard, *again);
                                                                }});
}

// Files the partition under the earliest of its deadlines.
void SetReadDeadline(ShardState& shard, Partition& partition, MonoTime due) {
  if (due == partition.reads_due) return;
  if (partition.reads_due != kNever) {
    shard.read_deadlines.erase({partition.reads_due, partition.id});
  }
  partition.reads_due = due;
  if (due != kNever) shard.read_deadlines.emplace(due, partition.id);
}

}  // namespace

void ForgetReadDeadline(ShardState& shard, Partition& partition) {
  SetReadDeadline(shard, partition, kNever);
}

void OnReadCall(ShardState& shard, ReadCall call) {
  Partition* partition = shard.Find(call.partition);
  if (partition == nullptr) {
    RefuseRead(call, raft::RaftError::kUnknownTopicOrPartition);
    return;
  }
  // What a replica shows follows from its role; a role that is not on disk yet shows nothing.
  const bool may_show = partition->election_write <= shard.durable_number;
  if (may_show && TryRead(shard, *partition, call)) return;
  if (partition->reads.size() >= shard.config.parked_reads_max) {
    shard.seams.observer.OnRefusal(raft::RaftError::kThrottled);
    RefuseRead(call, raft::RaftError::kThrottled);
    return;
  }
  const MonoTime deadline = call.deadline;
  partition->reads.push_back(std::move(call));
  if (may_show) {
    SetReadDeadline(shard, *partition, std::min(partition->reads_due, deadline));
  } else {
    WakeReadsAfterWrite(shard, *partition);
  }
}

void WakeReads(ShardState& shard, Partition& partition) {
  if (partition.election_write > shard.durable_number) {
    ForgetReadDeadline(shard, partition);
    if (!partition.reads.empty()) WakeReadsAfterWrite(shard, partition);
    return;
  }
  std::vector<ReadCall> reads = std::move(partition.reads);
  partition.reads.clear();
  MonoTime due = kNever;
  for (ReadCall& call : reads) {
    if (TryRead(shard, partition, call)) continue;
    due = std::min(due, call.deadline);
    partition.reads.push_back(std::move(call));
  }
  SetReadDeadline(shard, partition, due);
}

void OnDescribeCall(ShardState& shard, const DescribeCall& call) {
  PartitionDescription description;
  description.partition = call.partition;
  description.now = shard.now;
  Partition* partition = shard.Find(call.partition);
  if (partition == nullptr) {
    description.error = raft::RaftError::kUnknownTopicOrPartition;
    call.done(std::move(description));
    return;
  }
  if (partition->election_write > shard.durable_number && IsBehind(shard)) {
    shard.seams.observer.OnRefusal(raft::RaftError::kThrottled);
    description.error = raft::RaftError::kThrottled;
    call.done(std::move(description));
    return;
  }
  // A leader that is the only voter has no timer at which it would hear whom sessions vouch for.
  if (partition->replica.role() == raft::RoleKind::kLeader) {
    StepPartition(shard, *partition, MakeTimerFired(shard, *partition));
  }
  const raft::Replica& replica = partition->replica;
  description.hint = HintOf(*partition);
  description.role = replica.role();
  description.ready_leader = replica.is_ready_leader();
  description.high_watermark = replica.high_watermark();
  description.exposed = replica.exposed();
  description.log_start = replica.log().start();
  description.log_end = replica.log().end();
  description.voters = replica.voters().Latest();
  description.quarantine = replica.quarantine();
  description.replicas = replica.Describe(shard.now);
  for (raft::ReplicaDescription& row : description.replicas) NoteSession(shard, *partition, &row);
  AfterWrite(shard, partition->election_write,
             DurableGate::Item{call.partition, 0,
                               [done = call.done, description = std::move(description)](bool) {
                                 done(description);
                               }});
}

void OnResignCall(ShardState& shard, const ResignCall& call) {
  Partition* partition = shard.Find(call.partition);
  if (partition == nullptr) {
    call.done(raft::RaftError::kUnknownTopicOrPartition, LeaderHint{});
    return;
  }
  if (IsBehind(shard)) {
    shard.seams.observer.OnRefusal(raft::RaftError::kThrottled);
    call.done(raft::RaftError::kThrottled, LeaderHint{});
    return;
  }
  const LeaderHint hint = HintOf(*partition);
  const bool leads = partition->replica.role() == raft::RoleKind::kLeader;
  const raft::RaftError error =
      leads ? raft::RaftError::kNone : raft::RaftError::kNotLeaderOrFollower;
  if (leads) StepPartition(shard, *partition, raft::ResignRequested{hint.epoch, call.preferred});
  AfterWrite(shard, partition->election_write,
             DurableGate::Item{call.partition, 0,
                               [done = call.done, error, hint](bool) { done(error, hint); }});
}

void ExpireClients(ShardState& shard) {
  while (!shard.append_deadlines.empty() && shard.append_deadlines.begin()->first <= shard.now) {
    const raft::Token token = shard.append_deadlines.begin()->second;
    SettleAppend(shard, token,
                 UnsettledResult(std::get<WaitsForAppend>(shard.waiters.at(token).kind)));
  }
  while (!shard.read_deadlines.empty() && shard.read_deadlines.begin()->first <= shard.now) {
    WakeReads(shard, *shard.Find(shard.read_deadlines.begin()->second));
  }
}

MonoTime NextClientDeadline(const ShardState& shard) {
  const auto& appends = shard.append_deadlines;
  const auto& reads = shard.read_deadlines;
  return std::min(appends.empty() ? kNever : appends.begin()->first,
                  reads.empty() ? kNever : reads.begin()->first);
}

}  // namespace quorum::shard
