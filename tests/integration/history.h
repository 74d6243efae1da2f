// History: what clients of one partition did and saw, for the checker (history_checker.h).
//
// Payloads are unique over a run: a client never sends one twice, whatever became of the first
// attempt. Times are those of one process.
//
// Thread: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/base/time.h"

namespace quorum::integration {

enum class Outcome {
  // In the log for ever.
  kCommitted,
  // Not in the log, now or later.
  kRefused,
  // Perhaps in the log.
  kUnknown,
};

// One append of one batch.
struct AppendOperation {
  int client = 0;
  MonoTime invoked;
  // Empty: it never returned.
  std::optional<MonoTime> returned;
  Outcome outcome = Outcome::kUnknown;
  std::vector<std::string> payloads;
  // Of a committed one.
  int64_t base_offset = -1;
  int64_t leader_epoch = -1;
};

struct LoggedRecord {
  int64_t offset = 0;
  int64_t leader_epoch = 0;
  std::string payload;
};

inline bool operator==(const LoggedRecord& a, const LoggedRecord& b) {
  return a.offset == b.offset && a.leader_epoch == b.leader_epoch && a.payload == b.payload;
}
inline bool operator!=(const LoggedRecord& a, const LoggedRecord& b) { return !(a == b); }

// What one reader saw of [start, next), in the order in which it came, over all its connections.
struct ReadOperation {
  std::string reader;
  int64_t start = 0;
  int64_t next = 0;
  std::vector<LoggedRecord> records;
  // When each of the records came.
  std::vector<MonoTime> seen;
  // The highest high watermark that was shown; empty when none was.
  std::optional<int64_t> high_watermark;
};

// The log of one replica when all was quiet.
struct ReplicaLog {
  std::string replica;
  // Offsets below are in `records`, those of control records excepted.
  int64_t end = 0;
  std::vector<LoggedRecord> records;
};

// Somebody said who leads an epoch.
struct LeaderSighting {
  int64_t epoch = 0;
  int32_t leader = 0;
  std::string witness;
};

struct PartitionHistory {
  std::string partition;
  std::vector<AppendOperation> appends;
  std::vector<ReadOperation> reads;
  std::vector<ReplicaLog> replicas;
  std::vector<LeaderSighting> leaders;
};

}  // namespace quorum::integration
