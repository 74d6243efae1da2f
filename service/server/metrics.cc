#include "service/server/metrics.h"

#include <dirent.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/server/version.h"

namespace quorum::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class Page {
 public:
  // Opens a family; Add puts rows into the newest one.
  void Counter(const char* name, const char* help) { Open(name, help, MetricType::Counter); }
  void Gauge(const char* name, const char* help) { Open(name, help, MetricType::Gauge); }

  void Row(double value, Labels labels = {}) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = value;
    metric.gauge.value = value;
    families_.back().metric.push_back(std::move(metric));
  }
  void Row(uint64_t value, Labels labels = {}) {
    Row(static_cast<double>(value), std::move(labels));
  }

  std::string Text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    return out.str();
  }

 private:
  void Open(const char* name, const char* help, MetricType type) {
    MetricFamily family;
    family.name = name;
    family.help = help;
    family.type = type;
    families_.push_back(std::move(family));
  }

  std::vector<MetricFamily> families_;
};

// Over all shards.
template <typename Member>
uint64_t Sum(const NodeStats& stats, const Member& member) {
  uint64_t sum = 0;
  for (const ShardStats* shard : stats.shards) sum += member(*shard).load();
  return sum;
}

void AddProtocol(const NodeStats& stats, Page* page) {
  page->Counter("quorum_elections_total", "Elections begun by replicas of this node.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.elections; }));
  page->Counter("quorum_elections_won_total", "Elections won by replicas of this node.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.elections_won; }));
  page->Counter("quorum_votes_total", "Votes and pre-votes answered, by answer.");
  page->Row(Sum(
                stats, [](const ShardStats& s) -> auto& { return s.votes_granted; }),
            {{"answer", "granted"}});
  page->Row(Sum(
                stats, [](const ShardStats& s) -> auto& { return s.votes_refused; }),
            {{"answer", "refused"}});
  page->Counter("quorum_role_changes_total", "Role changes of replicas of this node.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.role_changes; }));
  page->Counter("quorum_truncations_total", "Log tails cut off because a leader had another one.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.truncations; }));
  page->Counter("quorum_damaged_fetches_total",
                "Answers of leaders whose records came damaged to this node.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.damaged_fetches; }));
  page->Counter("quorum_refusals_total",
                "Requests of clients and peers refused by replicas, by reason.");
  for (size_t i = 0; i < kRefusals.size(); ++i) {
    page->Row(Sum(
                  stats, [i](const ShardStats& s) -> auto& { return s.refusals[i]; }),
              {{"reason", raft::Name(kRefusals[i])}});
  }
}

void AddErrors(const NodeStats& stats, Page* page) {
  page->Counter("quorum_call_errors_total",
                "Calls answered with an error, by the reason of their ErrorInfo or gRPC code.");
  for (const auto& [reason, count] : stats.errors) page->Row(count, {{"reason", reason}});
}

void AddAppends(const NodeStats& stats, Page* page) {
  page->Counter("quorum_appends_total", "Batches appended by leaders of this node.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.appended_batches; }));
  page->Counter("quorum_appended_records_total", "Records in them.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.appended_records; }));
  page->Counter("quorum_appended_bytes_total", "Bytes of these records.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.appended_bytes; }));
  page->Counter("quorum_append_duplicates_total",
                "Retries answered with the offset of the batch that was in the log already.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.duplicates; }));
  page->Counter("quorum_append_refusals_total",
                "Batches refused because of their producer or their condition, by reason.");
  for (size_t i = 0; i < kAppendRefusals.size(); ++i) {
    page->Row(Sum(
                  stats, [i](const ShardStats& s) -> auto& { return s.append_refusals[i]; }),
              {{"reason", shard::Name(kAppendRefusals[i])}});
  }
}

void AddDisk(const NodeStats& stats, Page* page) {
  page->Counter("quorum_fsyncs_total", "Syncs of this node's files, by file.");
  page->Row(stats.writer.syncs, {{"file", "log"}});
  page->Row(stats.writer.floor_syncs, {{"file", "acked_floor"}});
  page->Counter("quorum_write_sets_total", "Rounds of shards that had something to write.");
  page->Row(stats.writer.write_sets);
  page->Counter("quorum_written_bytes_total", "Bytes handed to the write-ahead log.");
  page->Row(stats.writer.bytes);
  page->Counter("quorum_disk_stalls_total", "Syncs that took longer than the fetch timeout.");
  page->Row(stats.disk_stalls);
}

void AddState(const NodeStats& stats, Page* page) {
  page->Gauge("quorum_replicas", "Replicas open on this node.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.replicas; }));
  page->Gauge("quorum_replicas_by_role", "Replicas open on this node, by role.");
  for (size_t i = 0; i < kRoles.size(); ++i) {
    page->Row(Sum(
                  stats, [i](const ShardStats& s) -> auto& { return s.roles[i]; }),
              {{"role", raft::Name(kRoles[i])}});
  }
  page->Gauge("quorum_quarantined_replicas", "Replicas that neither vote nor serve.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.quarantined; }));
  page->Gauge("quorum_catching_up_replicas",
              "Voters that have not been in step with their leader since the start.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.catching_up; }));
  page->Gauge("quorum_replica_lag_seconds_max",
              "How long the worst voter has been behind its leader's high watermark.");
  uint64_t lag_ms = 0;
  for (const ShardStats* shard : stats.shards) lag_ms = std::max(lag_ms, shard->lag_ms.load());
  page->Row(static_cast<double>(lag_ms) / 1000);
  page->Gauge("quorum_unsynced_bytes", "Bytes of records whose sync is still out.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.unsynced_bytes; }));
  page->Gauge("quorum_waiting_calls", "Appends and fetches that wait for an answer.");
  page->Row(Sum(
      stats, [](const ShardStats& s) -> auto& { return s.waiters; }));
  page->Gauge("quorum_ready", "1 when the node is caught up and does not shut down.");
  page->Row(stats.ready ? 1.0 : 0.0);
  page->Counter("quorum_bugs_total", "Suspicions about this program; each was logged.");
  page->Row(stats.bugs);
  page->Gauge("quorum_node_info", "Always 1; who this node is.");
  page->Row(1.0, {{"cluster_id", stats.cluster_id},
                  {"node_id", absl::StrCat(stats.self.id.value())},
                  {"directory_id", stats.self.directory.ToString()},
                  {"incarnation", absl::StrCat(stats.incarnation.value())},
                  {"version", kSoftwareVersion}});
}

// A gauge with a row for each partition that `value` knows of.
template <typename Value>
void AddPartitionGauge(const NodeStats& stats, const char* name, const char* help,
                       const Value& value, Page* page) {
  page->Gauge(name, help);
  for (const auto& [topic, facts] : stats.partitions) {
    const std::optional<double> known = value(facts);
    if (!known.has_value()) continue;
    page->Row(*known, {{"topic", topic}, {"partition", absl::StrCat(facts.partition.index)}});
  }
}

void AddPartitions(const NodeStats& stats, Page* page) {
  using Known = std::optional<double>;
  AddPartitionGauge(
      stats, "quorum_partition_leader_id", "The node that leads (current-leader); -1 when unknown.",
      [](const PartitionFacts& facts) -> Known {
        return facts.leader.has_value() ? static_cast<double>(facts.leader->value()) : -1.0;
      },
      page);
  AddPartitionGauge(
      stats, "quorum_partition_leader_epoch", "The epoch of that leader (current-epoch).",
      [](const PartitionFacts& facts) -> Known { return static_cast<double>(facts.epoch.value()); },
      page);
  AddPartitionGauge(
      stats, "quorum_partition_leading", "1 on the node whose replica leads.",
      [](const PartitionFacts& facts) -> Known {
        return facts.role == raft::RoleKind::kLeader ? 1.0 : 0.0;
      },
      page);
  AddPartitionGauge(
      stats, "quorum_partition_high_watermark", "Committed below this offset (high-watermark).",
      [](const PartitionFacts& facts) -> Known {
        if (!facts.high_watermark.has_value()) return std::nullopt;
        return static_cast<double>(facts.high_watermark->value());
      },
      page);
  AddPartitionGauge(
      stats, "quorum_partition_log_end", "The end of this node's log (log-end-offset).",
      [](const PartitionFacts& facts) -> Known {
        return static_cast<double>(facts.log_end.value());
      },
      page);
  AddPartitionGauge(
      stats, "quorum_partition_lag_seconds",
      "How long this replica has been behind its leader's high watermark.",
      [](const PartitionFacts& facts) -> Known {
        return static_cast<double>(facts.lag.count()) / 1e9;
      },
      page);
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Entries of /proc/self/fd, without the one that this function opens.
uint64_t OpenFiles() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  uint64_t count = 0;
  for (const dirent* entry = readdir(directory); entry != nullptr; entry = readdir(directory)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(directory);
  return count > 0 ? count - 1 : 0;
}

// Names as Prometheus clients of all languages give them.
void AddProcess(const NodeStats& stats, Page* page) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  page->Counter("process_cpu_seconds_total", "User and system time.");
  page->Row(Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  uint64_t virtual_pages = 0;
  uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> virtual_pages >> resident_pages;
  const uint64_t page_size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  page->Gauge("process_resident_memory_bytes", "Resident memory.");
  page->Row(resident_pages * page_size);
  page->Gauge("process_virtual_memory_bytes", "Virtual memory.");
  page->Row(virtual_pages * page_size);
  page->Gauge("process_open_fds", "Open file descriptors.");
  page->Row(OpenFiles());
  page->Gauge("process_start_time_seconds", "Start of the process, since the Unix epoch.");
  page->Row(stats.started_at);
}

}  // namespace

std::string MetricsPage(const NodeStats& stats) {
  Page page;
  AddProtocol(stats, &page);
  AddErrors(stats, &page);
  AddAppends(stats, &page);
  AddDisk(stats, &page);
  AddState(stats, &page);
  if (!stats.partitions.empty()) AddPartitions(stats, &page);
  AddProcess(stats, &page);
  return page.Text();
}

}  // namespace quorum::server
