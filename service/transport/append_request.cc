#include "service/transport/append_request.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/record_codec.h"

namespace quorum::transport {
namespace {

RecordFields FieldsOf(const v1::Record& record) {
  RecordFields fields;
  if (record.has_key()) fields.key = record.key();
  if (record.has_value()) fields.value = record.value();
  for (const v1::Header& header : record.headers()) {
    RecordHeader& added = fields.headers.emplace_back();
    added.name = header.name();
    if (header.has_value()) added.value = header.value();
  }
  if (record.has_timestamp_ms()) fields.timestamp_ms = record.timestamp_ms();
  return fields;
}

bool HasNamelessHeader(const v1::Record& record) {
  for (const v1::Header& header : record.headers()) {
    if (header.name().empty()) return true;
  }
  return false;
}

CallError TooLarge(const std::string& what, size_t limit, size_t size) {
  return CallError(v1::ERROR_REASON_RECORD_TOO_LARGE,
                   absl::StrCat(what, " takes ", size, " bytes; the limit is ", limit))
      .With("limit", static_cast<int64_t>(limit))
      .With("size", static_cast<int64_t>(size))
      .WithField("records", absl::StrCat("more than ", limit, " bytes"))
      .Refused();
}

std::optional<CallError> CheckProducer(const v1::ProducerStamp& producer, int records) {
  if (!producer.has_producer_id() || producer.producer_id() < 0) {
    return InvalidField("producer.producer_id", "is required, and at least 0").Refused();
  }
  if (!producer.has_producer_epoch() || producer.producer_epoch() < 0) {
    return InvalidField("producer.producer_epoch", "is required, and at least 0").Refused();
  }
  if (!producer.has_base_sequence() || producer.base_sequence() < 0 ||
      producer.base_sequence() > kSequenceLimit - records) {
    return InvalidField("producer.base_sequence",
                        "is required; all sequence numbers must be in [0, 2^62)")
        .Refused();
  }
  return std::nullopt;
}

}  // namespace

AppendEntry EntryOf(const v1::AppendRequest& request) {
  AppendEntry entry{request.topic(), {}, request.records(), {}, {}};
  if (request.has_partition()) entry.partition = request.partition();
  if (request.has_leader_epoch()) entry.leader_epoch = request.leader_epoch();
  if (request.has_expected_offset()) entry.expected_offset = request.expected_offset();
  if (request.has_producer()) entry.producer = &request.producer();
  return entry;
}

AppendEntry EntryOf(const std::string& topic, const v1::AppendBatchRequest::Partition& partition) {
  AppendEntry entry{topic, {}, partition.records(), {}, {}};
  if (partition.has_partition()) entry.partition = partition.partition();
  if (partition.has_leader_epoch()) entry.leader_epoch = partition.leader_epoch();
  if (partition.has_expected_offset()) entry.expected_offset = partition.expected_offset();
  if (partition.has_producer()) entry.producer = &partition.producer();
  return entry;
}

std::optional<CallError> CheckEntry(const AppendEntry& entry) {
  if (entry.topic.empty()) return InvalidField("topic", "is required").Refused();
  if (!entry.partition.has_value()) {
    return InvalidField("partition", "is required, also when it is 0").Refused();
  }
  if (entry.records.empty()) return InvalidField("records", "at least one is required").Refused();
  if (entry.leader_epoch.has_value() &&
      (*entry.leader_epoch < 1 || Epoch(*entry.leader_epoch) >= kEpochLimit)) {
    return InvalidField("leader_epoch", "must be in [1, 2^62)").Refused();
  }
  if (entry.expected_offset.has_value() &&
      (*entry.expected_offset < 0 || Offset(*entry.expected_offset) > kOffsetLimit)) {
    return InvalidField("expected_offset", "must be in [0, 2^62]").Refused();
  }
  if (entry.producer != nullptr) return CheckProducer(*entry.producer, entry.records.size());
  return std::nullopt;
}

std::variant<BatchDraft, CallError> EncodeRecords(const AppendEntry& entry,
                                                  const ClientLimits& limits, int64_t now_ms) {
  if (static_cast<size_t>(entry.records.size()) > limits.batch_records_max) {
    return InvalidField("records", absl::StrCat("at most ", limits.batch_records_max)).Refused();
  }
  RecordsBuilder builder;
  for (const v1::Record& record : entry.records) {
    if (HasNamelessHeader(record)) {
      return InvalidField("records.headers.name", "must not be empty").Refused();
    }
    const size_t before = builder.size_bytes();
    builder.Add(FieldsOf(record));
    const size_t size = builder.size_bytes() - before;
    if (size > limits.record_bytes_max) {
      return TooLarge("a record", limits.record_bytes_max, size);
    }
    if (builder.size_bytes() > limits.batch_bytes_max) {
      return TooLarge("the batch", limits.batch_bytes_max, builder.size_bytes());
    }
  }
  BatchDraft draft = builder.Finish(now_ms);
  if (entry.producer != nullptr) {
    draft.producer = ProducerStamp{entry.producer->producer_id(), entry.producer->producer_epoch(),
                                   entry.producer->base_sequence()};
  }
  return draft;
}

}  // namespace quorum::transport
