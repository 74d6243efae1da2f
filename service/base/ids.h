// The identities and positions that the whole service speaks of: nodes, directories, replicas,
// topics, partitions, epochs and offsets. Each is a type of its own (strong_int.h).
//
// Thread: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"
#include "service/base/strong_int.h"

namespace quorum {

struct NodeIdTag {};
struct TopicIdTag {};
struct LaneTag {};
struct IncarnationTag {};
struct EpochTag {};

// A server process of the cluster, chosen by the administrator at format. Range [1, 2^31).
using NodeId = StrongInt<NodeIdTag, int32_t>;

// A topic for ever: never used again after the topic is deleted, also not under the same name.
using TopicId = StrongInt<TopicIdTag, uint64_t>;

// One of the fixed number of lanes that the partitions of a cluster are hashed to.
using Lane = StrongInt<LaneTag, uint32_t>;

// Raised and made durable at each start of a process on a data directory. Starts at 1.
using Incarnation = StrongInt<IncarnationTag, uint64_t>;

// A leader epoch (KIP-595). 0 is primordial: nobody leads it and no record carries it.
using Epoch = StrongInt<EpochTag, int64_t>;

inline constexpr Epoch Next(Epoch epoch) { return Epoch(epoch.value() + 1); }

// No epoch at or above this one is ever adopted (protocol.md 8.6).
inline constexpr Epoch kEpochLimit{int64_t{1} << 62};

// No epoch further than this above a replica's own is adopted from one message.
inline constexpr int64_t kEpochJumpMax = int64_t{1} << 32;

// A position in a partition's log. End offsets and the high watermark are exclusive: they name the
// position after the last record that they cover.
class Offset {
 public:
  constexpr Offset() = default;
  constexpr explicit Offset(int64_t value) : value_(value) {}

  constexpr int64_t value() const { return value_; }

  friend constexpr bool operator==(Offset a, Offset b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Offset a, Offset b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(Offset a, Offset b) { return a.value_ < b.value_; }
  friend constexpr bool operator<=(Offset a, Offset b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>(Offset a, Offset b) { return a.value_ > b.value_; }
  friend constexpr bool operator>=(Offset a, Offset b) { return a.value_ >= b.value_; }
  friend constexpr Offset operator+(Offset a, int64_t records) {
    return Offset(a.value_ + records);
  }
  // The number of offsets in [b, a).
  friend constexpr int64_t operator-(Offset a, Offset b) { return a.value_ - b.value_; }
  friend std::ostream& operator<<(std::ostream& out, Offset a) { return out << a.value_; }

  template <typename H>
  friend H AbslHashValue(H state, Offset a) {
    return H::combine(std::move(state), a.value_);
  }

 private:
  int64_t value_ = 0;
};

// No record is ever given an offset at or above this one, so that adding a batch cannot overflow.
inline constexpr Offset kOffsetLimit{int64_t{1} << 62};

// The identity of a formatted data directory: 128 random bits. All zero is never a directory.
struct DirectoryId {
  uint64_t high = 0;
  uint64_t low = 0;

  constexpr bool IsZero() const { return high == 0 && low == 0; }

  // Canonical text, 8-4-4-4-12 lower-case hexadecimal digits.
  std::string ToString() const;
  // Reads the canonical text, in either case. Empty when it is malformed or all zero.
  static std::optional<DirectoryId> Parse(const std::string& text);

  // The 16 bytes of the wire and the disk, most significant first.
  std::string ToBytes() const;
  // Reads those. Empty when they are not 16 or all zero.
  static std::optional<DirectoryId> FromBytes(absl::string_view bytes);

  friend constexpr bool operator==(const DirectoryId& a, const DirectoryId& b) {
    return a.high == b.high && a.low == b.low;
  }
  friend constexpr bool operator!=(const DirectoryId& a, const DirectoryId& b) { return !(a == b); }
  friend constexpr bool operator<(const DirectoryId& a, const DirectoryId& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }
  template <typename H>
  friend H AbslHashValue(H state, const DirectoryId& a) {
    return H::combine(std::move(state), a.high, a.low);
  }
};

std::ostream& operator<<(std::ostream& out, const DirectoryId& directory);

// A replica's identity (KIP-853): a node on one formatted directory. A wiped disk is another
// replica, because its promises are gone.
struct ReplicaKey {
  NodeId id;
  DirectoryId directory;

  friend constexpr bool operator==(const ReplicaKey& a, const ReplicaKey& b) {
    return a.id == b.id && a.directory == b.directory;
  }
  friend constexpr bool operator!=(const ReplicaKey& a, const ReplicaKey& b) { return !(a == b); }
  friend constexpr bool operator<(const ReplicaKey& a, const ReplicaKey& b) {
    return a.id != b.id ? a.id < b.id : a.directory < b.directory;
  }
  template <typename H>
  friend H AbslHashValue(H state, const ReplicaKey& a) {
    return H::combine(std::move(state), a.id, a.directory);
  }
};

std::ostream& operator<<(std::ostream& out, const ReplicaKey& key);

// A partition for ever: its topic's id, which is never reused, and its index in the topic.
struct PartitionId {
  TopicId topic;
  uint32_t index = 0;

  friend constexpr bool operator==(const PartitionId& a, const PartitionId& b) {
    return a.topic == b.topic && a.index == b.index;
  }
  friend constexpr bool operator!=(const PartitionId& a, const PartitionId& b) { return !(a == b); }
  friend constexpr bool operator<(const PartitionId& a, const PartitionId& b) {
    return a.topic != b.topic ? a.topic < b.topic : a.index < b.index;
  }
  template <typename H>
  friend H AbslHashValue(H state, const PartitionId& a) {
    return H::combine(std::move(state), a.topic, a.index);
  }
};

std::ostream& operator<<(std::ostream& out, const PartitionId& partition);

// The catalog: partition 0 of the topic `__metadata`.
inline constexpr PartitionId kMetadataPartition{TopicId(1), 0};

// An exclusive end of a log prefix together with the epoch of the record before it. Ordered as logs
// are compared in elections: the epoch first, then the offset.
struct OffsetAndEpoch {
  Offset offset;
  Epoch epoch;

  friend constexpr bool operator==(const OffsetAndEpoch& a, const OffsetAndEpoch& b) {
    return a.offset == b.offset && a.epoch == b.epoch;
  }
  friend constexpr bool operator!=(const OffsetAndEpoch& a, const OffsetAndEpoch& b) {
    return !(a == b);
  }
  friend constexpr bool operator<(const OffsetAndEpoch& a, const OffsetAndEpoch& b) {
    return a.epoch != b.epoch ? a.epoch < b.epoch : a.offset < b.offset;
  }
  friend constexpr bool operator>=(const OffsetAndEpoch& a, const OffsetAndEpoch& b) {
    return !(a < b);
  }
};

std::ostream& operator<<(std::ostream& out, const OffsetAndEpoch& point);

}  // namespace quorum
