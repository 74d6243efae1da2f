// Control records: what the protocol itself writes into a partition's log (protocol.md 1.12). They
// are encoded as quorum.v1.ControlRecord, by hand, because the layers that need them see no
// protobuf; tests/service/base compares them with the generated classes.
//
// Thread: plain values and pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/base/voter_set.h"

namespace quorum {

// The first record of each epoch (KIP-595). Its commit commits everything before it.
struct LeaderChange {
  ReplicaKey leader;
  std::vector<ReplicaKey> voters;
  std::vector<ReplicaKey> granting_voters;

  friend bool operator==(const LeaderChange& a, const LeaderChange& b) {
    return a.leader == b.leader && a.voters == b.voters && a.granting_voters == b.granting_voters;
  }
};

// A voter set, in force from the moment it is appended (KIP-853).
struct VotersRecord {
  VoterSet voters;

  friend bool operator==(const VotersRecord& a, const VotersRecord& b) {
    return a.voters == b.voters;
  }
};

// The lowest id of a named producer. Below are the ids that the controller gives out.
inline constexpr int64_t kNamedProducerIds = int64_t{1} << 62;

// How long a producer's name may be, in bytes; at least 1.
inline constexpr size_t kProducerNameMax = 255;

// Binds a producer's name, on this partition, to an id and an epoch (InitProducer). Whoever used
// the name before is fenced from here on.
struct ProducerBinding {
  std::string name;
  // At least kNamedProducerIds: that number plus the offset of the record that bound the name
  // first, so that no two names of a partition ever share one.
  int64_t producer_id = 0;
  int32_t producer_epoch = 0;

  friend bool operator==(const ProducerBinding& a, const ProducerBinding& b) {
    return a.name == b.name && a.producer_id == b.producer_id &&
           a.producer_epoch == b.producer_epoch;
  }
};

using ControlRecord = std::variant<LeaderChange, VotersRecord, ProducerBinding>;

// A draft of one control batch that holds `records` in order. CHECK-fails when there are none, on
// an empty voter set, on an illegal replica key and on a binding out of range.
BatchDraft EncodeControlBatch(const std::vector<ControlRecord>& records, int64_t timestamp_ms);

// The control records of a control batch; CHECK-fails on any other batch. DATA_LOSS when they do
// not parse or are of an unknown kind: a replica that cannot read them cannot know its voter set.
absl::StatusOr<std::vector<ControlRecord>> DecodeControlBatch(const RecordBatch& batch);

}  // namespace quorum
