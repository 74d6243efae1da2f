// The values of the store, but for record batches, which carry a checksum of their own. A value is
//
//   version (1 byte), payload (a message of storage.proto), CRC-32C (4 bytes, little endian)
//
// and the checksum covers the column family, the key, the version and the payload: a flipped bit,
// and a value under a wrong key, are both found. An unknown version is no damage but a newer
// program's directory: it is refused and left as it is.
//
// The messages are written by hand, because the simulator links this code and no protobuf; a test
// compares them with the generated classes.
//
// Every Decode function returns DATA_LOSS for damage and UNIMPLEMENTED for an unknown version.
//
// Thread: pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/voter_set.h"
#include "storage/api/recovery.h"
#include "storage/layout/image.h"

namespace quorum::storage {

inline constexpr uint8_t kValueVersion = 1;

// Where a value lies. Both ends of the codec need it, for the checksum.
struct ValuePlace {
  ColumnFamily family;
  absl::string_view key;
};

// A replica's life on this directory.
struct BirthRecord {
  // The replica was buried; its quorum state is all that is left.
  bool tombstone = false;
  // The set that it was born with, if the creation record named it.
  std::optional<VoterSet> initial_voters;
};

// Wraps a payload, and takes it out again.
std::string SealValue(ValuePlace place, absl::string_view payload);
absl::StatusOr<std::string> OpenValue(ValuePlace place, absl::string_view value);

// Offsets, epochs, the incarnation and the number of the last synced write.
std::string EncodeNumber(ValuePlace place, int64_t number);
absl::StatusOr<int64_t> DecodeNumber(ValuePlace place, absl::string_view value);

std::string EncodeElection(ValuePlace place, const ElectionState& election);
absl::StatusOr<ElectionState> DecodeElection(ValuePlace place, absl::string_view value);

std::string EncodeVoters(ValuePlace place, const VoterSet& voters);
absl::StatusOr<VoterSet> DecodeVoters(ValuePlace place, absl::string_view value);

std::string EncodeBirth(ValuePlace place, const BirthRecord& birth);
absl::StatusOr<BirthRecord> DecodeBirth(ValuePlace place, absl::string_view value);

// Everything of the identity but the incarnation, which has a record of its own.
std::string EncodeIdentity(ValuePlace place, const NodeIdentity& identity);
absl::StatusOr<NodeIdentity> DecodeIdentity(ValuePlace place, absl::string_view value);

}  // namespace quorum::storage
