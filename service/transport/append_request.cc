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

}  // namespace

AppendEntry EntryOf(const v1::AppendRequest& request) {
  AppendEntry entry{request.topic(), {}, request.records(), {}};
  if (request.has_partition()) entry.partition = request.partition();
  if (request.has_leader_epoch()) entry.leader_epoch = request.leader_epoch();
  entry.has_expected_offset = request.has_expected_offset();
  entry.has_producer = request.has_producer();
  return entry;
}

AppendEntry EntryOf(const std::string& topic, const v1::AppendBatchRequest::Partition& partition) {
  AppendEntry entry{topic, {}, partition.records(), {}};
  if (partition.has_partition()) entry.partition = partition.partition();
  if (partition.has_leader_epoch()) entry.leader_epoch = partition.leader_epoch();
  entry.has_expected_offset = partition.has_expected_offset();
  entry.has_producer = partition.has_producer();
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
  if (entry.has_producer) {
    return CallError(v1::ERROR_REASON_NOT_IMPLEMENTED,
                     "This version has no idempotent producers; leave `producer` out.")
        .Refused();
  }
  if (entry.has_expected_offset) {
    return CallError(v1::ERROR_REASON_NOT_IMPLEMENTED,
                     "This version has no conditional appends; leave `expected_offset` out.")
        .Refused();
  }
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
  return builder.Finish(now_ms);
}

}  // namespace quorum::transport
