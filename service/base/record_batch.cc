#include "service/base/record_batch.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "service/base/check.h"
#include "service/base/crc32c.h"
#include "service/base/ids.h"
#include "service/base/wire.h"

namespace quorum {
namespace {

// Field numbers of quorum.v1.RecordBatch. The first three form the prefix: always present, in this
// order, of fixed width, so that a leader can put them before a payload that is encoded already.
constexpr uint32_t kCrcField = 1;
constexpr uint32_t kBaseOffsetField = 2;
constexpr uint32_t kLeaderEpochField = 3;
constexpr uint32_t kRecordCountField = 4;
constexpr uint32_t kBaseTimestampField = 5;
constexpr uint32_t kMaxTimestampField = 6;
constexpr uint32_t kProducerIdField = 7;
constexpr uint32_t kProducerEpochField = 8;
constexpr uint32_t kBaseSequenceField = 9;
constexpr uint32_t kControlField = 10;

constexpr size_t kCrcFieldSize = 1 + sizeof(uint32_t);
constexpr size_t kPrefixSize = kCrcFieldSize + 2 * (1 + sizeof(uint64_t));
// More than the fields 4 to 10 can take.
constexpr size_t kSmallFieldsSizeMax = 80;

// What the fields behind the prefix say.
struct Payload {
  uint64_t record_count = 0;
  int64_t base_timestamp_ms = 0;
  int64_t max_timestamp_ms = 0;
  bool control = false;
  std::optional<uint64_t> producer_id;
  std::optional<uint64_t> producer_epoch;
  std::optional<uint64_t> base_sequence;
  uint64_t records = 0;
  uint64_t control_records = 0;
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("record batch: ", what));
}

uint32_t BatchCrc(PartitionId partition, absl::string_view behind_crc_field) {
  std::string place;
  for (int shift = 56; shift >= 0; shift -= 8) {
    place.push_back(static_cast<char>(partition.topic.value() >> shift));
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    place.push_back(static_cast<char>(partition.index >> shift));
  }
  return Crc32cExtend(Crc32c(place), behind_crc_field);
}

// One of the fields 4 to 10, all varints.
absl::Status TakeSmallField(const wire::Field& field, uint32_t* seen, Payload* payload) {
  if (field.type != wire::Type::kVarint) return Malformed("header field of the wrong type");
  const uint32_t mark = uint32_t{1} << field.number;
  if ((*seen & mark) != 0) return Malformed("header field given twice");
  *seen |= mark;
  switch (field.number) {
    case kRecordCountField:
      payload->record_count = field.value;
      break;
    case kBaseTimestampField:
      payload->base_timestamp_ms = wire::ToSigned(field.value);
      break;
    case kMaxTimestampField:
      payload->max_timestamp_ms = wire::ToSigned(field.value);
      break;
    case kControlField:
      if (field.value > 1) return Malformed("control is no bool");
      payload->control = field.value == 1;
      break;
    case kProducerIdField:
      payload->producer_id = field.value;
      break;
    case kProducerEpochField:
      payload->producer_epoch = field.value;
      break;
    case kBaseSequenceField:
      payload->base_sequence = field.value;
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

absl::StatusOr<Payload> ReadPayload(absl::string_view bytes) {
  Payload payload;
  uint32_t seen = 0;
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number <= kLeaderEpochField) return Malformed("prefix field behind the prefix");
    if (field.number <= kControlField) {
      const absl::Status status = TakeSmallField(field, &seen, &payload);
      if (!status.ok()) return status;
    } else if (field.number <= kControlRecordsField) {
      if (field.type != wire::Type::kLengthDelimited) return Malformed("record of the wrong type");
      ++(field.number == kRecordsField ? payload.records : payload.control_records);
    }
  }
  if (!reader.ok()) return Malformed("truncated or malformed field");
  return payload;
}

absl::Status CheckRecords(const Payload& payload) {
  if (payload.record_count < 1) return Malformed("no records");
  if (payload.record_count > std::numeric_limits<uint32_t>::max()) {
    return Malformed("record count out of range");
  }
  if (payload.records > 0 && payload.control_records > 0) {
    return Malformed("both records and control records");
  }
  const uint64_t present = payload.control ? payload.control_records : payload.records;
  if (payload.record_count != present) {
    return Malformed(absl::StrCat("record count ", payload.record_count, ", but ", present,
                                  payload.control ? " control records" : " records"));
  }
  return absl::OkStatus();
}

// The producer fields come together and in range, or not at all.
absl::Status CheckProducer(const Payload& payload) {
  const bool present = payload.producer_id.has_value();
  if (payload.producer_epoch.has_value() != present ||
      payload.base_sequence.has_value() != present) {
    return Malformed("part of a producer stamp");
  }
  if (!present) return absl::OkStatus();
  if (payload.control) return Malformed("a control batch of a producer");
  const auto sequence_limit = static_cast<uint64_t>(kSequenceLimit);
  if (*payload.producer_id > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ||
      *payload.producer_epoch > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()) ||
      *payload.base_sequence >= sequence_limit ||
      payload.record_count > sequence_limit - *payload.base_sequence) {
    return Malformed("producer stamp out of range");
  }
  return absl::OkStatus();
}

