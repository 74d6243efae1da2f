// StoreError: why a data directory cannot be used. The server prints `FATAL reason=<reason>` with
// the message and ends with the exit code; both are a contract with operators and tests.
//
// Thread: a plain value.

#pragma once

#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace quorum::storage {

// Exit codes of the daemon.
inline constexpr int kExitBadConfig = 2;
inline constexpr int kExitIdentity = 3;
inline constexpr int kExitDamage = 4;

// Fixed tokens. Those with kExitBadConfig: the request cannot be served as asked.
inline constexpr char kLocked[] = "LOCKED";
inline constexpr char kNotEmpty[] = "NOT_EMPTY";
inline constexpr char kBadRequest[] = "BAD_REQUEST";
// With kExitIdentity: this is not the directory that the caller means.
inline constexpr char kNotFormatted[] = "NOT_FORMATTED";
inline constexpr char kHalfFormatted[] = "HALF_FORMATTED";
inline constexpr char kClusterMismatch[] = "CLUSTER_MISMATCH";
inline constexpr char kNodeMismatch[] = "NODE_MISMATCH";
inline constexpr char kDirectoryMismatch[] = "DIRECTORY_MISMATCH";
// With kExitDamage: something that was promised is gone, or cannot be read or written.
inline constexpr char kCorrupt[] = "CORRUPT";
inline constexpr char kUnknownVersion[] = "UNKNOWN_VERSION";
inline constexpr char kQuorumStateMissing[] = "QUORUM_STATE_MISSING";
inline constexpr char kQuorumStateBehindLog[] = "QUORUM_STATE_BEHIND_LOG";
inline constexpr char kBehindAckedFloor[] = "BEHIND_ACKED_FLOOR";
inline constexpr char kAckedFloorMissing[] = "ACKED_FLOOR_MISSING";
inline constexpr char kIoError[] = "IO_ERROR";

struct StoreError {
  int exit_code = kExitDamage;
  // One of the tokens above.
  std::string reason;
  // For people: what was found, where, and what to do.
  std::string message;
};

inline std::ostream& operator<<(std::ostream& out, const StoreError& error) {
  return out << "reason=" << error.reason << " " << error.message;
}

inline StoreError IdentityError(std::string reason, std::string message) {
  return StoreError{kExitIdentity, std::move(reason), std::move(message)};
}

inline StoreError DamageError(std::string reason, std::string message) {
  return StoreError{kExitDamage, std::move(reason), std::move(message)};
}

inline StoreError ConfigError(std::string reason, std::string message) {
  return StoreError{kExitBadConfig, std::move(reason), std::move(message)};
}

// What reading the store as a whole failed with: DATA_LOSS is damage, UNIMPLEMENTED a version that
// this program does not know, anything else the disk.
inline StoreError ErrorOfStatus(const absl::Status& status) {
  const std::string message(status.message().data(), status.message().size());
  if (absl::IsDataLoss(status)) return DamageError(kCorrupt, message);
  if (absl::IsUnimplemented(status)) return DamageError(kUnknownVersion, message);
  return DamageError(kIoError, message);
}

}  // namespace quorum::storage
