#include "service/server/flags.h"

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "service/server/address.h"
#include "service/server/exit.h"
#include "service/server/initial_voters.h"
#include "service/server/version.h"

namespace quorum::server {
namespace {

template <int64_t kLow, int64_t kHigh>
bool InRange(const char*, int64_t value) {
  return value >= kLow && value <= kHigh;
}

bool IsAddress(const char*, const std::string& text) { return ParseAddress(text).has_value(); }

bool IsAddressOrEmpty(const char*, const std::string& text) {
  return text.empty() || ParseAddress(text).has_value();
}

bool IsAddressList(const char*, const std::string& text) {
  return ParseAddresses(text).has_value();
}

bool IsDirectoryIdOrEmpty(const char*, const std::string& text) {
  return text.empty() || DirectoryId::Parse(text).has_value();
}

bool IsVotersOrEmpty(const char*, const std::string& text) {
  std::string why;
  return text.empty() || ParseInitialVoters(text, &why).has_value();
}

bool IsPartitionOrEmpty(const char*, const std::string& text) {
  return text.empty() || ParsePartition(text).has_value();
}

bool IsDumpFormat(const char*, const std::string& text) { return text == "text" || text == "json"; }

bool IsClusterIdOrEmpty(const char*, const std::string& text) { return text.size() <= 255; }

}  // namespace
}  // namespace quorum::server

