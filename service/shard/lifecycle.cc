// Replicas are opened after a start, born, buried, and shut down.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/base/plant.h"
#include "service/raft/on_resign.h"
#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

Partition& AddPartition(ShardState& shard, PartitionId id, raft::RecoveredState recovered,
                        ProducerStates producers) {
  const Lane lane = LaneOf(id, shard.config.lane_count);
  const uint64_t life = ++shard.replica_lives;
  recovered.first_incarnation = life << 32;
  Prng prng = shard.prng.Fork(absl::StrCat("partition ", id.topic.value(), ":", id.index));
  raft::Replica replica(shard.config.self, shard.config.raft, std::move(recovered));
  Partition& partition =
      shard.partitions
          .try_emplace(id, id, lane, life, std::move(replica), prng, std::move(producers))
          .first->second;
  shard.seams.observer.OnReplicas(shard.partitions.size());
  return partition;
}

// What the disk knows of the producers. A damaged replica appends nothing and judges nothing.
ProducerStates RecoverProducers(const ShardState& shard,
                                const storage::RecoveredReplica& recovered) {
  if (recovered.damage.has_value()) return ProducerStates(shard.config.producers);
  ProducerStates producers(shard.config.producers, recovered.producers);
  if (!Planted(Plant::kM51)) {
    for (const BatchHeader& batch : recovered.batches_above) producers.Note(batch);
  }
  producers.Commit(recovered.high_watermark_bound);
  return producers;
}

// Answers everybody who waits for a replica that goes.
void FailWaiters(ShardState& shard, Partition& partition) {
  std::vector<raft::Token> tokens;
  for (const auto& [token, waiter] : shard.waiters) {
    if (waiter.partition == partition.id) tokens.push_back(token);
  }
  for (const raft::Token token : tokens) {
    const Waiter waiter = shard.waiters.at(token);
    if (const auto* batch = std::get_if<WaitsInBatch>(&waiter.kind)) {
      (void)TakeWaiter(shard, token);
      ResolveBatchEntry(shard, batch->batch, std::nullopt);
    } else if (const auto* append = std::get_if<WaitsForAppend>(&waiter.kind)) {
      SettleAppend(shard, token, UnsettledResult(*append));
    } else {
      raft::ReplyFetch reply;
      reply.token = token;
      DeliverFetchAnswer(shard, partition.id, 0, false, reply);
    }
  }
  for (const ReadCall& call : partition.reads) {
    ReadResult result;
    result.error = raft::RaftError::kUnknownTopicOrPartition;
    result.next = call.from;
    call.done(std::move(result));
  }
  ForgetReadDeadline(shard, partition);
}

// The newest write that there is, be it submitted or not.
uint64_t LastWrite(const ShardState& shard) {
  return shard.round_writes.empty() ? shard.round_number - 1 : shard.round_number;
}

}  // namespace

void OpenRecovered(ShardState& shard, const storage::RecoveredReplica& recovered) {
  CHECK(!recovered.tombstone);
  raft::RecoveredState state;
  state.election = recovered.election;
  state.log_start = recovered.log_start;
  state.log_end = recovered.log_end;
  state.leader_epochs = recovered.leader_epochs;
  state.voters = recovered.voters;
  state.high_watermark_bound = recovered.high_watermark_bound;
  if (recovered.damage.has_value()) state.damage = "what the disk holds of it is damaged";
  Partition& partition = AddPartition(shard, recovered.partition, std::move(state),
                                      RecoverProducers(shard, recovered));
  partition.last_timestamp_ms = recovered.last_timestamp_ms;
  partition.noted_bound = recovered.high_watermark_bound;
  StartPartition(shard, partition);
}

