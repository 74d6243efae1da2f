// What each verb of the daemon is told, as plain values. Flags become these in flags.h, and nothing
// behind this file knows of flags.
//
// Thread: plain values, constant for a process life.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/raft/config.h"
#include "storage/layout/dump.h"
#include "storage/rocksdb/format.h"

namespace quorum::server {

struct ServeConfig {
  std::string data_dir;
  std::string cluster_id;
  NodeId node;
  // HOST:PORT that the gRPC server binds.
  std::string listen_address;
  // HOST:PORT that clients and other nodes are told.
  std::string advertised_address;
  // Addresses of nodes that may know the cluster; a joining node needs one that lives.
  std::vector<std::string> bootstrap;
  // HOST:PORT of the pages; empty for none.
  std::string http_address;
  // A node with more replicas shows no metrics of single partitions.
  size_t metrics_partitions_max = 100;
  size_t shards = 1;
  size_t reader_threads = 2;
  raft::Config raft;
  // Of the whole process; each shard gets its part.
  size_t cache_bytes_max = 0;
  size_t unsynced_bytes_max = 0;
  // Of one Fetch.
  size_t fetch_bytes_max = 0;
  // Of what clients append.
  size_t record_bytes_max = 0;
  size_t batch_bytes_max = 0;
  // Of any call of a client.
  Duration client_wait_max = std::chrono::milliseconds(30'000);
  // A sync that is out for longer ends the process.
  Duration disk_stuck_exit_after = std::chrono::milliseconds(60'000);
  Duration shutdown_timeout = std::chrono::milliseconds(10'000);
  // Path of the JSON-lines trace; empty for none.
  std::string trace_file;
  uint64_t seed = 0;
};

struct FormatConfig {
  std::string data_dir;
  storage::FormatRequest request;
};

enum class DumpSubject { kNode, kQuorumState, kLog };

struct DumpConfig {
  std::string data_dir;
  DumpSubject subject = DumpSubject::kNode;
  storage::DumpFormat format = storage::DumpFormat::kText;
  // Of the log, required; of the quorum state, all when absent.
  std::optional<PartitionId> partition;
  Offset from;
  uint64_t batches_max = UINT64_MAX;
};

struct VerifyConfig {
  std::string data_dir;
  storage::DumpFormat format = storage::DumpFormat::kText;
};

}  // namespace quorum::server
