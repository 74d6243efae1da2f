// Append and InitProducer: whether a batch may follow the log, and what became of it.
//
// The core gives offsets and knows of leadership and epochs; producers and conditions are judged
// here, against everything in the log, before the core is asked. What is in the log already, and
// what must not get there, never reaches the core. A judgement waits in Partition::judged until
// what it rests on is committed: told earlier it would be a dirty read. A refusal also waits for
// the proof that this replica still led when it was asked: told earlier it would be a stale one.

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/base/control_record.h"
#include "service/base/plant.h"
#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

// Appends that wait for their commit, as a multiple of ShardConfig::unsynced_bytes_max.
constexpr size_t kUnansweredFactor = 4;

LeaderHint HintOf(const Partition& partition) {
  return LeaderHint{partition.replica.election().leader, partition.replica.election().epoch};
}

AppendResult Refused(raft::RaftError error) {
  AppendResult result;
  result.outcome = AppendResult::Outcome::kRefused;
  result.error = error;
  return result;
}

bool Leads(const Partition& partition) {
  return partition.replica.role() == raft::RoleKind::kLeader &&
         !partition.replica.quarantine().has_value();
}

JudgedAppend JudgedAt(const Partition& partition, Offset rests_on) {
  JudgedAppend judged;
  judged.epoch = partition.replica.election().epoch;
  judged.rests_on = rests_on;
  judged.if_lost = Refused(raft::RaftError::kNotLeaderOrFollower);
  return judged;
}

// It shares the fate of the batch that is in the log.
JudgedAppend Duplicate(const Partition& partition, const ProducerVerdict& verdict) {
  JudgedAppend judged = JudgedAt(partition, verdict.rests_on);
  judged.if_committed.outcome = AppendResult::Outcome::kCommitted;
  judged.if_committed.base_offset = verdict.base_offset;
  judged.if_committed.epoch = partition.replica.log().epochs().EpochAt(verdict.base_offset);
  judged.if_committed.duplicate = true;
  judged.if_lost.outcome = AppendResult::Outcome::kUnknown;
  if (Planted(Plant::kM42)) judged.rests_on = Offset(0);
  return judged;
}

JudgedAppend RefusedBy(const Partition& partition, const ProducerVerdict& verdict) {
  JudgedAppend judged = JudgedAt(partition, verdict.rests_on);
  AppendResult& told = judged.if_committed;
  told = Refused(raft::RaftError::kNone);
  told.producer_epoch = verdict.epoch;
  told.expected_sequence = verdict.expected_sequence;
  switch (verdict.kind) {
    case ProducerVerdict::Kind::kFenced:
      told.refusal = AppendRefusal::kProducerFenced;
      break;
    case ProducerVerdict::Kind::kOutOfOrder:
      told.refusal = AppendRefusal::kOutOfOrderSequence;
      break;
    case ProducerVerdict::Kind::kUnknownProducer:
      told.refusal = AppendRefusal::kUnknownProducer;
      break;
    case ProducerVerdict::Kind::kNew:
    case ProducerVerdict::Kind::kDuplicate:
      CHECK(false) << "no refusal";
  }
  return judged;
}

// Names the committed end, so it waits until this leader knows one.
JudgedAppend Mismatch(const Partition& partition, Offset rests_on) {
  const bool ready = partition.replica.is_ready_leader();
  JudgedAppend judged = JudgedAt(partition, ready ? rests_on : partition.replica.log().end());
  judged.if_committed = Refused(raft::RaftError::kNone);
  judged.if_committed.refusal = AppendRefusal::kOffsetMismatch;
  return judged;
}

ProducerVerdict JudgeProducer(const ShardState& shard, const Partition& partition,
                              const BatchDraft& draft) {
  const ProducerStamp& stamp = *draft.producer;
  ProducerVerdict verdict = partition.producers.Judge(stamp, draft.record_count);
  const ProducerState* producer = partition.producers.Find(stamp.id);
  if (Planted(Plant::kM45) && producer != nullptr) {
    const int64_t silent = shard.seams.clock.WallTimeMs() - producer->last_timestamp_ms;
    if (std::chrono::milliseconds(silent) < shard.config.producers.expiry) return verdict;
    verdict.kind = stamp.base_sequence == 0 ? ProducerVerdict::Kind::kNew
                                            : ProducerVerdict::Kind::kUnknownProducer;
  }
  return verdict;
}

std::optional<Offset> WhyNotExpected(const Partition& partition, Offset expected) {
  if (Planted(Plant::kM47)) {
    const bool holds = partition.producers.committed_data_end() <= expected;
    if (holds && expected <= partition.producers.end()) return std::nullopt;
  }
  // Whatever lies there, and be it not committed.
  if (Planted(Plant::kM50) && expected < partition.producers.end()) return Offset(0);
  return partition.producers.WhyNotExpected(expected);
}

