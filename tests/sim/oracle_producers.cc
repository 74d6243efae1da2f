#include "tests/sim/oracle_producers.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "service/base/record_codec.h"
#include "tests/sim/oracle_clients.h"

namespace quorum::sim {

ProducerOracle::ProducerOracle(Failure* failure, Statistics* statistics, Oracle* oracle,
                               Duration expiry)
    : failure_(*failure),
      statistics_(*statistics),
      oracle_(*oracle),
      expiry_ms_(std::chrono::duration_cast<std::chrono::milliseconds>(expiry).count()) {}

void ProducerOracle::OnIds(int64_t first, uint32_t count) {
  statistics_.Add(Counter::kProducerIds, count);
  const auto next = ids_.upper_bound(first);
  const bool above = next == ids_.end() || next->first >= first + count;
  const bool below = next == ids_.begin() || std::prev(next)->second <= first;
  if (!above || !below) failure_.Report("producer", "id ", first, " is given a second time");
  ids_[first] = first + count;
}

void ProducerOracle::OnMade(uint64_t payload, PartitionId partition, const ProducerStamp& stamp,
                            uint32_t records, const AppendConditions& conditions) {
  Made made;
  made.conditions = conditions;
  made.forgotten_before = Advance(partition).forgotten[stamp.id];
  made.partition = partition;
  made.stamp = stamp;
  made.records = records;
  sequences_[{stamp.id, stamp.epoch}].insert(stamp.base_sequence);
  made_.emplace(payload, made);
}

uint64_t ProducerOracle::OnSent(uint64_t payload) {
  Made& made = made_.at(payload);
  ++made.open;
  Model& model = Advance(made.partition);
  Attempt attempt;
  attempt.payload = payload;
  attempt.found = made.found.has_value();
  attempt.follows = Follows(model, made.stamp);
  attempt.forgotten = model.forgotten[made.stamp.id];
  attempt.told_end = model.told_end;
  attempts_.emplace(++last_attempt_, attempt);
  return last_attempt_;
}

void ProducerOracle::OnAnswer(uint64_t attempt, const shard::AppendResult& result) {
  answers_.push_back(Answer{attempts_.at(attempt), result});
  attempts_.erase(attempt);
}

void ProducerOracle::OnLost(uint64_t attempt) { attempts_.erase(attempt); }

void ProducerOracle::OnBound(PartitionId partition, const ProducerBinding& binding) {
  bindings_.emplace_back(partition, binding);
}

void ProducerOracle::AfterRound() {
  for (const Answer& answer : answers_) CheckAnswer(answer);
  answers_.clear();
  for (const auto& [partition, binding] : bindings_) {
    statistics_.Add(Counter::kBindings);
    const Model& model = Advance(partition);
    const bool known =
        model.bindings.count({binding.name, binding.producer_id, binding.producer_epoch}) > 0;
    const bool first =
        bound_.emplace(partition, binding.producer_id, binding.producer_epoch).second;
    if (known && first) continue;
    failure_.Report("producer", ToText(partition), " ", binding.name, " is bound to epoch ",
                    binding.producer_epoch, " of ", binding.producer_id,
                    known ? " a second time" : ", which is not committed");
  }
  bindings_.clear();
}

void ProducerOracle::Finish() {
  for (auto& [payload, made] : made_) {
    Model& model = Advance(made.partition);
    if (!made.found.has_value()) continue;
    const bool forgotten = model.forgotten[made.stamp.id] > made.forgotten_before;
    const bool too_late = made.too_late && !forgotten;
    if (made.open > 0 && !too_late) continue;
    failure_.Report("I9", ToText(made.partition), " a batch of producer ", made.stamp.id,
                    " sequence ", made.stamp.base_sequence, " was refused and is in the log at ",
                    made.found->value());
  }
}

ProducerOracle::Model& ProducerOracle::Advance(PartitionId partition) {
  Model& model = models_[partition];
  const ReplicaLog& log = oracle_.Committed(partition);
  for (; model.taken < log.size(); ++model.taken) Take(partition, model, log[model.taken]);
  return model;
}

void ProducerOracle::Take(PartitionId partition, Model& model, const RecordBatch& batch) {
  const auto header = HeaderOf(batch);
  if (!header.ok()) {
    failure_.Report("producer", ToText(partition), " the batch at ", batch.base_offset().value(),
                    " cannot be read");
    return;
  }
  model.timestamp_ms = std::max(model.timestamp_ms, header->base_timestamp_ms);
  if (header->producer.has_value()) {
    CheckMade(partition, batch);
    TakeStamp(partition, model, *header);
  }
  for (const auto& [offset, binding] : header->bindings) {
    TakeBinding(partition, model, offset, binding);
  }
  for (auto it = model.producers.begin(); it != model.producers.end();) {
    const bool expired = model.timestamp_ms - it->second.last_timestamp_ms >= expiry_ms_;
    if (expired) {
      statistics_.Add(Counter::kProducersForgotten);
      ++model.forgotten[it->first];
    }
    it = expired ? model.producers.erase(it) : std::next(it);
  }
}

bool ProducerOracle::Follows(const Model& model, const ProducerStamp& stamp) {
  const auto known = model.producers.find(stamp.id);
  if (known == model.producers.end()) {
    return stamp.base_sequence == 0 && stamp.id < kNamedProducerIds;
  }
  if (stamp.epoch == known->second.epoch) return stamp.base_sequence == known->second.next_sequence;
  return stamp.epoch > known->second.epoch && known->second.name.empty() &&
         stamp.base_sequence == 0;
}

void ProducerOracle::TakeStamp(PartitionId partition, Model& model, const BatchHeader& batch) {
  const ProducerStamp& stamp = *batch.producer;
  if (!Follows(model, stamp)) {
    const auto known = model.producers.find(stamp.id);
    const bool fenced = known != model.producers.end() && stamp.epoch < known->second.epoch;
    failure_.Report("producer", ToText(partition), " the batch at ", batch.base_offset.value(),
                    " of producer ", stamp.id, " epoch ", stamp.epoch, " sequence ",
                    stamp.base_sequence, fenced ? " comes after its fence" : " does not follow");
  }
  Known& known = model.producers[stamp.id];
  known.epoch = stamp.epoch;
  known.next_sequence = stamp.base_sequence + batch.record_count();
  known.last_timestamp_ms = model.timestamp_ms;
}

void ProducerOracle::TakeBinding(PartitionId partition, Model& model, Offset offset,
                                 const ProducerBinding& binding) {
  const auto named =
      std::find_if(model.producers.begin(), model.producers.end(),
                   [&](const auto& entry) { return entry.second.name == binding.name; });
  const bool next =
      named == model.producers.end()
          ? binding.producer_id == kNamedProducerIds + offset.value() && binding.producer_epoch == 0
          : binding.producer_id == named->first &&
                binding.producer_epoch == named->second.epoch + 1;
  if (!next) {
    failure_.Report("producer", ToText(partition), " ", binding.name, " is bound at ",
                    offset.value(), " to epoch ", binding.producer_epoch, " of ",
                    binding.producer_id, ", which is not the next");
  }
  model.bindings.emplace(binding.name, binding.producer_id, binding.producer_epoch);
  model.producers[binding.producer_id] =
      Known{binding.producer_epoch, 0, model.timestamp_ms, binding.name};
}

void ProducerOracle::CheckMade(PartitionId partition, const RecordBatch& batch) {
  const auto records = DecodeRecords(batch);
  const uint64_t payload =
      records.ok() ? DecodePayload(records->front().fields.value.value_or("")) : 0;
  const auto made = made_.find(payload);
  if (made == made_.end() || made->second.partition != partition ||
      !(made->second.stamp == *batch.producer()) || made->second.records != batch.record_count()) {
    failure_.Report("producer", ToText(partition), " nobody made the batch at ",
                    batch.base_offset().value());
    return;
  }
  made->second.found = batch.base_offset();
  const std::string why = WhyNotThere(made->second.conditions, oracle_.Committed(partition),
                                      batch.base_offset(), batch.epoch());
  if (why.empty()) return;
  failure_.Report("condition", ToText(partition), " a batch of producer ", made->second.stamp.id,
                  " ", why);
}

void ProducerOracle::CheckAnswer(const Answer& answer) {
  const Attempt& attempt = answer.attempt;
  Made& made = made_.at(attempt.payload);
  const bool conditional = made.conditions.any();
  switch (answer.result.outcome) {
    case shard::AppendResult::Outcome::kCommitted:
      if (answer.result.duplicate) {
        statistics_.Add(Counter::kDuplicatesTold);
        if (conditional) statistics_.Add(Counter::kConditionalDuplicatesTold);
      } else {
        statistics_.Add(Counter::kProducerBatches);
        if (conditional) statistics_.Add(Counter::kConditionalBatches);
      }
      return CheckCommitted(made, attempt.payload, answer.result);
    case shard::AppendResult::Outcome::kRefused:
      --made.open;
      return CheckRefused(attempt, made, answer.result);
    case shard::AppendResult::Outcome::kUnknown:
      return;
  }
}

void ProducerOracle::CheckCommitted(const Made& made, uint64_t payload,
                                    const shard::AppendResult& result) {
  const RecordBatch* batch = oracle_.Committed(made.partition).StartingAt(result.base_offset);
  if (batch != nullptr && batch->producer() == made.stamp && batch->epoch() == result.epoch) {
    const auto records = DecodeRecords(*batch);
    if (records.ok() && DecodePayload(records->front().fields.value.value_or("")) == payload) {
      Offset& told_end = models_[made.partition].told_end;
      told_end = std::max(told_end, batch->next_offset());
      return;
    }
  }
  const std::string there =
      batch == nullptr ? "nothing"
      : !batch->producer().has_value()
          ? "another batch"
          : absl::StrCat("producer ", batch->producer()->id, " sequence ",
                         batch->producer()->base_sequence, " of epoch ", batch->epoch().value());
  failure_.Report("I9", ToText(made.partition), " a batch of producer ", made.stamp.id,
                  " sequence ", made.stamp.base_sequence, " is acknowledged at ",
                  result.base_offset.value(), " of epoch ", result.epoch.value(),
                  result.duplicate ? " as a duplicate" : "", "; committed there is ", there);
}

bool ProducerOracle::IsFarBehind(const Made& made) const {
  const std::set<int64_t>& sequences = sequences_.at({made.stamp.id, made.stamp.epoch});
  const auto behind =
      std::distance(sequences.upper_bound(made.stamp.base_sequence), sequences.end());
  return static_cast<size_t>(behind) >= kProducerBatchesMax;
}

void ProducerOracle::CheckRefused(const Attempt& attempt, Made& made,
                                  const shard::AppendResult& result) {
  if (result.error == raft::RaftError::kFencedLeaderEpoch) {
    return CheckFencedEpoch(attempt, made, result);
  }
  if (result.refusal == shard::AppendRefusal::kNone) return;
  if (result.refusal == shard::AppendRefusal::kOffsetMismatch) {
    return CheckMismatch(attempt, made, result);
  }
  Model& model = Advance(made.partition);
  const auto known = model.producers.find(made.stamp.id);
  if (result.refusal == shard::AppendRefusal::kProducerFenced) {
    statistics_.Add(Counter::kProducersFenced);
    const bool fenced = known != model.producers.end() && known->second.epoch > made.stamp.epoch;
    if (fenced || model.forgotten[made.stamp.id] > attempt.forgotten) return;
    failure_.Report("producer", ToText(made.partition), " producer ", made.stamp.id,
                    " is called fenced in epoch ", made.stamp.epoch, ", and is not");
    return;
  }
  // It followed all the time, and the producer was never forgotten.
  if (!attempt.follows || !Follows(model, made.stamp)) return;
  if (model.forgotten[made.stamp.id] > attempt.forgotten) return;
  failure_.Report("producer", ToText(made.partition), " producer ", made.stamp.id, " epoch ",
                  made.stamp.epoch, " sequence ", made.stamp.base_sequence,
                  " is refused, and follows the log");
}

void ProducerOracle::CheckMismatch(const Attempt& attempt, Made& made,
                                   const shard::AppendResult& result) {
  statistics_.Add(Counter::kConditionalBatchesRefused);
  Model& model = Advance(made.partition);
  if (!made.conditions.expected_offset.has_value()) {
    failure_.Report("condition", ToText(made.partition), " a batch without a condition misses it");
    return;
  }
  const Offset expected = *made.conditions.expected_offset;
  const std::string why = WhyNoMismatch(expected, oracle_.Committed(made.partition), result);
  if (!why.empty()) failure_.Report("condition", ToText(made.partition), " ", why);
  if (result.committed_end < attempt.told_end) {
    failure_.Report("condition", ToText(made.partition), " the committed end is said to be ",
                    result.committed_end.value(), "; ", attempt.told_end.value(),
                    " had been told before this was asked");
  }
  model.told_end = std::max(model.told_end, result.committed_end);
  const bool too_late = result.committed_end > expected;
  made.too_late |= too_late;
  if (!attempt.found || model.forgotten[made.stamp.id] > made.forgotten_before) return;
  failure_.Report("condition", ToText(made.partition), " a batch of producer ", made.stamp.id,
                  " sequence ", made.stamp.base_sequence, " lies at ", made.found->value(),
                  "; its retry is told that the log is not as expected");
}

bool ProducerOracle::IsDeposed(PartitionId partition, const shard::AppendResult& result) const {
  const auto& leaders = oracle_.partitions().at(partition).leaders;
  return !leaders.empty() && result.hint.epoch < leaders.rbegin()->first;
}

void ProducerOracle::CheckFencedEpoch(const Attempt& attempt, const Made& made,
                                      const shard::AppendResult& result) {
  statistics_.Add(Counter::kBatchesOfOldEpochs);
  Model& model = Advance(made.partition);
  if (made.conditions.leader_epoch.value_or(result.hint.epoch) >= result.hint.epoch) {
    failure_.Report("condition", ToText(made.partition), " a batch is refused in epoch ",
                    result.hint.epoch.value(), " as if it were for an older one");
  }
  if (!attempt.found || IsDeposed(made.partition, result) || IsFarBehind(made)) return;
  // After its producer's newest epoch began, a leader may have forgotten the batch.
  const auto known = model.producers.find(made.stamp.id);
  if (known == model.producers.end() || known->second.epoch != made.stamp.epoch) return;
  if (model.forgotten[made.stamp.id] > made.forgotten_before) return;
  failure_.Report("condition", ToText(made.partition), " a batch of producer ", made.stamp.id,
                  " sequence ", made.stamp.base_sequence, " lies at ", made.found->value(),
                  "; its retry is told that its epoch is over");
}

}  // namespace quorum::sim
