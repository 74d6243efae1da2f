#include "service/base/record_codec.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "service/base/check.h"
#include "service/base/wire.h"

namespace quorum {
namespace {

// Field numbers of quorum.v1.Record and quorum.v1.Header.
constexpr uint32_t kKeyField = 1;
constexpr uint32_t kValueField = 2;
constexpr uint32_t kHeadersField = 3;
constexpr uint32_t kTimestampField = 4;
constexpr uint32_t kOffsetDeltaField = 5;
constexpr uint32_t kHeaderNameField = 1;
constexpr uint32_t kHeaderValueField = 2;

void AppendHeader(const RecordHeader& header, std::string* out) {
  std::string encoded;
  if (!header.name.empty()) wire::AddBytes(kHeaderNameField, header.name, &encoded);
  if (header.value.has_value()) wire::AddBytes(kHeaderValueField, *header.value, &encoded);
  wire::AddBytes(kHeadersField, encoded, out);
}

// Takes a field of bytes that may be there once. False when it is of another type or was there.
bool TakeBytes(const wire::Field& field, std::optional<std::string>* out) {
  if (out->has_value() || field.type != wire::Type::kLengthDelimited) return false;
  *out = std::string(field.content);
  return true;
}

// As above, for an integer.
bool TakeVarint(const wire::Field& field, std::optional<uint64_t>* out) {
  if (out->has_value() || field.type != wire::Type::kVarint) return false;
  *out = field.value;
  return true;
}

bool TakeHeader(const wire::Field& headers_field, std::vector<RecordHeader>* headers) {
  if (headers_field.type != wire::Type::kLengthDelimited) return false;
  std::optional<std::string> name;
  std::optional<std::string> value;
  wire::Reader reader(headers_field.content);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number == kHeaderNameField && !TakeBytes(field, &name)) return false;
    if (field.number == kHeaderValueField && !TakeBytes(field, &value)) return false;
  }
  headers->push_back(RecordHeader{name.value_or(""), std::move(value)});
  return reader.ok();
}

// Empty when the bytes are no record or the record is not at `offset_delta`. Fields of a later
// version are passed over.
std::optional<RecordFields> DecodeRecord(absl::string_view bytes, uint64_t offset_delta) {
  RecordFields record;
  std::optional<uint64_t> timestamp;
  std::optional<uint64_t> delta;
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    bool legal = true;
    if (field.number == kKeyField) legal = TakeBytes(field, &record.key);
    if (field.number == kValueField) legal = TakeBytes(field, &record.value);
    if (field.number == kHeadersField) legal = TakeHeader(field, &record.headers);
    if (field.number == kTimestampField) legal = TakeVarint(field, &timestamp);
    if (field.number == kOffsetDeltaField) legal = TakeVarint(field, &delta);
    if (!legal) return std::nullopt;
  }
  if (!reader.ok() || delta != offset_delta) return std::nullopt;
  if (timestamp.has_value()) record.timestamp_ms = wire::ToSigned(*timestamp);
  return record;
}

}  // namespace

void RecordsBuilder::Add(const RecordFields& record) {
  scratch_.clear();
  if (record.key.has_value()) wire::AddBytes(kKeyField, *record.key, &scratch_);
  if (record.value.has_value()) wire::AddBytes(kValueField, *record.value, &scratch_);
  for (const RecordHeader& header : record.headers) AppendHeader(header, &scratch_);
  if (record.timestamp_ms.has_value()) {
    wire::AddSignedVarint(kTimestampField, *record.timestamp_ms, &scratch_);
    timestamp_ms_max_ = std::max(timestamp_ms_max_.value_or(INT64_MIN), *record.timestamp_ms);
  }
  wire::AddVarint(kOffsetDeltaField, draft_.record_count, &scratch_);
  wire::AddBytes(kRecordsField, scratch_, &draft_.records);
  ++draft_.record_count;
}

BatchDraft RecordsBuilder::Finish(int64_t now_ms) {
  CHECK_GT(draft_.record_count, 0u);
  BatchDraft draft = std::move(draft_);
  draft.base_timestamp_ms = now_ms;
  draft.max_timestamp_ms = std::max(now_ms, timestamp_ms_max_.value_or(now_ms));
  draft_ = BatchDraft{};
  timestamp_ms_max_.reset();
  return draft;
}

absl::StatusOr<std::vector<DecodedRecord>> DecodeRecords(const RecordBatch& batch) {
  std::vector<DecodedRecord> records;
  if (batch.control()) return records;
  records.reserve(batch.record_count());
  wire::Reader reader(batch.bytes());
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number != kRecordsField) continue;
    const Offset offset = batch.base_offset() + static_cast<int64_t>(records.size());
    std::optional<RecordFields> record = DecodeRecord(field.content, records.size());
    if (!record.has_value()) {
      return absl::DataLossError(
          absl::StrCat("record at offset ", offset.value(), " is malformed or misplaced"));
    }
    const int64_t timestamp_ms = record->timestamp_ms.value_or(batch.base_timestamp_ms());
    records.push_back(DecodedRecord{offset, timestamp_ms, *std::move(record)});
  }
  CHECK(reader.ok());
  CHECK_EQ(records.size(), batch.record_count());
  return records;
}

}  // namespace quorum