// A flag with a number in it: its help says the range that its validator checks.
#define QUORUM_NUMBER_FLAG(name, value, low, high, text)           \
  DEFINE_int64(name, value, text " Range [" #low ", " #high "]."); \
  DEFINE_validator(name, (&::quorum::server::InRange<int64_t{low}, int64_t{high}>))

// --- Who the node is: every verb ---
DEFINE_string(data_dir, "", "[stable] The data directory; format makes it, nothing else does.");
DEFINE_string(cluster_id, "",
              "[stable] Name of the cluster, 1 to 255 characters; the same on all its nodes, and "
              "what a data directory is refused by when it is another cluster's.");
DEFINE_validator(cluster_id, &quorum::server::IsClusterIdOrEmpty);
QUORUM_NUMBER_FLAG(node_id, 0, 0, 2147483647,
                   "[stable] Number of the node in its cluster, 1 or above; 0 is none.");

// --- format ---
DEFINE_string(directory_id, "",
              "[stable] format: identity of the directory, 8-4-4-4-12 hexadecimal digits. Default: "
              "drawn at random, because a wiped disk must never look like the old one.");
DEFINE_validator(directory_id, &quorum::server::IsDirectoryIdOrEmpty);
DEFINE_string(initial_voters, "",
              "[stable] format: founds a cluster with these voters, ID@HOST:PORT:DIRECTORY "
              "separated by commas. For the first start only: never on a blank disk of a running "
              "cluster, which joins.");
DEFINE_validator(initial_voters, &quorum::server::IsVotersOrEmpty);
DEFINE_bool(join, false,
            "[stable] format: the node joins a cluster that runs, as a blank replica.");
QUORUM_NUMBER_FLAG(lanes, 16, 1, 1024,
                   "[advanced] format: lanes of the cluster, the same on all its nodes and fixed "
                   "for ever. 16 leaves room for 16 shards a node; each lane costs an idle "
                   "connection of long polls between two nodes.");

// --- dump, verify ---
DEFINE_string(partition, "",
              "[stable] dump: TOPICID:INDEX; needed for the log. The catalog is 1:0.");
DEFINE_validator(partition, &quorum::server::IsPartitionOrEmpty);
QUORUM_NUMBER_FLAG(from_offset, 0, 0, 4611686018427387904,
                   "[stable] dump log: begins with the batch that holds this offset.");
QUORUM_NUMBER_FLAG(max_batches, 1000, 1, 1000000000,
                   "[stable] dump log: batches at most, so that a big log does not flood a "
                   "terminal.");
DEFINE_string(format, "text",
              "[stable] dump, verify: text (key=value) or json (an object a line).");
DEFINE_validator(format, &quorum::server::IsDumpFormat);

// --- serve: addresses ---
DEFINE_string(listen_address, "127.0.0.1:7101",
              "[stable] HOST:PORT that the gRPC server binds. The default is reachable from this "
              "machine only, because nothing is encrypted yet.");
DEFINE_validator(listen_address, &quorum::server::IsAddress);
DEFINE_string(advertised_address, "",
              "[stable] HOST:PORT that clients and other nodes reach this one at. Default: the "
              "listen address; needed when that is 0.0.0.0 or [::].");
DEFINE_validator(advertised_address, &quorum::server::IsAddressOrEmpty);
DEFINE_string(bootstrap, "",
              "[stable] Addresses of other nodes, separated by commas. A node that joined finds "
              "its cluster through them; a founder knows the other founders already.");
DEFINE_validator(bootstrap, &quorum::server::IsAddressList);
DEFINE_string(http_address, "",
              "[stable] HOST:PORT of /metrics, /livez and /readyz. Default: off, because the pages "
              "are open to whoever reaches them.");
DEFINE_validator(http_address, &quorum::server::IsAddressOrEmpty);

QUORUM_NUMBER_FLAG(metrics_partitions_max, 100, 0, 10000,
                   "[stable] /metrics has rows for each partition while the node has at most so "
                   "many replicas. 100 are 600 rows, which any Prometheus bears.");

// --- serve: size of the node ---
QUORUM_NUMBER_FLAG(shards, 0, 0, 1024,
                   "[stable] Event loops, a thread each. 0: half the cores, at least 1, because "
                   "gRPC and compaction need the rest.");
QUORUM_NUMBER_FLAG(reader_threads, 2, 1, 256,
                   "[advanced] Threads that read what the cache no longer holds; 2 keep one slow "
                   "read from stopping all others.");
QUORUM_NUMBER_FLAG(cache_bytes, 67108864, 1048576, 1099511627776,
                   "[stable] Recent batches kept in memory, of all shards. 64 MiB serve followers "
                   "that keep up without the disk.");
QUORUM_NUMBER_FLAG(unsynced_bytes_max, 67108864, 1048576, 1099511627776,
                   "[stable] Appended bytes that are not synced yet, of all shards; beyond it "
                   "appends are refused. As many again bound what followers fetch, and four times "
                   "as many what waits for its commit. 64 MiB is what "
                   "a disk syncs in less than the fetch timeout.");
QUORUM_NUMBER_FLAG(fetch_bytes_max, 8388608, 65536, 24117248,
                   "[advanced] Records in one Fetch between nodes. 8 MiB fit below the largest "
                   "message with room to spare.");

QUORUM_NUMBER_FLAG(record_bytes_max, 1048576, 1024, 8388608,
                   "[stable] Size of one record. 1 MiB as in Kafka; at most that of a batch.");
QUORUM_NUMBER_FLAG(batch_bytes_max, 4194304, 1024, 8388608,
                   "[stable] Size of the records of one batch. 4 MiB fit the receive limit of a "
                   "stock gRPC client.");

// --- serve: time ---
QUORUM_NUMBER_FLAG(election_timeout_ms, 1000, 20, 600000,
                   "[stable] How long a voter waits before it asks for an election, drawn from "
                   "[T, 2T). 1000 as in Kafka.");
QUORUM_NUMBER_FLAG(fetch_timeout_ms, 2000, 40, 600000,
                   "[stable] How long a follower goes without its leader. 2000 as in Kafka; above "
                   "the election timeout, and more than twice the fetch wait.");
QUORUM_NUMBER_FLAG(election_backoff_max_ms, 1000, 10, 600000,
                   "[advanced] Longest wait of a successor after EndQuorumEpoch. 1000 as in "
                   "Kafka.");
QUORUM_NUMBER_FLAG(request_timeout_ms, 2000, 20, 600000,
                   "[advanced] When a request to a peer is given up. 2000 as in Kafka; at most the "
                   "fetch timeout.");
QUORUM_NUMBER_FLAG(retry_backoff_ms, 50, 1, 60000,
                   "[advanced] First pause before a failed peer is asked again. 50 keeps a restart "
                   "short without a flood.");
QUORUM_NUMBER_FLAG(fetch_max_wait_ms, 500, 1, 300000,
                   "[advanced] How long a leader may hold a Fetch that has nothing to answer. 500 "
                   "as in Kafka.");
QUORUM_NUMBER_FLAG(client_wait_max_ms, 30000, 100, 600000,
                   "[stable] How long any call of a client waits, whatever it asks for. 30000 is "
                   "long enough for an election and a retry.");
QUORUM_NUMBER_FLAG(disk_stuck_exit_after_ms, 60000, 100, 86400000,
                   "[stable] The process ends with exit code 4 when one sync of the disk is out "
                   "for longer. 60000 is what a busy network disk has been seen to take, and far "
                   "above the fetch timeout, after which everything led here is handed over.");
QUORUM_NUMBER_FLAG(shutdown_timeout_ms, 10000, 0, 600000,
                   "[stable] How long a stop waits for successors of what is led here. 10000 is "
                   "below the grace period that orchestrators give.");

// --- serve: to look inside ---
DEFINE_string(trace_file, "",
              "[stable] Appends protocol events to this file, a JSON object a line. Default: off, "
              "because it writes a line at each move of a watermark.");
DEFINE_uint64(seed, 0,
              "[test] Seed of every random choice but identities. 0: drawn, and logged, so that no "
              "two nodes back off alike. Range [0, 18446744073709551615].");
DEFINE_bool(check_config, false,
            "[stable] Only judges the flags: exit code 0 when they can be served, else 2.");

namespace quorum::server {
namespace {

using storage::ConfigError;
using storage::StoreError;

constexpr char kVerbs[] = R"(quorumd: a node of a Quorum cluster; replicated logs over gRPC.

usage: quorumd [serve] --data-dir=DIR --cluster-id=NAME --node-id=N [FLAGS]
       quorumd format --data-dir=DIR --cluster-id=NAME --node-id=N (--initial-voters=... | --join)
       quorumd dump (node | quorum-state | log) --data-dir=DIR [--partition=TOPICID:INDEX]
       quorumd verify --data-dir=DIR

  quorumd format --data-dir=d1 --cluster-id=demo --node-id=1 \
    --directory-id=3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a01 \
    --initial-voters=1@127.0.0.1:7101:3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a01
  quorumd --data-dir=d1 --cluster-id=demo --node-id=1
  quorumd dump log --partition=1:0 --data-dir=d1

exit codes: 0 asked to stop or done; 2 bad configuration, or a port or directory in use; 3 another
cluster's or node's directory, not formatted, or fenced; 4 damaged storage or an I/O error; 5 an
internal assertion. Any but 0 prints one line FATAL reason=TOKEN on standard error.

flags (a '-' in a name is a '_'; --flagfile=PATH reads them from a file):
)";

std::optional<StoreError> Missing(const char* flag) {
  return ConfigError(kBadFlag, absl::StrCat(flag, " is required."));
}

std::optional<StoreError> CheckIdentityFlags() {
  if (FLAGS_data_dir.empty()) return Missing("--data-dir");
  if (FLAGS_cluster_id.empty()) return Missing("--cluster-id");
  if (FLAGS_node_id == 0) return Missing("--node-id");
  return std::nullopt;
}

size_t ShardCount() {
  if (FLAGS_shards > 0) return static_cast<size_t>(FLAGS_shards);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores < 4 ? 1 : static_cast<size_t>(cores) / 2;
}

raft::Config RaftConfig() {
  raft::Config config;
  config.election_timeout = std::chrono::milliseconds(FLAGS_election_timeout_ms);
  config.fetch_timeout = std::chrono::milliseconds(FLAGS_fetch_timeout_ms);
  config.election_backoff_max = std::chrono::milliseconds(FLAGS_election_backoff_max_ms);
  config.request_timeout = std::chrono::milliseconds(FLAGS_request_timeout_ms);
  config.retry_backoff = std::chrono::milliseconds(FLAGS_retry_backoff_ms);
  config.fetch_max_wait = std::chrono::milliseconds(FLAGS_fetch_max_wait_ms);
  return config;
}

// What no single flag can be blamed for.
std::optional<StoreError> CheckServe(const ServeConfig& config) {
  const std::string broken = raft::Validate(config.raft);
  if (!broken.empty()) return ConfigError(kBadConfig, broken);
  const std::optional<Address> advertised = ParseAddress(config.advertised_address);
  if (!advertised.has_value() || advertised->IsWildcard()) {
    return ConfigError(kBadConfig, absl::StrCat("Nobody can reach ", config.advertised_address,
                                                "; --advertised-address must name this node."));
  }
  if (config.record_bytes_max > config.batch_bytes_max) {
    return ConfigError(kBadConfig, "--record-bytes-max is above --batch-bytes-max.");
  }
  if (config.http_address == config.listen_address) {
    return ConfigError(kBadConfig, "--http-address and --listen-address are the same.");
  }
  return std::nullopt;
}

storage::DumpFormat FormatFlag() {
  return FLAGS_format == "json" ? storage::DumpFormat::kJson : storage::DumpFormat::kText;
}

std::string Shown(const gflags::CommandLineFlagInfo& flag) {
  std::string name = flag.name;
  std::replace(name.begin(), name.end(), '_', '-');
  const std::string value = flag.default_value.empty() ? "\"\"" : flag.default_value;
  return absl::StrCat("  --", name, " (", flag.type, ", default ", value, ")\n      ",
                      flag.description, "\n");
}

}  // namespace

std::optional<StoreError> LoadServeConfig(ServeConfig* config) {
  if (auto error = CheckIdentityFlags()) return error;
  config->data_dir = FLAGS_data_dir;
  config->cluster_id = FLAGS_cluster_id;
  config->node = NodeId(static_cast<int32_t>(FLAGS_node_id));
  config->listen_address = FLAGS_listen_address;
  config->advertised_address =
      FLAGS_advertised_address.empty() ? FLAGS_listen_address : FLAGS_advertised_address;
  config->bootstrap = ParseAddresses(FLAGS_bootstrap).value_or(std::vector<std::string>());
  config->http_address = FLAGS_http_address;
  config->metrics_partitions_max = static_cast<size_t>(FLAGS_metrics_partitions_max);
  config->shards = ShardCount();
  config->reader_threads = static_cast<size_t>(FLAGS_reader_threads);
  config->raft = RaftConfig();
  config->cache_bytes_max = static_cast<size_t>(FLAGS_cache_bytes);
  config->unsynced_bytes_max = static_cast<size_t>(FLAGS_unsynced_bytes_max);
  config->fetch_bytes_max = static_cast<size_t>(FLAGS_fetch_bytes_max);
  config->record_bytes_max = static_cast<size_t>(FLAGS_record_bytes_max);
  config->batch_bytes_max = static_cast<size_t>(FLAGS_batch_bytes_max);
  config->client_wait_max = std::chrono::milliseconds(FLAGS_client_wait_max_ms);
  config->disk_stuck_exit_after = std::chrono::milliseconds(FLAGS_disk_stuck_exit_after_ms);
  config->shutdown_timeout = std::chrono::milliseconds(FLAGS_shutdown_timeout_ms);
  config->trace_file = FLAGS_trace_file;
  config->seed = FLAGS_seed;
  return CheckServe(*config);
}

std::optional<StoreError> LoadFormatConfig(FormatConfig* config) {
  if (auto error = CheckIdentityFlags()) return error;
  if (FLAGS_join == !FLAGS_initial_voters.empty()) {
    return ConfigError(kBadFlag,
                       "Either --initial-voters founds a cluster, or --join joins one: give one.");
  }
  config->data_dir = FLAGS_data_dir;
  storage::FormatRequest& request = config->request;
  request.cluster_id = FLAGS_cluster_id;
  request.node = NodeId(static_cast<int32_t>(FLAGS_node_id));
  request.lanes = static_cast<uint32_t>(FLAGS_lanes);
  request.directory_given = !FLAGS_directory_id.empty();
  if (request.directory_given) request.directory = *DirectoryId::Parse(FLAGS_directory_id);
  if (FLAGS_join) return std::nullopt;
  std::string why;
  request.initial_voters = ParseInitialVoters(FLAGS_initial_voters, &why);
  const Voter* own = request.initial_voters->FindNode(request.node);
  if (own == nullptr) {
    return ConfigError(kBadConfig, "--initial-voters does not name this node; it must --join.");
  }
  // The list says it already, so a script need not repeat it.
  if (!request.directory_given) request.directory = own->key.directory;
  request.directory_given = true;
  return std::nullopt;
}

std::optional<StoreError> LoadDumpConfig(const std::string& subject, DumpConfig* config) {
  if (FLAGS_data_dir.empty()) return Missing("--data-dir");
  config->data_dir = FLAGS_data_dir;
  config->format = FormatFlag();
  config->partition = ParsePartition(FLAGS_partition);
  config->from = Offset(FLAGS_from_offset);
  config->batches_max = static_cast<uint64_t>(FLAGS_max_batches);
  if (subject == "node") {
    config->subject = DumpSubject::kNode;
  } else if (subject == "quorum-state") {
    config->subject = DumpSubject::kQuorumState;
  } else if (subject == "log") {
    config->subject = DumpSubject::kLog;
    if (!config->partition.has_value()) return Missing("--partition");
  } else {
    return ConfigError(
        kUsage, absl::StrCat("dump knows node, quorum-state and log, not \"", subject, "\"."));
  }
  return std::nullopt;
}

std::optional<StoreError> LoadVerifyConfig(VerifyConfig* config) {
  if (FLAGS_data_dir.empty()) return Missing("--data-dir");
  config->data_dir = FLAGS_data_dir;
  config->format = FormatFlag();
  return std::nullopt;
}

bool CheckConfigOnly() { return FLAGS_check_config; }

void LogToStandardError() {
  gflags::SetCommandLineOptionWithMode("logtostderr", "true", gflags::SET_FLAGS_DEFAULT);
}

std::string HelpText() {
  std::string text = kVerbs;
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (absl::EndsWith(flag.filename, "service/server/flags.cc")) text += Shown(flag);
  }
  return absl::StrCat(text, "Flags of the log library, such as --v=1, work too.\n");
}

}  // namespace quorum::server
