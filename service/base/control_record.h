// Control records: what the protocol itself writes into a partition's log (protocol.md 1.12). They
// are encoded as quorum.v1.ControlRecord, by hand, because the layers that need them see no
// protobuf; tests/service/base compares them with the generated classes.
//
// Thread: plain values and pure functions.

#pragma once

#include <optional>
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

using ControlRecord = std::variant<LeaderChange, VotersRecord>;

// A draft of one control batch that holds `records` in order. CHECK-fails when there are none, on
// an empty voter set and on an illegal replica key.
BatchDraft EncodeControlBatch(const std::vector<ControlRecord>& records, int64_t timestamp_ms);

// The control records of a control batch; CHECK-fails on any other batch. DATA_LOSS when they do
// not parse or are of an unknown kind: a replica that cannot read them cannot know its voter set.
absl::StatusOr<std::vector<ControlRecord>> DecodeControlBatch(const RecordBatch& batch);

}  // namespace quorum
