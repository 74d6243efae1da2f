// ShardPool: the shards of a node, each with a thread, an observer and numbers of its own. A lane
// belongs to one shard for the life of the process; which one is nobody's business outside.
//
//   ShardPool pool(config, count, parts);
//   pool.Open(recovered_replicas);
//   pool.Start();
//   ...
//   pool.HandOver(timeout);
//   pool.Stop();
//
// Thread: the ShardDirectory, PostAll, stats and OldestRound from any; the rest by the owner. Work
// may be posted before Start and after Stop; it then waits, or is never done.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/server/node_observer.h"
#include "service/server/partition_facts.h"
#include "service/server/shard_stats.h"
#include "service/server/trace_file.h"
#include "service/shard/peer_transport.h"
#include "service/shard/shard_api.h"
#include "service/shard/shard_config.h"
#include "service/transport/leader_hints.h"
#include "storage/api/log_reader.h"
#include "storage/api/log_writer.h"
#include "storage/api/recovery.h"

namespace quorum::server {

class ShardPool : public shard::ShardDirectory {
 public:
  // All outlive the pool, except that the writer and the reader may go once Stop has returned.
  struct Parts {
    const Clock& clock;
    storage::LogWriter& writer;
    storage::LogReader& reader;
    shard::PeerTransport& transport;
    NodeObserver::Outputs outputs;
    // A node with more replicas says nothing of single ones; 0: none does.
    size_t facts_max = 0;
  };

  // `config` holds the bounds of the node, of which each shard gets its part, and the seed, of
  // which each gets a stream.
  ShardPool(const shard::ShardConfig& config, size_t count, const Parts& parts);
  // As Stop.
  ~ShardPool() override;

  // Opens what the disk holds. Once, before Start.
  void Open(const std::vector<storage::RecoveredReplica>& replicas);
  void Start();

  // Every shard resigns what it leads and stays to vote. True when all have found successors within
  // `timeout`.
  bool HandOver(Duration timeout);

  // Ends the threads. No round runs afterwards.
  void Stop();

  shard::ShardApi& ForPartition(PartitionId partition) override;
  shard::ShardApi& ForLane(Lane lane) override;

  // Posts a call to each shard. False when one has no room; the others have taken theirs.
  bool PostAll(const std::function<shard::ShardCall()>& make);

  std::vector<const ShardStats*> stats() const;
  // Replicas open in all shards.
  size_t replica_count() const;
  // How its replicas stand to their leaders; see ShardStats.
  struct Standing {
    size_t in_step = 0;
    size_t catching_up = 0;
    Duration lag = Duration::zero();
  };
  Standing standing() const;
  // Of every replica, about a second old. Empty when there are too many.
  std::vector<PartitionFacts> facts() const;
  // How long ago the shard whose newest round is oldest began it. About a second at rest.
  Duration OldestRound(MonoTime now) const;

 private:
  struct Runner;

  const Parts parts_;
  const uint32_t lane_count_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

}  // namespace quorum::server
