#include "tests/sim/producers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/record_codec.h"

namespace quorum::sim {

using shard::AppendRefusal;
using shard::AppendResult;

namespace {

// How often a writer gives up a batch of unknown outcome that may not be appended any more.
constexpr uint64_t kGiveUpPpm = 250'000;

}  // namespace

Producers::Producers(World* world, const std::vector<std::unique_ptr<SimNode>>* nodes, Prng prng)
    : world_(*world),
      nodes_(*nodes),
      prng_(prng),
      conditions_prng_(Prng(world->options.seed).Fork("conditions of producers")),
      deposed_prng_(Prng(world->options.seed).Fork("deposed leaders")) {
  const ProducerOptions& options = world_.options.producers;
  writers_.resize(static_cast<size_t>(options.idempotent + 2 * options.named_pairs));
  for (size_t i = static_cast<size_t>(options.idempotent); i < writers_.size(); ++i) {
    const size_t pair = (i - static_cast<size_t>(options.idempotent)) / 2;
    writers_[i].name = absl::StrCat("producer-", pair);
  }
}

size_t Producers::calls_max() const {
  return writers_.size() * (2 * static_cast<size_t>(world_.options.producers.window) + 1);
}

std::optional<PartitionId> Producers::AnyPartition() {
  std::vector<PartitionId> partitions;
  for (const Writer& writer : writers_) {
    if (!IsOver(writer)) partitions.push_back(*writer.partition);
  }
  if (partitions.empty()) return std::nullopt;
  return partitions[deposed_prng_.Below(partitions.size())];
}

void Producers::Start() {
  for (size_t i = 0; i < writers_.size(); ++i) BeginLater(i);
}

Duration Producers::Pause() {
  return prng_.Between(Duration::zero(), world_.options.raft.election_timeout / 2);
}

void Producers::NoteEnd(PartitionId partition, Offset end) {
  std::optional<Offset>& known = known_[partition].expected_offset;
  known = std::max(known.value_or(end), end);
}

Producers::Batch* Producers::Find(Writer& writer, uint64_t payload) {
  const auto batch = std::find_if(writer.window.begin(), writer.window.end(),
                                  [&](const Batch& one) { return one.payload == payload; });
  return batch == writer.window.end() ? nullptr : &*batch;
}

bool Producers::IsOver(const Writer& writer) const {
  return !writer.partition.has_value() || world_.catalog.partitions().count(*writer.partition) == 0;
}

SimNode& Producers::ChooseNode(PartitionId partition) {
  const auto deposed = deposed_.find(partition);
  if (deposed != deposed_.end() && deposed_prng_.Chance(world_.options.producers.deposed_ppm)) {
    return *nodes_[static_cast<size_t>(deposed->second.value() - 1)];
  }
  const auto known = leaders_.find(partition);
  if (known != leaders_.end() && prng_.Chance(850'000)) {
    return *nodes_[static_cast<size_t>(known->second.value() - 1)];
  }
  return *nodes_[prng_.Below(nodes_.size())];
}

void Producers::NoteLeader(PartitionId partition, const shard::LeaderHint& hint) {
  if (hint.epoch > Epoch(0)) {
    std::optional<Epoch>& epoch = known_[partition].leader_epoch;
    epoch = std::max(epoch.value_or(hint.epoch), hint.epoch);
  }
  if (hint.leader.has_value()) {
    const auto before = leaders_.find(partition);
    if (before != leaders_.end() && before->second != hint.leader->id) {
      deposed_.insert_or_assign(partition, before->second);
    }
    leaders_.insert_or_assign(partition, hint.leader->id);
  } else {
    leaders_.erase(partition);
  }
}

void Producers::BeginLater(size_t index) {
  const Duration election = world_.options.raft.election_timeout;
  Writer& writer = writers_[index];
  writer.window.clear();
  writer.window_end = Offset(0);
  writer.stamp.reset();
  world_.queue.After(prng_.Between(Duration::zero(), 4 * election),
                     [this, index, run = ++writer.run] {
                       if (writers_[index].run == run && !stopped_) Begin(index);
                     });
}

// Pairs write to the same partition, whichever that is for the first of them.
void Producers::Begin(size_t index) {
  Writer& writer = writers_[index];
  if (IsOver(writer)) {
    const auto& partitions = world_.catalog.partitions();
    if (partitions.size() < 2) return BeginLater(index);
    auto chosen = partitions.begin();
    std::advance(chosen, static_cast<int64_t>(1 + prng_.Below(partitions.size() - 1)));
    writer.partition = chosen->first;
    for (const Writer& other : writers_) {
      if (!writer.name.empty() && other.name == writer.name && !IsOver(other)) {
        writer.partition = other.partition;
      }
    }
  }
  GetId(index, writer.run);
}

void Producers::GetId(size_t index, uint64_t run) {
  Writer& writer = writers_[index];
  if (writer.run != run || writer.stamp.has_value()) return;
  if (stopped_) return;
  if (IsOver(writer)) return BeginLater(index);
  const bool named = !writer.name.empty();
  SimNode& node = ChooseNode(named ? *writer.partition : kMetadataPartition);
  if (node.up()) return named ? Bind(index, run, node) : AskController(index, run, node);
  leaders_.clear();
  world_.queue.After(Pause(), [this, index, run] { GetId(index, run); });
}

void Producers::AskController(size_t index, uint64_t run, SimNode& node) {
  constexpr uint32_t kIdsMax = 3;
  controller::ProducerIdAllocation allocation;
  allocation.count = static_cast<uint32_t>(1 + prng_.Below(kIdsMax));
  allocation.deadline = node.clock().Now() + world_.options.topics.deadline_max;
  const uint64_t call = AddCall(node, index, run, 0);
  node.controller()->AllocateProducerIds(
      allocation,
      [this, call, count = allocation.count](const controller::ControllerResult& result) {
        const std::optional<Call> asked = TakeCall(call);
        if (!asked.has_value()) return;
        NoteLeader(kMetadataPartition, result.hint);
        const bool done = result.error == controller::ControllerError::kNone;
        if (done) world_.producers.OnIds(result.first_producer_id, count);
        Writer& writer = writers_[asked->writer];
        if (writer.run != asked->run) return;
        if (done) {
          writer.stamp = ProducerStamp{result.first_producer_id, 0, 0};
          return Think(asked->writer, asked->run);
        }
        world_.queue.After(Pause(), [this, again = *asked] { GetId(again.writer, again.run); });
      });
}

void Producers::Bind(size_t index, uint64_t run, SimNode& node) {
  const Writer& writer = writers_[index];
  const PartitionId partition = *writer.partition;
  const uint64_t id = AddCall(node, index, run, 0);
  shard::BindProducerCall call;
  call.partition = partition;
  call.name = writer.name;
  call.deadline =
      node.clock().Now() + prng_.Between(Duration(1), world_.options.workload.deadline_max);
  call.done = [this, id, partition, name = writer.name](const shard::BindProducerResult& result) {
    const std::optional<Call> asked = TakeCall(id);
    if (!asked.has_value()) return;
    NoteLeader(partition, result.hint);
    const bool done = result.outcome == AppendResult::Outcome::kCommitted;
    if (done) {
      world_.producers.OnBound(partition,
                               ProducerBinding{name, result.producer_id, result.producer_epoch});
    }
    Writer& own = writers_[asked->writer];
    if (own.run != asked->run) return;
    if (done) {
      own.stamp = ProducerStamp{result.producer_id, result.producer_epoch, 0};
      return Think(asked->writer, asked->run);
    }
    world_.queue.After(Pause(), [this, again = *asked] { GetId(again.writer, again.run); });
  };
  if (node.Post(partition, std::move(call))) return;
  (void)TakeCall(id);
  world_.queue.After(Pause(), [this, index, run] { GetId(index, run); });
}

void Producers::Think(size_t index, uint64_t run) {
  const Duration think = prng_.Between(Duration::zero(), world_.options.workload.think_max);
  world_.queue.After(think, [this, index, run] {
    Writer& writer = writers_[index];
    if (writer.run != run || stopped_) return;
    if (IsOver(writer)) return BeginLater(index);
    // Now and then it forgets itself, as a process does that ends.
    if (prng_.Chance(world_.options.producers.begin_anew_ppm)) return BeginLater(index);
    const auto window = static_cast<size_t>(world_.options.producers.window);
    if (writer.window.size() < window && !IsDropping(index)) Make(index);
    Think(index, run);
  });
}

AppendConditions Producers::DrawConditions(const Writer& writer) {
  const ProducerOptions& options = world_.options.producers;
  const AppendConditions& known = known_[*writer.partition];
  AppendConditions conditions;
  if (conditions_prng_.Chance(options.conditional_ppm)) {
    conditions.expected_offset =
        std::max(writer.window_end, known.expected_offset.value_or(Offset(0)));
  }
  if (conditions_prng_.Chance(options.fenced_ppm)) conditions.leader_epoch = known.leader_epoch;
  return conditions;
}

void Producers::Make(size_t index) {
  Writer& writer = writers_[index];
  const WorkloadOptions& workload = world_.options.workload;
  Batch batch;
  batch.payload = ++last_payload_;
  batch.base_sequence = writer.stamp->base_sequence;
  const int64_t records = prng_.Between(1, workload.records_max);
  RecordsBuilder builder;
  for (int64_t i = 0; i < records; ++i) {
    RecordFields record;
    record.value = EncodePayload(batch.payload,
                                 static_cast<size_t>(prng_.Between(8, workload.payload_bytes_max)));
    builder.Add(record);
  }
  batch.draft = builder.Finish(nodes_.front()->clock().WallTimeMs());
  batch.draft.producer = *writer.stamp;
  batch.conditions = DrawConditions(writer);
  world_.producers.OnMade(batch.payload, *writer.partition, *writer.stamp, batch.draft.record_count,
                          batch.conditions);
  writer.stamp->base_sequence += records;
  const Offset known_end = known_[*writer.partition].expected_offset.value_or(Offset(0));
  writer.window_end = std::max(writer.window_end, known_end) + records;
  writer.window.push_back(std::move(batch));
  Send(index, writer.run, writer.window.back().payload);
}

void Producers::SendLater(size_t index, uint64_t run, uint64_t payload) {
  world_.queue.After(Pause(), [this, index, run, payload] { Send(index, run, payload); });
}

void Producers::Send(size_t index, uint64_t run, uint64_t payload) {
  Writer& writer = writers_[index];
  if (writer.run != run) return;
  if (IsOver(writer)) return BeginLater(index);
  const Batch* batch = Find(writer, payload);
  if (batch == nullptr) return;
  SimNode& node = ChooseNode(*writer.partition);
  if (!node.up()) {
    leaders_.erase(*writer.partition);
    return SendLater(index, run, payload);
  }
  const uint64_t id = AddCall(node, index, run, payload);
  shard::AppendCall call;
  call.partition = *writer.partition;
  call.draft = batch->draft;
  call.expected_offset = batch->conditions.expected_offset;
  call.leader_epoch = batch->conditions.leader_epoch;
  const Duration patience = prng_.Between(Duration(1), world_.options.workload.deadline_max);
  call.deadline = node.clock().Now() + patience;
  call.done = [this, id](const AppendResult& result) { OnSent(id, result); };
  if (!node.Post(call.partition, call)) {
    (void)TakeCall(id);
    return SendLater(index, run, payload);
  }
  calls_.at(id).attempt = world_.producers.OnSent(payload);
  // A client does not wait for a process that sleeps.
  if (world_.options.producers.deposed_ppm == 0) return;
  world_.queue.After(patience, [this, id] { GiveUp(id); });
}

void Producers::GiveUp(uint64_t id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  Call& call = found->second;
  const auto given_up = std::count_if(calls_.begin(), calls_.end(), [&](const auto& entry) {
    return entry.second.given_up && entry.second.writer == call.writer;
  });
  if (given_up >= world_.options.producers.window) return;
  call.given_up = true;
  world_.statistics.Add(Counter::kAttemptsGivenUp);
  Writer& writer = writers_[call.writer];
  Batch* const batch = writer.run == call.run ? Find(writer, call.payload) : nullptr;
  if (batch == nullptr) return;
  batch->unknown = true;
  // It looks for another leader, and will ask this one again.
  deposed_.insert_or_assign(*writer.partition, call.node);
  leaders_.erase(*writer.partition);
  SendLater(call.writer, call.run, call.payload);
}

void Producers::OnSent(uint64_t id, const AppendResult& result) {
  const std::optional<Call> call = TakeCall(id);
  if (!call.has_value()) return;
  world_.tracer.Mix(call->payload << 2 | static_cast<uint64_t>(result.outcome));
  world_.producers.OnAnswer(call->attempt, result);
  Writer& writer = writers_[call->writer];
  if (call->given_up || writer.run != call->run) return;
  NoteLeader(*writer.partition, result.hint);
  if (result.outcome != AppendResult::Outcome::kCommitted) return OnRefused(*call, result);
  const auto batch = std::find_if(writer.window.begin(), writer.window.end(),
                                  [&](const Batch& one) { return one.payload == call->payload; });
  if (batch == writer.window.end()) return;
  NoteEnd(*writer.partition, result.base_offset + batch->draft.record_count);
  writer.window.erase(batch);
}

bool Producers::IsRefusedForGood(const Batch& batch, const AppendResult& result) {
  if (result.refusal == AppendRefusal::kOffsetMismatch) {
    // A committed record is in the way of every attempt; a log that does not reach the offset may
    // be that of a leader of the past.
    return !batch.unknown || result.committed_end > *batch.conditions.expected_offset;
  }
  return result.error == raft::RaftError::kFencedLeaderEpoch && !batch.unknown;
}

void Producers::Drop(Writer& writer, uint64_t payload) {
  writer.window_end = Offset(0);
  while (!writer.window.empty() && writer.window.back().payload >= payload) {
    writer.stamp->base_sequence = writer.window.back().base_sequence;
    writer.window.pop_back();
  }
}

bool Producers::IsDropping(size_t index) const {
  const Writer& writer = writers_[index];
  return std::any_of(calls_.begin(), calls_.end(), [&](const auto& entry) {
    const Call& call = entry.second;
    if (call.writer != index || call.run != writer.run || call.payload == 0) return false;
    return std::none_of(writer.window.begin(), writer.window.end(),
                        [&](const Batch& batch) { return batch.payload == call.payload; });
  });
}

void Producers::OnRefused(const Call& call, const AppendResult& result) {
  Writer& writer = writers_[call.writer];
  Batch* const batch = Find(writer, call.payload);
  if (batch == nullptr) return;
  if (result.outcome == AppendResult::Outcome::kUnknown) batch->unknown = true;
  if (result.refusal == AppendRefusal::kOffsetMismatch) {
    NoteEnd(*writer.partition, result.committed_end);
  }
  if (IsRefusedForGood(*batch, result)) return Drop(writer, call.payload);
  const bool first = !writer.window.empty() && writer.window.front().payload == call.payload;
  const bool fenced = result.refusal == AppendRefusal::kProducerFenced;
  if (fenced && writer.name.empty()) {
    world_.failure.Report("producer", ToText(*writer.partition),
                          " a producer without a name is fenced");
  }
  // Who does not follow although all before it is in the log was forgotten, and begins anew; the
  // others wait for those before them.
  const bool forgotten = first && (result.refusal == AppendRefusal::kUnknownProducer ||
                                   result.refusal == AppendRefusal::kOutOfOrderSequence);
  // The epoch will not come back, and whether the batch is in the log not be known.
  const bool too_late = result.error == raft::RaftError::kFencedLeaderEpoch &&
                        (stopped_ || conditions_prng_.Chance(kGiveUpPpm));
  if (fenced || forgotten || too_late) return BeginLater(call.writer);
  SendLater(call.writer, call.run, call.payload);
}

uint64_t Producers::AddCall(const SimNode& node, size_t writer, uint64_t run, uint64_t payload) {
  calls_.emplace(++last_call_, Call{node.id(), writer, run, payload, 0, false});
  return last_call_;
}

std::optional<Producers::Call> Producers::TakeCall(uint64_t id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return std::nullopt;
  const Call call = found->second;
  calls_.erase(found);
  return call;
}

void Producers::OnStopped(NodeId node) {
  for (auto it = calls_.begin(); it != calls_.end();) {
    if (it->second.node != node) {
      ++it;
      continue;
    }
    const Call call = it->second;
    it = calls_.erase(it);
    if (call.attempt != 0) world_.producers.OnLost(call.attempt);
    if (call.given_up) continue;
    if (call.payload != 0) {
      Batch* const batch = Find(writers_[call.writer], call.payload);
      if (batch != nullptr) batch->unknown = true;
      SendLater(call.writer, call.run, call.payload);
    } else {
      world_.queue.After(Pause(), [this, call] { GetId(call.writer, call.run); });
    }
  }
}

std::string Producers::WhatIsMissing() const {
  for (const Writer& writer : writers_) {
    if (writer.window.empty() || IsOver(writer)) continue;
    return absl::StrCat("a batch of a producer in ", ToText(*writer.partition), " finds no place");
  }
  return calls_.empty() ? "" : absl::StrCat(calls_.size(), " calls of producers are not answered");
}

}  // namespace quorum::sim
