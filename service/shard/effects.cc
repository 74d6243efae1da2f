// What a replica's step asks for is carried out here, in order and behind its gates.

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/base/control_record.h"
#include "service/base/overloaded.h"
#include "service/base/plant.h"
#include "service/base/producer.h"
#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

void AddWrite(ShardState& shard, storage::Write write) {
  shard.round_writes.writes.push_back(std::move(write));
}

void TouchLog(ShardState& shard, Partition& partition) {
  partition.log_write = shard.round_number;
  shard.round_in_flight.partitions.insert(partition.id);
}

void AddBatch(ShardState& shard, Partition& partition, const RecordBatch& batch) {
  partition.last_timestamp_ms = std::max(partition.last_timestamp_ms, batch.max_timestamp_ms());
  const absl::StatusOr<BatchHeader> header = HeaderOf(batch);
  CHECK(header.ok()) << header.status();
  partition.producers.Note(*header);
  shard.cache.Append(partition.id, batch);
  AddWrite(shard, storage::AppendBatch{partition.id, batch});
  TouchLog(shard, partition);
}

void AppendHere(ShardState& shard, Partition& partition, const RecordBatch& batch) {
  AddBatch(shard, partition, batch);
  shard.round_in_flight.appended_bytes += batch.size();
  shard.unsynced_bytes += batch.size();
}

void AppendFetched(ShardState& shard, Partition& partition, const RecordBatch& batch) {
  AddBatch(shard, partition, batch);
  shard.round_in_flight.fetched_bytes += batch.size();
  shard.fetched_unsynced_bytes += batch.size();
}

// Neither timestamp of a batch is below that of the batch before it. Records may carry any time, so
// only the base, which is the leaders' own, is fit to let producers expire.
void Stamp(const ShardState& shard, const Partition& partition, BatchDraft* draft) {
  draft->base_timestamp_ms =
      std::max(partition.producers.timestamp_ms(), shard.seams.clock.WallTimeMs());
  draft->max_timestamp_ms =
      std::max({draft->max_timestamp_ms, partition.last_timestamp_ms, draft->base_timestamp_ms});
}

void Carry(ShardState& shard, Partition& partition, const raft::PersistElection& effect) {
  AddWrite(shard, storage::PutElectionState{partition.id, effect.election});
  shard.round_writes.exact_floor = true;
  if (!Planted(Plant::kM01)) partition.election_write = shard.round_number;
}

void Carry(ShardState& shard, Partition& partition, const raft::AppendClientBatch& effect,
           const StepInput& input) {
  CHECK(input.draft != nullptr);
  BatchDraft draft = *input.draft;
  Stamp(shard, partition, &draft);
  AppendHere(shard, partition,
             RecordBatch::Seal(partition.id, effect.base_offset, effect.epoch, draft));
  if (effect.starts_epoch) {
    AddWrite(shard, storage::PutLeaderEpoch{partition.id, effect.epoch, effect.base_offset});
  }
  if (!draft.control) shard.seams.observer.OnAppend(draft.record_count, draft.records.size());
}

void Carry(ShardState& shard, Partition& partition, const raft::AppendControlBatch& effect) {
  BatchDraft draft = EncodeControlBatch(effect.records, 0);
  Stamp(shard, partition, &draft);
  AppendHere(shard, partition,
             RecordBatch::Seal(partition.id, effect.base_offset, effect.epoch, draft));
  if (effect.starts_epoch) {
    AddWrite(shard, storage::PutLeaderEpoch{partition.id, effect.epoch, effect.base_offset});
  }
  if (effect.voters.has_value()) {
    AddWrite(shard, storage::PutVoters{partition.id, effect.voters->first, effect.voters->second});
  }
}

void Carry(ShardState& shard, Partition& partition, const raft::AppendFetchedBatches& effect,
           const StepInput& input) {
  CHECK(input.fetched != nullptr);
  CHECK_LE(effect.count, input.fetched->size());
  for (size_t i = 0; i < effect.count; ++i) {
    AppendFetched(shard, partition, (*input.fetched)[i]);
  }
  for (const auto& [epoch, start] : effect.epoch_starts) {
    AddWrite(shard, storage::PutLeaderEpoch{partition.id, epoch, start});
  }
  for (const auto& [offset, voters] : effect.voters) {
    AddWrite(shard, storage::PutVoters{partition.id, offset, voters});
  }
}

void Carry(ShardState& shard, Partition& partition, const raft::TruncateTo& effect,
           const StepInput& input) {
  const bool at_border = effect.end <= partition.replica.log().start() ||
                         input.border == effect.end ||
                         shard.cache.HasBorder(partition.id, effect.end).value_or(false);
  if (!at_border || !shard.cache.TruncateTo(partition.id, effect.end)) {
    partition.cut_inside_batch = true;
    return;
  }
  partition.producers.TruncateTo(effect.end);
  AddWrite(shard, storage::TruncateLog{partition.id, effect.end});
  TouchLog(shard, partition);
}