// The records lie in [base, base + record_count) below the limit. No sum here can overflow.
absl::Status CheckPlace(uint64_t base, uint64_t epoch, uint64_t record_count) {
  const auto offset_limit = static_cast<uint64_t>(kOffsetLimit.value());
  if (base >= offset_limit || record_count > offset_limit - base) {
    return Malformed("offset out of range");
  }
  if (epoch < 1 || epoch >= static_cast<uint64_t>(kEpochLimit.value())) {
    return Malformed("epoch out of range");
  }
  return absl::OkStatus();
}

void AddProducer(const ProducerStamp& producer, std::string* bytes) {
  wire::AddSignedVarint(kProducerIdField, producer.id, bytes);
  wire::AddSignedVarint(kProducerEpochField, producer.epoch, bytes);
  wire::AddSignedVarint(kBaseSequenceField, producer.base_sequence, bytes);
}

}  // namespace

RecordBatch::RecordBatch(Header header, std::shared_ptr<const std::string> bytes)
    : header_(header), bytes_(std::move(bytes)) {}

RecordBatch RecordBatch::Seal(PartitionId partition, Offset base_offset, Epoch epoch,
                              const BatchDraft& draft) {
  std::string bytes;
  bytes.reserve(kPrefixSize + kSmallFieldsSizeMax + draft.records.size());
  wire::AddFixed32(kCrcField, 0, &bytes);
  wire::AddFixed64(kBaseOffsetField, static_cast<uint64_t>(base_offset.value()), &bytes);
  wire::AddFixed64(kLeaderEpochField, static_cast<uint64_t>(epoch.value()), &bytes);
  CHECK_EQ(bytes.size(), kPrefixSize);
  wire::AddVarint(kRecordCountField, draft.record_count, &bytes);
  if (draft.base_timestamp_ms != 0) {
    wire::AddSignedVarint(kBaseTimestampField, draft.base_timestamp_ms, &bytes);
  }
  if (draft.max_timestamp_ms != 0) {
    wire::AddSignedVarint(kMaxTimestampField, draft.max_timestamp_ms, &bytes);
  }
  if (draft.producer.has_value()) AddProducer(*draft.producer, &bytes);
  if (draft.control) wire::AddVarint(kControlField, 1, &bytes);
  bytes += draft.records;

  std::string crc_field;
  wire::AddFixed32(kCrcField, BatchCrc(partition, absl::string_view(bytes).substr(kCrcFieldSize)),
                   &crc_field);
  bytes.replace(0, kCrcFieldSize, crc_field);

  // Read back as a peer will: what it refuses must never enter a log.
  Header header;
  const absl::Status status = ParseHeader(bytes, &header);
  CHECK(status.ok()) << partition << " base_offset=" << base_offset << " epoch=" << epoch << ": "
                     << status;
  return RecordBatch(header, std::make_shared<const std::string>(std::move(bytes)));
}

absl::StatusOr<RecordBatch> RecordBatch::Parse(PartitionId partition, absl::string_view bytes) {
  wire::Reader reader(bytes);
  wire::Field crc;
  if (!reader.Next(&crc) || crc.number != kCrcField || crc.type != wire::Type::kFixed32) {
    return Malformed("does not start with a crc");
  }
  if (crc.value != BatchCrc(partition, bytes.substr(kCrcFieldSize))) {
    return absl::DataLossError("record batch: wrong crc");
  }
  Header header;
  absl::Status status = ParseHeader(bytes, &header);
  if (!status.ok()) return status;
  return RecordBatch(header, std::make_shared<const std::string>(bytes));
}

absl::Status RecordBatch::ParseHeader(absl::string_view bytes, Header* header) {
  wire::Reader reader(bytes);
  wire::Field crc;
  wire::Field base;
  wire::Field epoch;
  const bool prefix = reader.Next(&crc) && reader.Next(&base) && reader.Next(&epoch) &&
                      crc.number == kCrcField && crc.type == wire::Type::kFixed32 &&
                      base.number == kBaseOffsetField && base.type == wire::Type::kFixed64 &&
                      epoch.number == kLeaderEpochField && epoch.type == wire::Type::kFixed64;
  if (!prefix) return Malformed("does not start with crc, base offset and leader epoch");

  const absl::StatusOr<Payload> payload = ReadPayload(bytes.substr(kPrefixSize));
  if (!payload.ok()) return payload.status();
  absl::Status status = CheckRecords(*payload);
  if (status.ok()) status = CheckPlace(base.value, epoch.value, payload->record_count);
  if (status.ok()) status = CheckProducer(*payload);
  if (!status.ok()) return status;

  header->base_offset = Offset(static_cast<int64_t>(base.value));
  header->epoch = Epoch(static_cast<int64_t>(epoch.value));
  header->record_count = static_cast<uint32_t>(payload->record_count);
  header->base_timestamp_ms = payload->base_timestamp_ms;
  header->max_timestamp_ms = payload->max_timestamp_ms;
  header->control = payload->control;
  if (payload->producer_id.has_value()) {
    header->producer = ProducerStamp{static_cast<int64_t>(*payload->producer_id),
                                     static_cast<int32_t>(*payload->producer_epoch),
                                     static_cast<int64_t>(*payload->base_sequence)};
  }
  return absl::OkStatus();
}

}  // namespace quorum
