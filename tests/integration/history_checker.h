// CheckHistory: whether a partition kept its promises. Since payloads are unique, the log itself
// says in which order the appends took effect, so each check takes O(n log n) and misses nothing.
//
// Thread: a pure function.

#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/integration/history.h"

namespace quorum::integration {

enum class ViolationKind {
  // An acknowledged record is not in the log at its offset and epoch.
  kLost,
  // A record is in the log more than once.
  kDuplicate,
  // A refused append is in the log.
  kRefusedButLogged,
  // A record that nobody sent, or one that was seen before it was sent.
  kPhantom,
  // Part of a batch is in the log, or its records do not follow each other.
  kTornBatch,
  // Offsets or epochs of a log fall.
  kOrder,
  // A reader saw a gap, a repeat, another record, or what was not committed.
  kRead,
  // Two replicas differ where both have committed.
  kReplicasDiffer,
  // What was shown as committed is on less than a majority of the replicas.
  kNotOnMajority,
  // Two leaders in one epoch.
  kTwoLeaders,
  // An append that began after another had returned lies before it.
  kRealTime,
};

std::ostream& operator<<(std::ostream& out, ViolationKind kind);

struct Violation {
  ViolationKind kind;
  std::string what;
};

std::ostream& operator<<(std::ostream& out, const Violation& violation);

// Empty when all promises were kept. At most a few violations of each kind are listed. A history
// without replicas proves nothing: CHECKed.
std::vector<Violation> CheckHistory(const PartitionHistory& history);

}  // namespace quorum::integration
