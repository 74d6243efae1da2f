#include "storage/layout/key_codec.h"

#include <cstdint>
#include <limits>

#include "service/base/check.h"

namespace quorum::storage {
namespace {

void AddBigEndian(uint64_t value, size_t size, std::string* out) {
  for (size_t i = size; i > 0; --i) out->push_back(static_cast<char>(value >> (8 * (i - 1))));
}

uint64_t ReadBigEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = (value << 8) | static_cast<unsigned char>(c);
  return value;
}

void AddPartition(PartitionId partition, std::string* out) {
  AddBigEndian(partition.topic.value(), 8, out);
  AddBigEndian(partition.index, 4, out);
}

PartitionId ReadPartition(absl::string_view bytes) {
  return PartitionId{TopicId(ReadBigEndian(bytes.substr(0, 8))),
                     static_cast<uint32_t>(ReadBigEndian(bytes.substr(8, 4)))};
}

bool IsReplicaField(char tag) {
  switch (static_cast<ReplicaField>(tag)) {
    case ReplicaField::kBirth:
    case ReplicaField::kEndBound:
    case ReplicaField::kHighWatermarkBound:
    case ReplicaField::kLogStart:
      return true;
  }
  return false;
}

}  // namespace

std::string ReplicaKeyOf(PartitionId partition, ReplicaField field) {
  std::string key(1, kReplicaPrefix);
  AddPartition(partition, &key);
  key.push_back(static_cast<char>(field));
  return key;
}

std::string PartitionKey(PartitionId partition) {
  std::string key;
  key.reserve(kOffsetKeySize);
  AddPartition(partition, &key);
  return key;
}

std::string PartitionEndKey(PartitionId partition) {
  PartitionId next = partition;
  ++next.index;
  if (next.index == 0) next.topic = TopicId(next.topic.value() + 1);
  CHECK_NE(next.topic.value(), 0u) << "The last possible topic id is never given out.";
  return PartitionKey(next);
}

std::string OffsetKey(PartitionId partition, Offset offset) {
  CHECK_GE(offset.value(), 0);
  std::string key = PartitionKey(partition);
  AddBigEndian(static_cast<uint64_t>(offset.value()), 8, &key);
  return key;
}

std::string ProducerKey(PartitionId partition, int64_t producer_id) {
  CHECK_GE(producer_id, 0);
  std::string key = PartitionKey(partition);
  AddBigEndian(static_cast<uint64_t>(producer_id), 8, &key);
  return key;
}

std::optional<PartitionId> ParsePartitionKey(absl::string_view key) {
  if (key.size() != kPartitionKeySize) return std::nullopt;
  return ReadPartition(key);
}

std::optional<ParsedOffsetKey> ParseOffsetKey(absl::string_view key) {
  if (key.size() != kOffsetKeySize) return std::nullopt;
  const uint64_t offset = ReadBigEndian(key.substr(kPartitionKeySize));
  if (offset >= static_cast<uint64_t>(kOffsetLimit.value())) return std::nullopt;
  return ParsedOffsetKey{ReadPartition(key.substr(0, kPartitionKeySize)),
                         Offset(static_cast<int64_t>(offset))};
}

std::optional<ParsedProducerKey> ParseProducerKey(absl::string_view key) {
  if (key.size() != kOffsetKeySize) return std::nullopt;
  const uint64_t id = ReadBigEndian(key.substr(kPartitionKeySize));
  if (id > uint64_t{std::numeric_limits<int64_t>::max()}) return std::nullopt;
  return ParsedProducerKey{ReadPartition(key.substr(0, kPartitionKeySize)),
                           static_cast<int64_t>(id)};
}

std::optional<ParsedReplicaKey> ParseReplicaKey(absl::string_view key) {
  if (key.size() != kPartitionKeySize + 2 || key.front() != kReplicaPrefix) return std::nullopt;
  if (!IsReplicaField(key.back())) return std::nullopt;
  return ParsedReplicaKey{ReadPartition(key.substr(1, kPartitionKeySize)),
                          static_cast<ReplicaField>(key.back())};
}

}  // namespace quorum::storage