// Lets `action` run behind the quorum gate, for the replica's role incarnation.
void Gated(ShardState& shard, const Partition& partition, uint64_t number, bool for_ever,
           std::function<void(bool)> action) {
  const uint64_t incarnation = for_ever ? 0 : partition.replica.incarnation();
  AfterWrite(shard, number, DurableGate::Item{partition.id, incarnation, std::move(action)});
}

void Carry(ShardState& shard, Partition& partition, const raft::Send& effect) {
  const uint64_t number = effect.gate == raft::Gate::kLog
                              ? std::max(partition.election_write, partition.log_write)
                              : partition.election_write;
  const PartitionId id = partition.id;
  AfterWrite(shard, number,
             DurableGate::Item{id, effect.incarnation, [&shard, id, effect](bool current) {
                                 Partition* sender = shard.Find(id);
                                 if (!current || sender == nullptr) return;
                                 shard.seams.observer.OnMessageLeaves(id);
                                 SendToPeer(shard, *sender, effect);
                               }});
}

// Answers one entry of a Vote, BeginQuorumEpoch or EndQuorumEpoch request.
void Resolve(ShardState& shard, Partition& partition, raft::Token token,
             const raft::ResponseHeader& header, bool granted) {
  const HeaderEntry entry{partition.id, header, true, granted};
  Gated(shard, partition, partition.election_write, false, [&shard, token, entry](bool current) {
    const std::optional<Waiter> waiter = TakeWaiter(shard, token);
    if (!waiter.has_value()) return;
    const auto& waits = std::get<WaitsInBatch>(waiter->kind);
    if (current) shard.seams.observer.OnMessageLeaves(entry.partition);
    if (current && entry.granted && waits.vote.has_value()) {
      shard.seams.observer.OnVoteLeaves(entry.partition, waits.vote->second, waits.vote->first);
    }
    ResolveBatchEntry(shard, waits.batch,
                      current ? std::optional<HeaderEntry>(entry) : std::nullopt);
  });
}

void Carry(ShardState& shard, Partition& partition, const raft::ReplyFetch& effect) {
  const uint64_t incarnation = partition.replica.incarnation();
  const PartitionId id = partition.id;
  Gated(shard, partition, partition.election_write, false,
        [&shard, id, incarnation, effect](bool current) {
          if (current) shard.seams.observer.OnMessageLeaves(id);
          DeliverFetchAnswer(shard, id, incarnation, current, effect);
        });
}

AppendResult Unsettled(AppendResult::Outcome outcome, const raft::ResponseHeader& header) {
  AppendResult result;
  result.outcome = outcome;
  result.error = header.error;
  result.hint = LeaderHint{header.leader, header.epoch};
  return result;
}

void Carry(ShardState& shard, Partition& partition, const raft::AppendCommitted& effect) {
  AppendResult result;
  result.outcome = AppendResult::Outcome::kCommitted;
  result.base_offset = effect.base_offset;
  result.epoch = effect.epoch;
  result.hint = LeaderHint{partition.replica.election().leader, effect.epoch};
  SettleGated(shard, partition, effect.token, result);
}

void Wake(ShardState& shard, Partition& partition) {
  if (partition.reads.empty()) return;
  const PartitionId id = partition.id;
  Gated(shard, partition, partition.election_write, true, [&shard, id](bool) {
    Partition* reader = shard.Find(id);
    if (reader != nullptr) WakeReads(shard, *reader);
  });
}

void Withdraw(ShardState& shard, Partition& partition) {
  if (Planted(Plant::kM39)) return;
  WithdrawFromFollowerSession(shard, partition);
  WithdrawFromLeaderSessions(shard, partition);
}

void CarryOut(ShardState& shard, Partition& partition, const raft::Effect& effect,
              const StepInput& input) {
  using Outcome = AppendResult::Outcome;
  std::visit(
      Overloaded{
          [&](const raft::PersistElection& e) { Carry(shard, partition, e); },
          [&](const raft::AppendClientBatch& e) { Carry(shard, partition, e, input); },
          [&](const raft::AppendControlBatch& e) { Carry(shard, partition, e); },
          [&](const raft::AppendFetchedBatches& e) { Carry(shard, partition, e, input); },
          [&](const raft::TruncateTo& e) { Carry(shard, partition, e, input); },
          [&](const raft::Send& e) { Carry(shard, partition, e); },
          [&](const raft::ReplyVote& e) {
            Resolve(shard, partition, e.token, e.response.header, e.response.granted);
          },
          [&](const raft::ReplyBeginQuorumEpoch& e) {
            Resolve(shard, partition, e.token, e.response.header, false);
          },
          [&](const raft::ReplyEndQuorumEpoch& e) {
            Resolve(shard, partition, e.token, e.response.header, false);
          },
          [&](const raft::ReplyFetch& e) { Carry(shard, partition, e); },
          // Who waits is known already: the session, or the session-less fetch, keeps the deadline.
          [](const raft::ParkFetch&) {},
          [&](const raft::AppendCommitted& e) { Carry(shard, partition, e); },
          [&](const raft::AppendRefused& e) {
            SettleGated(shard, partition, e.token, Unsettled(Outcome::kRefused, e.header));
          },
          [&](const raft::AppendUnknown& e) {
            SettleGated(shard, partition, e.token, Unsettled(Outcome::kUnknown, e.header));
          },
          [&](const raft::CommitAdvanced&) { Wake(shard, partition); },
          [&](const raft::ArmTimer& e) { Arm(shard, partition, e.deadline); },
          [&](const raft::LeadershipChanged&) { Wake(shard, partition); },
          [&](const raft::WithdrawFromSessions&) { Withdraw(shard, partition); },
          [&](const raft::Quarantined& e) {
            shard.seams.observer.OnQuarantine(partition.id, e.reason);
            // No write of it is waited for any more, so its batches would stay pinned for ever.
            shard.cache.Drop(partition.id);
            Wake(shard, partition);
          },
          [&](const raft::Trace& e) { shard.seams.observer.OnTrace(partition.id, e.event); },
      },
      effect);
}

}  // namespace

