// Shard: one event loop that owns the replicas of its lanes. The same code runs on a thread of its
// own in production and step by step in the simulator.
//
//   Shard shard(config, seams, wake);
//   shard.Open(recovered_replicas);
//   for (;;) { MonoTime next = shard.RunOnce(); /* sleep until `next`, or until `wake` was called
//   */ }
//
// A round drains the mailbox, fires the timers that are due, steps each replica concerned, and ends
// with one write for all of them and at most one request per destination and kind (architecture.md
// 4).
//
// Thread: Post from anywhere; Open and RunOnce from the shard's thread only.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/raft/replica.h"
#include "service/shard/client_calls.h"
#include "service/shard/peer_messages.h"
#include "service/shard/shard_api.h"
#include "service/shard/shard_config.h"
#include "storage/api/recovery.h"

namespace quorum::shard {

class Shard : public ShardApi {
 public:
  // `wake` is called, from any thread, when there is work for a shard that sleeps.
  Shard(const ShardConfig& config, const ShardSeams& seams, std::function<void()> wake);
  ~Shard() override;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Opens what the disk holds, tombstones excepted. Once, before the first round.
  void Open(const std::vector<storage::RecoveredReplica>& replicas);

  // One round. Returns when the next one is due at the latest: now, when the mailbox is not empty.
  MonoTime RunOnce();

  bool Post(LaneRequest request, PeerReply reply) override;
  bool Post(ShardCall call) override;

  // For checks and debug pages, on the shard's thread: the replica, or null.
  const raft::Replica* Find(PartitionId partition) const;
  std::vector<PartitionId> Partitions() const;
  // What is being waited for, and what of it waits for the disk; the simulator checks that they
  // stay bounded.
  size_t waiter_count() const;
  size_t gated_count() const;
  // Bytes of records, appended or fetched, whose sync is still out.
  size_t unsynced_bytes() const;
  size_t cached_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quorum::shard
