// The Prometheus page of a node: a snapshot of the counters of its shards and its store, and of the
// process, in the text format. Nothing is collected between two requests.
//
// Thread: any.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "service/base/ids.h"
#include "service/server/partition_facts.h"
#include "service/server/shard_stats.h"
#include "storage/rocksdb/rocks_log_writer.h"

namespace quorum::server {

struct NodeStats {
  std::string cluster_id;
  ReplicaKey self;
  Incarnation incarnation;
  // Seconds since the Unix epoch.
  double started_at = 0;
  std::vector<const ShardStats*> shards;
  storage::RocksLogWriter::Counts writer;
  // How often the disk did not answer in time.
  uint64_t disk_stalls = 0;
  // Suspicions that were logged (QUORUM_BUG).
  uint64_t bugs = 0;
  bool ready = false;
  // Calls that were answered with an error, by reason.
  std::vector<std::pair<std::string, uint64_t>> errors;
  // With the names of their topics; few, or none.
  std::vector<std::pair<std::string, PartitionFacts>> partitions;
};

std::string MetricsPage(const NodeStats& stats);

}  // namespace quorum::server
