// What a shard is told once: who the node is, its bounds, and the seams to everything outside.
//
// Thread: plain values; the seams say for themselves.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/raft/config.h"
#include "service/raft/trace.h"
#include "service/shard/peer_transport.h"
#include "service/shard/producer_limits.h"
#include "storage/api/log_reader.h"
#include "storage/api/log_writer.h"

namespace quorum::shard {

struct ShardConfig {
  raft::Config raft;
  std::string cluster_id;
  ReplicaKey self;
  Incarnation incarnation;
  uint32_t lane_count = 16;
  // Seed of every random choice of this shard.
  uint64_t seed = 0;
  // Foreign requests and calls that wait for a round. Beyond it they are refused.
  size_t mailbox_max = 100'000;
  // Items taken from the mailbox in one round, so that writes and timers are never far away.
  size_t round_items_max = 4'096;
  // Timers fired in one round.
  size_t round_timers_max = 16'384;
  // Recent batches kept in memory.
  size_t cache_bytes_max = 64 << 20;
  // While syncs are out: answers and requests that wait for one of them, and writes that do.
  // Beyond either, as when the disk is stuck, peers' requests and clients' calls are refused; the
  // entries of the last request that was taken come on top. A sync that takes 30 ms, the slowest
  // that is still in good health, lets through a tenth of both.
  size_t gated_max = 100'000;
  size_t writes_in_flight_max = 10'000;
  // Bytes that this shard's leaders have appended and that are not synced yet. Beyond it appends
  // are refused. Four times as many may wait for their commit.
  size_t unsynced_bytes_max = 64 << 20;
  // Bytes that its followers have fetched and that are not synced yet. Beyond it a Fetch asks for
  // one batch only; what other Fetches have asked for still comes on top: two a session at most,
  // each of fetch_bytes_max. It is apart from the appends, so that a follower that catches up does
  // not throttle the clients of what is led here.
  size_t fetched_unsynced_bytes_max = 64 << 20;
  // Records in one Fetch request or answer, in bytes.
  size_t fetch_bytes_max = 8 << 20;
  // Entries in one Fetch request.
  size_t fetch_entries_max = 20'000;
  // Followers of one lane that have a session, or had one minutes ago. Beyond it others get none.
  size_t followers_max = 1'000;
  // Fetches without a session that wait. Beyond it one is refused.
  size_t loose_fetches_max = 1'000;
  // Records that all of these together may ask for, in bytes. Beyond it each brings one batch.
  size_t loose_fetch_bytes_max = 64 << 20;
  // How often, at most, the lower bound of a partition's watermark is written beside its records,
  // and how soon without any.
  Duration bound_interval = std::chrono::seconds(1);
  // What a log says of producers. The same on every node of the cluster and in every version, so it
  // is no flag; tests make it small.
  ProducerLimits producers;
  // Reads of one partition that wait for records. Beyond it one is answered at once.
  size_t parked_reads_max = 10'000;
  // Reads of one partition that fail in a row, though nothing is known to be damaged, before it is
  // quarantined.
  int failed_reads_max = 10;
};

enum class AppendRefusal;

// Sees what happens, for logs, metrics, traces and the simulator's checks. Must return at once and
// must not call back.
//
// Thread: the shard thread.
class ShardObserver {
 public:
  virtual ~ShardObserver() = default;

  virtual void OnTrace(PartitionId, const raft::TraceEvent&) {}
  virtual void OnQuarantine(PartitionId, const std::string&) {}
  // A replica was opened or closed here.
  virtual void OnReplicas(size_t /*open*/) {}
  virtual void OnAppend(size_t /*records*/, size_t /*bytes*/) {}
  // A request of a client or a peer was refused.
  virtual void OnRefusal(raft::RaftError) {}
  // A leader here has told a client that its batch is in the log already (kNone), or why it may not
  // follow the log.
  virtual void OnAppendJudged(AppendRefusal) {}
  // Records that `leader` sent were damaged on their way.
  virtual void OnDamagedFetch(PartitionId, const ReplicaKey& /*leader*/) {}
  // An answer or request leaves the node for this partition, after its gates.
  virtual void OnMessageLeaves(PartitionId) {}
  // A standard vote of `epoch` for `candidate` leaves the node.
  virtual void OnVoteLeaves(PartitionId, Epoch, const ReplicaKey&) {}
};

struct ShardSeams {
  const Clock& clock;
  storage::LogWriter& writer;
  storage::LogReader& reader;
  PeerTransport& transport;
  ShardObserver& observer;
};

}  // namespace quorum::shard