// Why the batch is not to be appended; empty when the core shall have it. What a replica that does
// not lead, or not in the epoch asked for, has to say is the core's to say.
std::optional<JudgedAppend> Judge(const ShardState& shard, const Partition& partition,
                                  const AppendCall& call) {
  if (!Leads(partition) || call.draft.record_count == 0) return std::nullopt;
  std::optional<ProducerVerdict> verdict;
  if (call.draft.producer.has_value()) verdict = JudgeProducer(shard, partition, call.draft);
  if (Planted(Plant::kM52) && call.expected_offset.has_value()) {
    const std::optional<Offset> rests_on = WhyNotExpected(partition, *call.expected_offset);
    if (rests_on.has_value()) return Mismatch(partition, *rests_on);
  }
  if (verdict.has_value() && verdict->kind == ProducerVerdict::Kind::kDuplicate) {
    return Duplicate(partition, *verdict);
  }
  if (call.leader_epoch.value_or(partition.replica.election().epoch) !=
      partition.replica.election().epoch) {
    return std::nullopt;
  }
  if (verdict.has_value() && verdict->kind != ProducerVerdict::Kind::kNew) {
    return RefusedBy(partition, *verdict);
  }
  if (!call.expected_offset.has_value()) return std::nullopt;
  const std::optional<Offset> rests_on = WhyNotExpected(partition, *call.expected_offset);
  if (!rests_on.has_value()) return std::nullopt;
  // That the log is not as expected also says that the batch itself is not there.
  const Offset new_since = verdict.has_value() ? verdict->rests_on : Offset(0);
  return Mismatch(partition, std::max(*rests_on, new_since));
}

void SettleJudged(ShardState& shard, Partition& partition, const JudgedAppend& judged, bool lost) {
  AppendResult result = lost ? judged.if_lost : judged.if_committed;
  result.hint = HintOf(partition);
  result.committed_end = partition.replica.committed();
  SettleGated(shard, partition, judged.token, std::move(result));
}

bool IsRefusal(const JudgedAppend& judged) {
  return judged.if_committed.outcome == AppendResult::Outcome::kRefused;
}

// Certain to stay true, and to have been true when it was asked for.
bool IsCertain(const ShardState& shard, const Partition& partition, JudgedAppend* judged) {
  if (judged->rests_on > partition.replica.committed()) return false;
  if (judged->round.has_value() && IsProven(shard, partition, *judged->round)) {
    judged->round.reset();
  }
  return !judged->round.has_value();
}

// Tells the judgement now, or when it has become certain.
void AddJudged(ShardState& shard, Partition& partition, JudgedAppend judged) {
  if (IsRefusal(judged)) judged.round = BeginReadRound(shard, partition);
  if (IsCertain(shard, partition, &judged)) {
    SettleJudged(shard, partition, judged, false);
    return;
  }
  if (partition.judged.size() >= shard.config.raft.appends_in_flight_max) {
    SettleGated(shard, partition, judged.token, Refused(raft::RaftError::kThrottled));
    return;
  }
  std::get<WaitsForAppend>(shard.waiters.at(judged.token).kind).refused = IsRefusal(judged);
  if (judged.round.has_value()) shard.open_rounds[partition.id] = 0;
  partition.judged.push_back(std::move(judged));
}

// One batch is always taken, however large it is; else it would be refused for ever.
bool IsAbove(size_t held, size_t more, size_t max) { return held > 0 && held + more > max; }

// Bytes that wait for the disk, and those that wait for other nodes, which are not as fast.
bool IsFull(const ShardState& shard, size_t bytes) {
  const size_t max = shard.config.unsynced_bytes_max;
  return IsAbove(shard.unsynced_bytes, bytes, max) ||
         IsAbove(shard.unanswered_bytes, bytes, kUnansweredFactor * max);
}

// The partition that an append of `bytes` is for, or nothing when it has been refused. Without a
// hint, since what the replica knows of its leader may not be on disk yet.
Partition* Admit(ShardState& shard, PartitionId id, size_t bytes, MonoTime deadline,
                 raft::RaftError* error) {
  Partition* partition = shard.Find(id);
  if (partition == nullptr) {
    *error = raft::RaftError::kUnknownTopicOrPartition;
    return nullptr;
  }
  if (deadline <= shard.now) {
    // Whoever waited for it has gone, and will hear "unknown" of what nobody needs to write.
    *error = raft::RaftError::kRequestTimedOut;
  } else if (IsBehind(shard) || IsFull(shard, bytes)) {
    *error = raft::RaftError::kThrottled;
  } else {
    return partition;
  }
  shard.seams.observer.OnRefusal(*error);
  return nullptr;
}

