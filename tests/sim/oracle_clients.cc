#include "tests/sim/oracle_clients.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "service/base/record_codec.h"

namespace quorum::sim {
namespace {

constexpr size_t kDigits = 16;

}  // namespace

std::string EncodePayload(uint64_t attempt, size_t size) {
  std::string payload = absl::StrCat(absl::Hex(attempt, absl::kZeroPad16));
  payload.resize(std::max(size, kDigits), '.');
  return payload;
}

uint64_t DecodePayload(const std::string& payload) {
  uint64_t attempt = 0;
  if (payload.size() < kDigits) return 0;
  return absl::SimpleHexAtoi(payload.substr(0, kDigits), &attempt) ? attempt : 0;
}

void ClientOracle::OnAppendSent(uint64_t attempt, PartitionId partition, int records,
                                const AppendConditions& conditions) {
  Attempt sent;
  sent.partition = partition;
  sent.records = records;
  sent.conditions = conditions;
  sent.sent_at = oracle_.Committed(partition).end();
  attempts_.emplace(attempt, sent);
}

void ClientOracle::OnAppendDone(uint64_t id, const shard::AppendResult& result) {
  Attempt& attempt = attempts_.at(id);
  if (attempt.outcome != Outcome::kPending) {
    failure_.Report("I9", ToText(attempt.partition), " append ", id, " is answered twice");
    return;
  }
  switch (result.outcome) {
    case shard::AppendResult::Outcome::kCommitted:
      attempt.outcome = Outcome::kCommitted;
      attempt.base_offset = result.base_offset;
      attempt.epoch = result.epoch;
      acknowledged_.push_back(id);
      statistics_.Add(Counter::kAppendsCommitted);
      return;
    case shard::AppendResult::Outcome::kRefused:
      attempt.outcome = Outcome::kRefused;
      if (result.refusal == shard::AppendRefusal::kOffsetMismatch) {
        mismatched_.emplace_back(id, result);
      }
      statistics_.Add(Counter::kAppendsRefused);
      return;
    case shard::AppendResult::Outcome::kUnknown:
      OnAppendLost(id);
      return;
  }
}

void ClientOracle::OnAppendLost(uint64_t id) {
  attempts_.at(id).outcome = Outcome::kUnknown;
  statistics_.Add(Counter::kAppendsUnknown);
}

void ClientOracle::OnRead(NodeId node, PartitionId partition, Offset from,
                          const shard::ReadResult& result) {
  shown_.push_back(Shown{node, partition, from, result});
}

void ClientOracle::OnDescribe(NodeId node, const shard::PartitionDescription& description) {
  statistics_.Add(Counter::kDescribes);
  const auto& partitions = oracle_.partitions();
  const auto partition = partitions.find(description.partition);
  if (partition == partitions.end() || !description.hint.leader.has_value()) return;
  const auto led = partition->second.leaders.find(description.hint.epoch);
  if (led != partition->second.leaders.end() && led->second.leader == *description.hint.leader) {
    return;
  }
  failure_.Report("I1", ToText(description.partition), " node ", node.value(), " names ",
                  ToText(*description.hint.leader), " as leader of epoch ",
                  description.hint.epoch.value());
}

void ClientOracle::AfterRound() {
  for (const uint64_t id : acknowledged_) CheckAcknowledged(id, attempts_.at(id));
  acknowledged_.clear();
  for (const auto& [id, result] : mismatched_) CheckMismatch(attempts_.at(id), result);
  mismatched_.clear();
  for (const Shown& shown : shown_) CheckShown(shown);
  shown_.clear();
}

void ClientOracle::CheckAcknowledged(uint64_t id, const Attempt& attempt) {
  const RecordBatch* batch = oracle_.Committed(attempt.partition).StartingAt(attempt.base_offset);
  if (batch == nullptr || batch->epoch() != attempt.epoch ||
      batch->record_count() != static_cast<uint32_t>(attempt.records)) {
    failure_.Report("I9", ToText(attempt.partition), " append ", id, " is acknowledged at ",
                    attempt.base_offset.value(), " of epoch ", attempt.epoch.value(),
                    " and is not committed there");
  }
  if (attempt.base_offset < attempt.sent_at) {
    failure_.Report("I18", ToText(attempt.partition), " append ", id, " was sent when ",
                    attempt.sent_at.value(), " was committed, and lies at ",
                    attempt.base_offset.value());
  }
  CheckConditions(id, attempt);
}

void ClientOracle::CheckConditions(uint64_t id, const Attempt& attempt) {
  if (attempt.conditions.expected_offset.has_value()) statistics_.Add(Counter::kConditionsMet);
  const std::string why = WhyNotThere(attempt.conditions, oracle_.Committed(attempt.partition),
                                      attempt.base_offset, attempt.epoch);
  if (why.empty()) return;
  failure_.Report("condition", ToText(attempt.partition), " append ", id, " ", why);
}

void ClientOracle::CheckMismatch(const Attempt& attempt, const shard::AppendResult& result) {
  statistics_.Add(Counter::kConditionsMissed);
  const std::string why = WhyNoMismatch(*attempt.conditions.expected_offset,
                                        oracle_.Committed(attempt.partition), result);
  if (!why.empty()) failure_.Report("condition", ToText(attempt.partition), " ", why);
}

void ClientOracle::CheckShown(const Shown& shown) {
  const ReplicaLog& committed = oracle_.Committed(shown.partition);
  const shard::ReadResult& result = shown.result;
  if (result.exposed > committed.end()) {
    failure_.Report("I14", ToText(shown.partition), " node ", shown.node.value(), " shows up to ",
                    result.exposed.value(), "; committed is ", committed.end().value());
  }
  Offset next = shown.from;
  for (const RecordBatch& batch : result.batches) {
    statistics_.Add(Counter::kBatchesRead);
    const bool first = next == shown.from && batch.base_offset() <= next;
    const RecordBatch* known = committed.StartingAt(batch.base_offset());
    if (!first && batch.base_offset() != next) {
      failure_.Report("I14", ToText(shown.partition), " node ", shown.node.value(),
                      " leaves out the records from ", next.value());
    } else if (known == nullptr || !IsSame(*known, batch)) {
      failure_.Report("I14", ToText(shown.partition), " node ", shown.node.value(),
                      " shows a record at ", batch.base_offset().value(),
                      " that is not the committed one");
    }
    next = batch.next_offset();
  }
  if (!result.batches.empty() && result.next != next) {
    failure_.Report("I14", ToText(shown.partition), " the next offset is not behind the records");
  }
}

void ClientOracle::Account(PartitionId partition, const RecordBatch& batch) {
  // What has a producer is accounted for by the ProducerOracle.
  if (batch.control() || batch.producer().has_value()) return;
  const auto records = DecodeRecords(batch);
  if (!records.ok()) {
    failure_.Report("I18", ToText(partition), " the records at ", batch.base_offset().value(),
                    " cannot be read");
    return;
  }
  const uint64_t id = DecodePayload(records->front().fields.value.value_or(""));
  const auto found = attempts_.find(id);
  if (found == attempts_.end() || found->second.partition != partition) {
    failure_.Report("I18", ToText(partition), " nobody sent the record at ",
                    batch.base_offset().value());
    return;
  }
  Attempt& attempt = found->second;
  ++attempt.found;
  if (attempt.outcome == Outcome::kCommitted && attempt.base_offset != batch.base_offset()) {
    failure_.Report("I18", ToText(partition), " append ", id, " was acknowledged at ",
                    attempt.base_offset.value(), " and lies at ", batch.base_offset().value());
  }
  if (attempt.outcome != Outcome::kUnknown) return;
  attempt.base_offset = batch.base_offset();
  attempt.epoch = batch.epoch();
  CheckConditions(id, attempt);
}

void ClientOracle::CheckOutcome(uint64_t id, const Attempt& attempt) {
  switch (attempt.outcome) {
    case Outcome::kPending:
      failure_.Report("liveness", ToText(attempt.partition), " append ", id, " was never answered");
      return;
    case Outcome::kCommitted:
      if (attempt.found == 1) return;
      failure_.Report("I18", ToText(attempt.partition), " append ", id,
                      " was acknowledged and is in the log ", attempt.found, " times");
      return;
    case Outcome::kRefused:
      if (attempt.found == 0) return;
      failure_.Report("I9", ToText(attempt.partition), " append ", id,
                      " was refused and is in the log");
      return;
    case Outcome::kUnknown:
      statistics_.Add(attempt.found > 0 ? Counter::kUnknownCommitted : Counter::kUnknownLost);
      if (attempt.found <= 1) return;
      failure_.Report("I18", ToText(attempt.partition), " append ", id, " is in the log ",
                      attempt.found, " times");
      return;
  }
}

void ClientOracle::Finish() {
  for (const auto& [partition, view] : oracle_.partitions()) {
    // The records of the catalog are the controller's own.
    if (partition == kMetadataPartition) continue;
    for (size_t i = 0; i < view.committed.size(); ++i) Account(partition, view.committed[i]);
  }
  for (const auto& [id, attempt] : attempts_) CheckOutcome(id, attempt);
}

}  // namespace quorum::sim
