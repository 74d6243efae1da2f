#include "storage/layout/producer_codec.h"

#include <cstdint>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "service/base/wire.h"

namespace quorum::storage {
namespace {

absl::Status Malformed(ValuePlace place) {
  return absl::DataLossError(absl::StrCat(NameOf(place.family), " key ",
                                          absl::BytesToHexString(place.key),
                                          ": the payload is malformed"));
}

// A number in [0, max]; false when the field is none.
template <typename T>
bool TakeNumber(const wire::Field& field, T max, T* number) {
  if (field.type != wire::Type::kVarint || field.value > static_cast<uint64_t>(max)) return false;
  *number = static_cast<T>(field.value);
  return true;
}

bool TakeOffset(const wire::Field& field, Offset* offset) {
  int64_t value = 0;
  if (!TakeNumber(field, kOffsetLimit.value(), &value)) return false;
  *offset = Offset(value);
  return true;
}

constexpr int32_t kEpochMax = std::numeric_limits<int32_t>::max();
constexpr int64_t kNumberMax = std::numeric_limits<int64_t>::max();

std::string EncodeBatch(const ProducerBatch& batch) {
  std::string out;
  wire::AddSignedVarint(1, batch.epoch, &out);
  wire::AddSignedVarint(2, batch.base_sequence, &out);
  wire::AddVarint(3, batch.record_count, &out);
  wire::AddSignedVarint(4, batch.base_offset.value(), &out);
  return out;
}

bool TakeBatchField(const wire::Field& field, ProducerBatch* batch) {
  switch (field.number) {
    case 1:
      return TakeNumber(field, kEpochMax, &batch->epoch);
    case 2:
      return TakeNumber(field, kSequenceLimit, &batch->base_sequence);
    case 3:
      return TakeNumber(field, std::numeric_limits<uint32_t>::max(), &batch->record_count);
    case 4:
      return TakeOffset(field, &batch->base_offset);
    default:
      return false;
  }
}

bool DecodeBatch(const wire::Field& batch_field, ProducerBatch* batch) {
  if (batch_field.type != wire::Type::kLengthDelimited) return false;
  wire::Reader reader(batch_field.content);
  wire::Field field;
  while (reader.Next(&field)) {
    if (!TakeBatchField(field, batch)) return false;
  }
  return reader.ok() && batch->record_count >= 1;
}

bool TakeProducerField(const wire::Field& field, ProducerState* producer) {
  switch (field.number) {
    case 1:
      return TakeNumber(field, kEpochMax, &producer->epoch);
    case 2:
      return TakeNumber(field, kSequenceLimit, &producer->next_sequence);
    case 3:
      producer->name = std::string(field.content);
      return field.type == wire::Type::kLengthDelimited && field.content.size() <= kProducerNameMax;
    case 4:
      return TakeOffset(field, &producer->last_offset);
    case 5:
      return TakeNumber(field, kNumberMax, &producer->last_timestamp_ms);
    case 6:
      return DecodeBatch(field, &producer->batches.emplace_back()) &&
             producer->batches.size() <= kProducerBatchesMax;
    default:
      return false;
  }
}

bool TakeSummaryField(const wire::Field& field, ProducerSummary* summary) {
  switch (field.number) {
    case 1:
      return TakeOffset(field, &summary->offset);
    case 2:
      return TakeOffset(field, &summary->data_end);
    case 3:
      return TakeNumber(field, kNumberMax, &summary->timestamp_ms);
    default:
      return false;
  }
}

template <typename T, typename TakeField>
absl::StatusOr<T> DecodeWith(ValuePlace place, absl::string_view value, TakeField take_field) {
  const absl::StatusOr<std::string> payload = OpenValue(place, value);
  if (!payload.ok()) return payload.status();
  T result;
  wire::Reader reader(*payload);
  wire::Field field;
  while (reader.Next(&field)) {
    if (!take_field(field, &result)) return Malformed(place);
  }
  if (!reader.ok()) return Malformed(place);
  return result;
}

}  // namespace

std::string EncodeProducer(ValuePlace place, const ProducerState& producer) {
  std::string payload;
  wire::AddSignedVarint(1, producer.epoch, &payload);
  wire::AddSignedVarint(2, producer.next_sequence, &payload);
  if (!producer.name.empty()) wire::AddBytes(3, producer.name, &payload);
  wire::AddSignedVarint(4, producer.last_offset.value(), &payload);
  wire::AddSignedVarint(5, producer.last_timestamp_ms, &payload);
  for (const ProducerBatch& batch : producer.batches) {
    wire::AddBytes(6, EncodeBatch(batch), &payload);
  }
  return SealValue(place, payload);
}

absl::StatusOr<ProducerState> DecodeProducer(ValuePlace place, absl::string_view value) {
  return DecodeWith<ProducerState>(place, value, TakeProducerField);
}

std::string EncodeProducerSummary(ValuePlace place, const ProducerSummary& summary) {
  std::string payload;
  wire::AddSignedVarint(1, summary.offset.value(), &payload);
  wire::AddSignedVarint(2, summary.data_end.value(), &payload);
  wire::AddSignedVarint(3, summary.timestamp_ms, &payload);
  return SealValue(place, payload);
}

absl::StatusOr<ProducerSummary> DecodeProducerSummary(ValuePlace place, absl::string_view value) {
  return DecodeWith<ProducerSummary>(place, value, TakeSummaryField);
}

}  // namespace quorum::storage