raft::Token AddAppendWaiter(ShardState& shard, PartitionId id, size_t bytes, MonoTime deadline,
                            std::function<void(AppendResult)> done) {
  const raft::Token token =
      AddWaiter(shard, Waiter{id, WaitsForAppend{bytes, deadline, std::move(done)}});
  shard.unanswered_bytes += bytes;
  if (deadline != kNever) shard.append_deadlines.emplace(deadline, token);
  return token;
}

void StepAppend(ShardState& shard, Partition& partition, raft::Token token, const BatchDraft& draft,
                std::optional<Epoch> leader_epoch) {
  StepInput input;
  input.draft = &draft;
  StepPartition(
      shard, partition,
      raft::AppendRequested{token, static_cast<int64_t>(draft.record_count), leader_epoch}, input);
}

BindProducerResult BoundResult(const ProducerBinding& binding, const AppendResult& appended) {
  BindProducerResult result;
  result.outcome = appended.outcome;
  result.error = appended.error;
  result.hint = appended.hint;
  if (appended.outcome == AppendResult::Outcome::kCommitted) {
    result.producer_id = binding.producer_id;
    result.producer_epoch = binding.producer_epoch;
  }
  return result;
}

}  // namespace

void OnAppendCall(ShardState& shard, AppendCall call) {
  raft::RaftError error = raft::RaftError::kNone;
  const size_t bytes = call.draft.records.size();
  Partition* partition = Admit(shard, call.partition, bytes, call.deadline, &error);
  if (partition == nullptr) {
    call.done(Refused(error));
    return;
  }
  const raft::Token token =
      AddAppendWaiter(shard, call.partition, bytes, call.deadline, std::move(call.done));
  std::optional<JudgedAppend> judged = Judge(shard, *partition, call);
  if (judged.has_value()) {
    judged->token = token;
    AddJudged(shard, *partition, *std::move(judged));
  } else {
    StepAppend(shard, *partition, token, call.draft, call.leader_epoch);
  }
}

void OnBindProducerCall(ShardState& shard, BindProducerCall call) {
  raft::RaftError error = raft::RaftError::kNone;
  Partition* partition = Admit(shard, call.partition, call.name.size(), call.deadline, &error);
  if (partition == nullptr) {
    call.done(BoundResult({}, Refused(error)));
    return;
  }
  const ProducerBinding binding =
      partition->producers.NextBinding(call.name, partition->replica.log().end());
  const raft::Token token =
      AddAppendWaiter(shard, call.partition, call.name.size(), call.deadline,
                      [binding, done = std::move(call.done)](const AppendResult& appended) {
                        done(BoundResult(binding, appended));
                      });
  StepAppend(shard, *partition, token, EncodeControlBatch({binding}, 0), std::nullopt);
}

void SettleAppend(ShardState& shard, raft::Token token, AppendResult result) {
  std::optional<Waiter> waiter = TakeWaiter(shard, token);
  if (!waiter.has_value()) return;
  auto& waits = std::get<WaitsForAppend>(waiter->kind);
  shard.unanswered_bytes -= waits.bytes;
  if (waits.deadline != kNever) shard.append_deadlines.erase({waits.deadline, token});
  if (result.outcome == AppendResult::Outcome::kRefused) {
    shard.seams.observer.OnRefusal(result.error);
  }
  if (result.duplicate || result.refusal != AppendRefusal::kNone) {
    shard.seams.observer.OnAppendJudged(result.refusal);
  }
  waits.done(std::move(result));
}

AppendResult UnsettledResult(const WaitsForAppend& waits) {
  if (waits.refused) return Refused(raft::RaftError::kNotLeaderOrFollower);
  AppendResult result;
  result.outcome = AppendResult::Outcome::kUnknown;
  return result;
}

void ConcludeJudged(ShardState& shard, Partition& partition) {
  const Offset committed = partition.replica.committed();
  partition.producers.Commit(std::min(committed, partition.replica.log().durable_end()));
  if (partition.judged.empty()) return;
  const Epoch epoch = partition.replica.election().epoch;
  const bool leads = Leads(partition);
  std::vector<JudgedAppend> waiting;
  for (JudgedAppend& judged : std::exchange(partition.judged, {})) {
    if (!leads || judged.epoch != epoch) {
      SettleJudged(shard, partition, judged, true);
    } else if (IsCertain(shard, partition, &judged)) {
      SettleJudged(shard, partition, judged, false);
    } else {
      waiting.push_back(std::move(judged));
    }
  }
  partition.judged = std::move(waiting);
}

}  // namespace quorum::shard