void OnBirthCall(ShardState& shard, BirthCall call) {
  const Partition* open = shard.Find(call.partition);
  if (open != nullptr) {
    // Its birth may still be on its way to the disk, with the election state that it started from.
    AfterWrite(
        shard, open->election_write,
        DurableGate::Item{call.partition, 0, [done = std::move(call.done)](bool) { done(); }});
    return;
  }
  storage::BirthReplica birth;
  birth.partition = call.partition;
  birth.initial_voters = call.initial_voters;
  birth.election = call.election;
  shard.round_writes.writes.push_back(std::move(birth));
  shard.round_writes.exact_floor = true;
  raft::RecoveredState state;
  state.election = call.election;
  const size_t voters = call.initial_voters.has_value() ? call.initial_voters->size() : 0;
  if (call.position.has_value()) {
    state.first_campaign_after = raft::SuccessorBackoff(
        call.position, voters, shard.config.raft.election_backoff_max, shard.prng);
  }
  state.voters = VoterSetHistory(std::move(call.initial_voters));
  Partition& partition =
      AddPartition(shard, call.partition, std::move(state), ProducerStates(shard.config.producers));
  StartPartition(shard, partition);
  StepPartition(shard, partition, raft::DiscoveryPeers{std::move(call.discovery_peers)});
  if (shard.shutting_down) StepPartition(shard, partition, raft::ShutdownRequested{});
  AfterWrite(shard, shard.round_number,
             DurableGate::Item{call.partition, 0, [done = std::move(call.done)](bool) { done(); }});
}

void OnBuryCall(ShardState& shard, BuryCall call) {
  Partition* partition = shard.Find(call.partition);
  if (partition == nullptr) {
    // It may have been buried a moment ago, by a write that is not synced yet.
    AfterWrite(shard, LastWrite(shard),
               DurableGate::Item{call.partition, 0,
                                 [done = std::move(call.done)](bool) { done(std::nullopt); }});
    return;
  }
  WithdrawFromFollowerSession(shard, *partition);
  WithdrawFromLeaderSessions(shard, *partition);
  FailWaiters(shard, *partition);
  const ElectionState election = partition->replica.election();
  Arm(shard, *partition, kNever);
  ForgetBound(shard, *partition);
  shard.cache.Drop(call.partition);
  shard.partitions.erase(call.partition);
  shard.seams.observer.OnReplicas(shard.partitions.size());
  shard.round_writes.writes.push_back(storage::BuryReplica{call.partition});
  shard.round_writes.exact_floor = true;
  AfterWrite(shard, shard.round_number,
             DurableGate::Item{call.partition, 0,
                               [done = std::move(call.done), election](bool) { done(election); }});
}

void OnCatalogPositionCall(ShardState& shard, const CatalogPositionCall& call) {
  shard.round_writes.writes.push_back(storage::PutCatalogPosition{call.position});
}

void OnDiscoveryCall(ShardState& shard, const DiscoveryCall& call) {
  Partition* partition = shard.Find(call.partition);
  if (partition != nullptr) StepPartition(shard, *partition, raft::DiscoveryPeers{call.peers});
}

void OnShutdownCall(ShardState& shard, ShutdownCall call) {
  shard.shutting_down = true;
  shard.shutdown_done.push_back(std::move(call.done));
  for (auto& [id, partition] : shard.partitions) {
    StepPartition(shard, partition, raft::ShutdownRequested{});
  }
}

void OnResignAll(ShardState& shard) {
  for (auto& [id, partition] : shard.partitions) {
    if (partition.replica.role() != raft::RoleKind::kLeader) continue;
    StepPartition(shard, partition,
                  raft::ResignRequested{partition.replica.election().epoch, std::nullopt});
  }
}

void CheckShutdown(ShardState& shard) {
  if (shard.shutdown_done.empty()) return;
  const bool finished =
      std::all_of(shard.partitions.begin(), shard.partitions.end(),
                  [](const auto& entry) { return entry.second.replica.ShutdownFinished(); });
  if (!finished) return;
  for (const std::function<void()>& done : std::exchange(shard.shutdown_done, {})) done();
}

}  // namespace quorum::shard
