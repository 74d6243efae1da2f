// What a failed batch of a producer means: for its appends, and for the batches that follow it.
//
// A batch that may be in the log must never be sent under another sequence number, and the number
// of one that is not in the log is a gap that no later batch gets over (KIP-98, protocol.md 8.8).
//
// Thread: a pure function.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "client/error.h"
#include "service/base/ids.h"

namespace quorum::client {

// What becomes of the appends of the batch.
enum class BatchFate {
  kRefused,
  kUnknown,
  // It is not in the log and may go there under another stamp.
  kResend,
};

// How the producer goes on once nothing of the partition is on its way. The higher one counts.
enum class Resync {
  kNone,
  // With the first sequence number that is not in the log.
  kReuse,
  // In the next epoch.
  kRaise,
  // As another producer.
  kReinit,
  // Not at all.
  kEnd,
};

struct ProducerVerdict {
  BatchFate fate = BatchFate::kUnknown;
  Resync resync = Resync::kNone;
  // Resent, each append alone: one of them is at fault.
  bool apart = false;
};

// The batch that failed.
struct FailedBatch {
  // Whether its producer has a name.
  bool named = false;
  // How many appends it holds.
  size_t appends = 1;
  int64_t base_sequence = 0;
  std::optional<Offset> expected_offset = {};
};

// The verdict over a batch that failed for good.
ProducerVerdict JudgeFailure(const Error& error, const FailedBatch& batch);

}  // namespace quorum::client
