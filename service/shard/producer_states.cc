#include "service/shard/producer_states.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "service/base/check.h"
#include "service/base/plant.h"

namespace quorum::shard {
namespace {

bool IsNamed(int64_t id) { return id >= kNamedProducerIds; }

const ProducerBatch* FindBatch(const ProducerState& producer, const ProducerStamp& stamp,
                               uint32_t record_count) {
  const auto found = std::find_if(
      producer.batches.begin(), producer.batches.end(), [&](const ProducerBatch& batch) {
        return batch.epoch == stamp.epoch && batch.base_sequence == stamp.base_sequence &&
               batch.record_count == record_count;
      });
  return found == producer.batches.end() ? nullptr : &*found;
}

ProducerVerdict Duplicate(const ProducerBatch& batch) {
  ProducerVerdict verdict;
  verdict.kind = ProducerVerdict::Kind::kDuplicate;
  verdict.base_offset = batch.base_offset;
  verdict.rests_on = batch.base_offset + batch.record_count;
  return verdict;
}

}  // namespace

ProducerStates::ProducerStates(const ProducerLimits& limits, StoredProducers stored)
    : limits_(limits),
      expiry_ms_(std::chrono::duration_cast<std::chrono::milliseconds>(limits.expiry).count()),
      committed_(stored.summary),
      end_(stored.summary) {
  CHECK_GE(limits_.producers_max, 1u);
  CHECK_GE(expiry_ms_, 1);
  for (ProducerState& producer : stored.producers) {
    const int64_t id = producer.id;
    Set(id, std::move(producer));
  }
}

ProducerVerdict ProducerStates::Judge(const ProducerStamp& stamp, uint32_t record_count) const {
  using Kind = ProducerVerdict::Kind;
  ProducerVerdict verdict;
  const ProducerState* producer = Find(stamp.id);
  if (producer == nullptr) {
    verdict.rests_on = RestsOn(stamp.id);
    const bool begins = stamp.base_sequence == 0 && !IsNamed(stamp.id);
    verdict.kind = begins ? Kind::kNew : Kind::kUnknownProducer;
    return verdict;
  }
  const ProducerBatch* batch = FindBatch(*producer, stamp, record_count);
  if (batch != nullptr) return Duplicate(*batch);
  verdict.epoch = producer->epoch;
  verdict.expected_sequence = stamp.epoch == producer->epoch ? producer->next_sequence : 0;
  if (stamp.epoch < producer->epoch) {
    verdict.kind = Kind::kFenced;
  } else if (stamp.epoch > producer->epoch && !producer->name.empty()) {
    // Only a binding raises the epoch of a name: this one was never given out.
    verdict.kind = Kind::kUnknownProducer;
  } else if (stamp.base_sequence != verdict.expected_sequence) {
    verdict.kind = Kind::kOutOfOrder;
  } else {
    return verdict;
  }
  verdict.rests_on = RestsOn(stamp.id);
  return verdict;
}

std::optional<Offset> ProducerStates::WhyNotExpected(Offset expected) const {
  if (expected > end_.offset) return end_.offset;
  if (end_.data_end <= expected) return std::nullopt;
  if (committed_.data_end > expected) return committed_.data_end;
  for (const Step& step : overlay_) {
    if (!step.control && step.after.offset > expected) return step.after.offset;
  }
  return end_.offset;
}

ProducerBinding ProducerStates::NextBinding(const std::string& name, Offset offset) const {
  const auto known = names_.find(name);
  if (known != names_.end()) {
    const ProducerState& producer = producers_.at(known->second);
    if (producer.epoch < std::numeric_limits<int32_t>::max()) {
      return ProducerBinding{name, producer.id, producer.epoch + 1};
    }
  }
  return ProducerBinding{name, kNamedProducerIds + offset.value(), 0};
}

void ProducerStates::Note(const BatchHeader& batch) {
  CHECK_GE(batch.base_offset, end_.offset);
  end_.offset = batch.next_offset;
  end_.timestamp_ms = std::max(end_.timestamp_ms, batch.base_timestamp_ms);
  if (!batch.control) end_.data_end = batch.next_offset;
  Step step;
  step.control = batch.control;
  step.after = end_;
  if (batch.producer.has_value()) Apply(*batch.producer, batch, &step);
  for (const auto& [offset, binding] : batch.bindings) Apply(offset, binding, &step);
  Forget(&step);
  overlay_.push_back(std::move(step));
}

void ProducerStates::Apply(const ProducerStamp& stamp, const BatchHeader& batch, Step* step) {
  const ProducerState* known = Find(stamp.id);
  ProducerState producer = known == nullptr ? ProducerState{} : *known;
  producer.id = stamp.id;
  producer.epoch = std::max(producer.epoch, stamp.epoch);
  producer.next_sequence = stamp.base_sequence + batch.record_count();
  producer.last_offset = batch.base_offset;
  producer.last_timestamp_ms = end_.timestamp_ms;
  if (producer.batches.size() == kProducerBatchesMax) {
    producer.batches.erase(producer.batches.begin());
  }
  producer.batches.push_back(
      ProducerBatch{stamp.epoch, stamp.base_sequence, batch.record_count(), batch.base_offset});
  Replace(stamp.id, std::move(producer), step);
}

void ProducerStates::Apply(Offset offset, const ProducerBinding& binding, Step* step) {
  const auto bound = names_.find(binding.name);
  if (bound != names_.end() && bound->second != binding.producer_id) {
    // The name has used up the epochs of its old id, which nobody may use from here on.
    Replace(bound->second, std::nullopt, step);
  }
  const ProducerState* known = Find(binding.producer_id);
  // The last batches stay: a retry of one is told that it is in the log, fenced or not.
  ProducerState producer = known == nullptr ? ProducerState{} : *known;
  producer.id = binding.producer_id;
  producer.epoch = binding.producer_epoch;
  producer.next_sequence = 0;
  producer.name = binding.name;
  producer.last_offset = offset;
  producer.last_timestamp_ms = end_.timestamp_ms;
  Replace(binding.producer_id, std::move(producer), step);
}

void ProducerStates::Forget(Step* step) {
  while (!by_age_.empty()) {
    const int64_t id = by_age_.begin()->second;
    const ProducerState& oldest = producers_.at(id);
    const bool expired = end_.timestamp_ms - oldest.last_timestamp_ms >= expiry_ms_;
    if (!expired && producers_.size() <= limits_.producers_max) return;
    Replace(id, std::nullopt, step);
  }
}

void ProducerStates::Replace(int64_t id, std::optional<ProducerState> after, Step* step) {
  const ProducerState* before = Find(id);
  Change change;
  change.id = id;
  if (before != nullptr) change.before = *before;
  change.after = after;
  step->changes.push_back(std::move(change));
  Set(id, std::move(after));
}

void ProducerStates::Set(int64_t id, std::optional<ProducerState> state) {
  const auto known = producers_.find(id);
  if (known != producers_.end()) {
    by_age_.erase({known->second.last_offset, id});
    const auto name = names_.find(known->second.name);
    if (name != names_.end() && name->second == id) names_.erase(name);
  }
  if (!state.has_value()) {
    if (known != producers_.end()) producers_.erase(known);
    return;
  }
  by_age_.emplace(state->last_offset, id);
  if (!state->name.empty()) names_[state->name] = id;
  if (known != producers_.end()) {
    known->second = *std::move(state);
  } else {
    producers_.emplace(id, *std::move(state));
  }
}

void ProducerStates::TruncateTo(Offset end) {
  while (!overlay_.empty() && overlay_.back().after.offset > end) {
    Step& step = overlay_.back();
    for (auto change = step.changes.rbegin(); change != step.changes.rend(); ++change) {
      if (!Planted(Plant::kM44)) Set(change->id, std::move(change->before));
    }
    overlay_.pop_back();
  }
  // Below what is committed nothing is ever cut; a log that is, all the same, ends there.
  end_ = overlay_.empty() ? committed_ : overlay_.back().after;
  end_.offset = std::min(end_.offset, end);
}

void ProducerStates::Commit(Offset offset) {
  while (!overlay_.empty() && overlay_.front().after.offset <= offset) {
    for (Change& change : overlay_.front().changes) {
      unwritten_[change.id] = std::move(change.after);
    }
    committed_ = overlay_.front().after;
    overlay_.pop_front();
  }
}

ProducerStates::Unwritten ProducerStates::TakeUnwritten() {
  Unwritten unwritten;
  unwritten.summary = committed_;
  for (auto& [id, state] : unwritten_) {
    if (state.has_value()) {
      unwritten.changed.push_back(*std::move(state));
    } else {
      unwritten.removed.push_back(id);
    }
  }
  unwritten_.clear();
  return unwritten;
}

const ProducerState* ProducerStates::Find(int64_t id) const {
  const auto found = producers_.find(id);
  return found == producers_.end() ? nullptr : &found->second;
}

Offset ProducerStates::RestsOn(int64_t id) const {
  for (auto step = overlay_.rbegin(); step != overlay_.rend(); ++step) {
    for (const Change& change : step->changes) {
      if (change.id == id) return step->after.offset;
    }
  }
  return Offset(0);
}

}  // namespace quorum::shard