// What became of an append is a fact: it waits for the gate, but no change of role takes it back.
void SettleGated(ShardState& shard, Partition& partition, raft::Token token, AppendResult result) {
  Gated(shard, partition, partition.election_write, true,
        [&shard, token, result](bool) { SettleAppend(shard, token, result); });
}

void StepPartition(ShardState& shard, Partition& partition, const raft::Event& event,
                   const StepInput& input) {
  std::vector<raft::Effect> effects;
  raft::StepContext context{shard.now, partition.prng, shard.round_number, effects};
  partition.replica.Step(event, context);
  for (const raft::Effect& effect : effects) CarryOut(shard, partition, effect, input);
  // Only a leader that contradicts another one of its epoch asks for that.
  if (std::exchange(partition.cut_inside_batch, false)) {
    StepPartition(shard, partition, raft::Damaged{"the leader's log differs inside of a batch"});
  }
  ConcludeJudged(shard, partition);
  PlanBound(shard, partition);
}

void StartPartition(ShardState& shard, Partition& partition) {
  std::vector<raft::Effect> effects;
  raft::StepContext context{shard.now, partition.prng, shard.round_number, effects};
  partition.replica.Start(context);
  for (const raft::Effect& effect : effects) CarryOut(shard, partition, effect, {});
}

absl::Status StatusOfRead(const storage::ReadResult& read) {
  if (!read.ok()) return read.status();
  if (read->empty()) return absl::DataLossError("Records are missing.");
  return absl::OkStatus();
}

void NoteRead(ShardState& shard, Partition& partition, const absl::Status& status) {
  if (absl::IsResourceExhausted(status) || absl::IsCancelled(status)) return;
  partition.failed_reads = status.ok() ? 0 : partition.failed_reads + 1;
  const bool sound = !absl::IsDataLoss(status);
  if (sound && partition.failed_reads < shard.config.failed_reads_max) return;
  StepPartition(shard, partition, raft::Damaged{"the log cannot be read"});
}

bool IsBehind(const ShardState& shard) {
  return shard.gate.size() >= shard.config.gated_max ||
         shard.writes_in_flight.size() >= shard.config.writes_in_flight_max;
}

void AfterWrite(ShardState& shard, uint64_t number, DurableGate::Item item) {
  if (number > shard.durable_number) {
    shard.gate.Wait(number, std::move(item));
    return;
  }
  item.action(true);
}

void OnWriteDurable(ShardState& shard, uint64_t number) {
  CHECK_GT(number, shard.durable_number);
  shard.durable_number = number;
  std::set<PartitionId> touched;
  while (!shard.writes_in_flight.empty() && shard.writes_in_flight.front().number <= number) {
    ShardState::WriteInFlight& write = shard.writes_in_flight.front();
    touched.merge(write.partitions);
    shard.unsynced_bytes -= write.appended_bytes;
    shard.fetched_unsynced_bytes -= write.fetched_bytes;
    shard.writes_in_flight.pop_front();
  }
  for (const PartitionId& id : touched) {
    Partition* partition = shard.Find(id);
    if (partition == nullptr) continue;
    StepPartition(shard, *partition, raft::WriteDurable{number});
    shard.cache.SetDurable(id, partition->replica.log().durable_end());
  }
  shard.gate.Release(number, [&shard](PartitionId id, uint64_t incarnation) {
    const Partition* partition = shard.Find(id);
    return partition != nullptr && partition->replica.incarnation() == incarnation;
  });
}

raft::Token AddWaiter(ShardState& shard, Waiter waiter) {
  const raft::Token token = ++shard.last_token;
  shard.waiters.emplace(token, std::move(waiter));
  return token;
}

std::optional<Waiter> TakeWaiter(ShardState& shard, raft::Token token) {
  const auto found = shard.waiters.find(token);
  if (found == shard.waiters.end()) return std::nullopt;
  Waiter waiter = std::move(found->second);
  shard.waiters.erase(found);
  return waiter;
}

}  // namespace quorum::shard
