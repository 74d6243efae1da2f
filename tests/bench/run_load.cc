#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "service/base/check.h"
#include "tests/bench/channels.h"
#include "tests/bench/echo.h"
#include "tests/bench/etcd_client.h"
#include "tests/bench/fsync_floor.h"
#include "tests/bench/quorum_callers.h"
#include "tests/bench/quorum_cluster.h"
#include "tests/bench/runs.h"
#include "tests/bench/unary_caller.h"

namespace quorum::bench {
namespace {

using Callers = std::vector<std::unique_ptr<Caller>>;

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

double Milliseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

// `make` is called for each caller with its channel.
template <typename Make>
Callers OnOneNode(const std::string& address, const LoadSpec& spec, Make make) {
  const Channels channels = MakeChannels(address, std::min(spec.channels, spec.outstanding));
  Callers callers;
  for (size_t i = 0; i < spec.outstanding; ++i) {
    callers.push_back(make(channels[i % channels.size()]));
  }
  return callers;
}

// Callers of Quorum go straight to the node that leads, as those of etcd do.
Callers QuorumCallers(const Clock& clock, const System& system, const LoadSpec& spec) {
  QuorumCluster cluster(clock, system.addresses);
  cluster.CreateTopic(spec.topic, spec.partitions);
  const std::vector<int> leaders = cluster.WaitForLeaders(spec.topic, spec.partitions);
  std::map<int, std::vector<uint32_t>> led;
  for (uint32_t i = 0; i < leaders.size(); ++i) led[leaders[i]].push_back(i);
  std::map<int, Channels> channels;
  std::vector<int> nodes;
  for (const auto& [node, partitions] : led) {
    nodes.push_back(node);
    channels[node] = MakeChannels(system.addresses[static_cast<size_t>(node)],
                                  std::min(spec.channels, spec.outstanding));
  }
  Callers callers;
  for (uint32_t i = 0; i < spec.outstanding; ++i) {
    const uint32_t partition = i % spec.partitions;
    const int node = spec.append_batch ? nodes[i % nodes.size()] : leaders[partition];
    const auto& channel = channels[node][i % channels[node].size()];
    if (spec.append_batch) {
      callers.push_back(
          MakeAppendBatchCaller(channel, spec.topic, led[node], spec.shape, kCallTimeMax));
      continue;
    }
    std::optional<int64_t> producer_id;
    if (spec.idempotent) producer_id = InitProducer(channel, kCallTimeMax);
    callers.push_back(
        MakeAppendCaller(channel, spec.topic, partition, spec.shape, producer_id, kCallTimeMax));
  }
  return callers;
}

Callers MakeCallers(const Clock& clock, const System& system, const LoadSpec& spec) {
  if (system.name == "quorum") return QuorumCallers(clock, system, spec);
  if (system.name == "etcd") {
    const size_t leader = WaitForEtcdLeader(clock, system.addresses);
    return OnOneNode(system.addresses[leader], spec, [&](const auto& channel) {
      return MakeEtcdCaller(channel, spec.shape, kCallTimeMax);
    });
  }
  CHECK_EQ(system.name, "echo") << "no such system";
  return OnOneNode(system.addresses[0], spec,
                   [&](const auto& channel) { return MakeEchoCaller(channel, spec.shape); });
}

nlohmann::json PerSecond(const std::optional<double>& before, const std::optional<double>& after,
                         double seconds) {
  if (!before.has_value() || !after.has_value()) return nullptr;
  return (*after - *before) / seconds;
}

nlohmann::json Report(const LoopResult& result, const Usage& before, const Usage& after) {
  const double seconds = Seconds(result.elapsed);
  const double servers = after.ServersCpu() - before.ServersCpu();
  const double client = after.self.cpu_seconds - before.self.cpu_seconds;
  const double machine = after.machine_cpu_seconds - before.machine_cpu_seconds;
  const auto records = static_cast<double>(result.records);
  const double written = static_cast<double>(after.ServersWritten() - before.ServersWritten());
  return {{"seconds", seconds},
          {"calls", result.calls},
          {"records", result.records},
          {"errors", result.errors},
          {"first_error", result.first_error},
          {"calls_per_second", static_cast<double>(result.calls) / seconds},
          {"records_per_second", records / seconds},
          {"p50_ms", Milliseconds(result.latency.Percentile(0.5))},
          {"p99_ms", Milliseconds(result.latency.Percentile(0.99))},
          {"max_ms", Milliseconds(result.latency.max())},
          {"mean_ms", result.latency.Mean() / 1e6},
          {"syncs_per_second", PerSecond(before.syncs, after.syncs, seconds)},
          {"flushes_per_second", PerSecond(before.flushes, after.flushes, seconds)},
          {"servers_cpu_per_1000", servers / records * 1000},
          {"client_cpu_per_1000", client / records * 1000},
          {"written_bytes_per_record", written / records},
          // Of one core; what neither the servers nor this process used.
          {"foreign_cpu_share", (machine - servers - client) / seconds},
          {"rss_mib", static_cast<double>(after.LargestRss()) / (1 << 20)}};
}

}  // namespace

nlohmann::json RunLoad(const Clock& clock, const System& system, const LoadSpec& spec) {
  ClosedLoop loop(clock, MakeCallers(clock, system, spec), spec.loop);
  Usage before;
  Usage after;
  const LoopResult result = loop.Run([&] { before = Measure(system.subjects); },
                                     [&] { after = Measure(system.subjects); });
  CHECK_LT(result.errors, spec.loop.errors_max) << "too many failed calls: " << result.first_error;
  CHECK_GT(result.calls, 0u) << "no call ended in time: " << result.first_error;
  nlohmann::json report = Report(result, before, after);
  report["run"] = "load";
  report["system"] = system.name;
  report["outstanding"] = spec.outstanding;
  report["records_per_batch"] = spec.shape.records;
  report["value_bytes"] = spec.shape.value_bytes;
  report["partitions"] = system.name == "quorum" ? spec.partitions : 1;
  report["append_batch"] = spec.append_batch;
  report["idempotent"] = spec.idempotent;
  return report;
}

nlohmann::json RunSyncFloor(const Clock& clock, const SyncSpec& spec) {
  const SyncFloor floor = MeasureSyncs(clock, spec.folder, spec.bytes, spec.time_max);
  return {{"run", "fsync"},
          {"bytes", spec.bytes},
          {"syncs_per_second", static_cast<double>(floor.latency.count()) / Seconds(floor.elapsed)},
          {"p50_ms", Milliseconds(floor.latency.Percentile(0.5))},
          {"p99_ms", Milliseconds(floor.latency.Percentile(0.99))},
          {"max_ms", Milliseconds(floor.latency.max())}};
}

}  // namespace quorum::bench
