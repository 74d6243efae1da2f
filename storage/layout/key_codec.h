// The keys of the store. A partition is 12 bytes: topic id (8) and index (4), big endian, so that
// keys sort by partition and then by offset, and one range holds all of a partition.
//
//   default            'n' name                 node records
//                      'p' partition tag        replica records, one letter each
//   quorum_state       partition
//   log, leader_epochs, voters                  partition, offset (8, big endian)
//   producers          partition                how far its producers go
//                      partition, id (8)        a producer
//
// Thread: pure functions.

#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "service/base/ids.h"

namespace quorum::storage {

// Node records in `default`.
inline constexpr char kIdentityKey[] = "nidentity";
inline constexpr char kFormattedKey[] = "nformatted";
inline constexpr char kIncarnationKey[] = "nincarnation";
inline constexpr char kSyncedNumberKey[] = "nsynced_number";
inline constexpr char kCatalogPositionKey[] = "ncatalog_position";

// Replica records in `default`.
enum class ReplicaField : char {
  kBirth = 'b',
  kEndBound = 'e',
  kHighWatermarkBound = 'h',
  kLogStart = 's',
};

inline constexpr char kNodePrefix = 'n';
inline constexpr char kReplicaPrefix = 'p';
inline constexpr size_t kPartitionKeySize = 12;
inline constexpr size_t kOffsetKeySize = 20;

std::string ReplicaKeyOf(PartitionId partition, ReplicaField field);

// Also the smallest key of the partition wherever keys are partition and offset.
std::string PartitionKey(PartitionId partition);
// Above every key of the partition, at or below every key of the next one.
std::string PartitionEndKey(PartitionId partition);
std::string OffsetKey(PartitionId partition, Offset offset);
// `producer_id` is at least 0.
std::string ProducerKey(PartitionId partition, int64_t producer_id);

struct ParsedOffsetKey {
  PartitionId partition;
  Offset offset;
};

struct ParsedProducerKey {
  PartitionId partition;
  int64_t producer_id = 0;
};

struct ParsedReplicaKey {
  PartitionId partition;
  ReplicaField field;
};

// Each is empty when the key has another shape.
std::optional<PartitionId> ParsePartitionKey(absl::string_view key);
std::optional<ParsedOffsetKey> ParseOffsetKey(absl::string_view key);
std::optional<ParsedProducerKey> ParseProducerKey(absl::string_view key);
std::optional<ParsedReplicaKey> ParseReplicaKey(absl::string_view key);

}  // namespace quorum::storage
