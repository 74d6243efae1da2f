// ShardStats: what one shard has done and holds, as numbers that other threads may read at any
// time. Counters only rise; gauges are as of the newest refresh.
//
// Thread: written by the shard's thread, read by any.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "service/raft/errors.h"
#include "service/raft/trace.h"
#include "service/shard/client_calls.h"

namespace quorum::server {

inline constexpr std::array<raft::RaftError, 10> kRefusals = {
    raft::RaftError::kUnknownTopicOrPartition,
    raft::RaftError::kNotLeaderOrFollower,
    raft::RaftError::kBrokerNotAvailable,
    raft::RaftError::kUnsupportedVersion,
    raft::RaftError::kInvalidRequest,
    raft::RaftError::kFencedLeaderEpoch,
    raft::RaftError::kUnknownLeaderEpoch,
    raft::RaftError::kInvalidVoterKey,
    raft::RaftError::kThrottled,
    raft::RaftError::kRequestTimedOut,
};

inline constexpr std::array<shard::AppendRefusal, 4> kAppendRefusals = {
    shard::AppendRefusal::kProducerFenced,
    shard::AppendRefusal::kOutOfOrderSequence,
    shard::AppendRefusal::kUnknownProducer,
    shard::AppendRefusal::kOffsetMismatch,
};

inline constexpr std::array<raft::RoleKind, 6> kRoles = {
    raft::RoleKind::kUnattached, raft::RoleKind::kProspective, raft::RoleKind::kCandidate,
    raft::RoleKind::kLeader,     raft::RoleKind::kFollower,    raft::RoleKind::kResigned,
};

using Counter = std::atomic<uint64_t>;

inline void Add(Counter* counter, uint64_t count) {
  counter->fetch_add(count, std::memory_order_relaxed);
}

struct ShardStats {
  // Client batches and records appended by leaders here.
  Counter appended_batches{0};
  Counter appended_records{0};
  Counter appended_bytes{0};
  // Retries of batches that were in the log already.
  Counter duplicates{0};
  // Batches that may not follow the log, in the order of kAppendRefusals.
  std::array<Counter, kAppendRefusals.size()> append_refusals{};
  // Elections begun, and won, by replicas here.
  Counter elections{0};
  Counter elections_won{0};
  Counter votes_granted{0};
  Counter votes_refused{0};
  Counter role_changes{0};
  Counter truncations{0};
  // Answers to a Fetch whose records came damaged.
  Counter damaged_fetches{0};
  // In the order of kRefusals.
  std::array<Counter, kRefusals.size()> refusals{};

  // --- Gauges ---
  Counter replicas{0};
  // In the order of kRoles.
  std::array<Counter, kRoles.size()> roles{};
  Counter quarantined{0};
  // Replicas, but that of the catalog, that are voters and were in step once, or need not be:
  // observers and what is quarantined.
  Counter in_step{0};
  // Voters that have not been in step with their leader since the start of the process.
  Counter catching_up{0};
  // How long the worst of the voters has been behind its leader's watermark.
  Counter lag_ms{0};
  Counter unsynced_bytes{0};
  Counter waiters{0};
};

}  // namespace quorum::server
