// quorum_bench: the load generator behind ./dev bench. One run a call; the result is one JSON line
// on standard output.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "service/server/system_clock.h"
#include "tests/bench/echo.h"
#include "tests/bench/runs.h"

DEFINE_string(system, "quorum", "quorum, etcd or echo.");
DEFINE_string(addresses, "",
              "HOST:PORT of the servers, separated by commas, in order of node ids.");
DEFINE_string(pids, "", "Their processes, in the same order.");
DEFINE_string(metrics, "", "IPV4:PORT of their Prometheus pages.");
DEFINE_string(sync_counters, "", "Counters of those pages whose sum is the number of syncs.");
DEFINE_string(data_dir, "", "A folder on the device that the servers write to.");
DEFINE_uint64(outstanding, 1, "load: calls out at any time.");
DEFINE_uint64(records, 1, "load: records of a batch.");
DEFINE_uint64(value_bytes, 256, "load: size of a value; the key has 8 bytes more.");
DEFINE_uint64(channels, 4, "load: connections to a node, at most one a call.");
DEFINE_double(warmup_seconds, 1, "load: not counted, in the beginning.");
DEFINE_double(seconds, 5, "load, fsync, idle: length of the measured part.");
DEFINE_uint64(calls, 0, "load: the measured part ends after so many calls as well; 0: never.");
DEFINE_string(topic, "bench", "load, idle, failover, gap: the topic; made if it is not there.");
DEFINE_uint32(partitions, 1, "load, idle, failover: partitions of the topic.");
DEFINE_bool(append_batch, false, "load: AppendBatch to all partitions of a leader at once.");
DEFINE_bool(idempotent, false, "load: appends with a producer id. Not with --append_batch.");
DEFINE_double(settle_seconds, 5, "idle: between the last election and the measured part.");
DEFINE_uint32(victim, 1, "failover: number of the node that is killed, from 1.");
DEFINE_uint64(bytes, 4096, "fsync: size of an append.");
DEFINE_string(listen_address, "", "echo-server: HOST:PORT to serve at, until it is killed.");
DEFINE_uint32(round, 0, "Any run: goes into the result as it is.");

namespace quorum::bench {
namespace {

constexpr char kUsage[] =
    "usage: quorum_bench (load | fsync | idle | failover | gap | echo-server) [FLAGS]; see --help";

Duration Span(double seconds) { return std::chrono::nanoseconds(std::llround(seconds * 1e9)); }

std::vector<std::string> List(const std::string& text) {
  return absl::StrSplit(text, ',', absl::SkipEmpty());
}

System SystemFromFlags() {
  System system;
  system.name = FLAGS_system;
  system.addresses = List(FLAGS_addresses);
  CHECK(!system.addresses.empty()) << "--addresses is required";
  for (const std::string& word : List(FLAGS_pids)) {
    int pid = 0;
    CHECK(absl::SimpleAtoi(word, &pid) && pid > 1) << "--pids: " << word;
    system.subjects.pids.push_back(pid);
  }
  system.subjects.metrics = List(FLAGS_metrics);
  system.subjects.sync_counters = List(FLAGS_sync_counters);
  system.subjects.data_dir = FLAGS_data_dir;
  return system;
}

LoadSpec LoadFromFlags() {
  LoadSpec spec;
  spec.outstanding = FLAGS_outstanding;
  spec.shape.records = FLAGS_records;
  spec.shape.value_bytes = FLAGS_value_bytes;
  spec.channels = FLAGS_channels;
  spec.loop.warmup = Span(FLAGS_warmup_seconds);
  spec.loop.time_max = Span(FLAGS_seconds);
  spec.loop.calls_max = FLAGS_calls;
  spec.topic = FLAGS_topic;
  spec.partitions = FLAGS_partitions;
  spec.append_batch = FLAGS_append_batch;
  spec.idempotent = FLAGS_idempotent;
  CHECK(spec.outstanding > 0 && spec.shape.records > 0 && spec.channels > 0 && spec.partitions > 0)
      << "--outstanding, --records, --channels and --partitions are at least 1";
  CHECK(!spec.idempotent || !spec.append_batch) << "--idempotent goes with Append only";
  return spec;
}

nlohmann::json Run(const std::string& verb, const Clock& clock) {
  if (verb == "load") return RunLoad(clock, SystemFromFlags(), LoadFromFlags());
  if (verb == "fsync") {
    return RunSyncFloor(clock, {FLAGS_data_dir, FLAGS_bytes, Span(FLAGS_seconds)});
  }
  if (verb == "idle") {
    return RunIdle(
        clock, SystemFromFlags(),
        {FLAGS_topic, FLAGS_partitions, Span(FLAGS_settle_seconds), Span(FLAGS_seconds)});
  }
  if (verb == "failover") {
    CHECK_GE(FLAGS_victim, 1u);
    return RunFailover(clock, SystemFromFlags(), FLAGS_topic, FLAGS_partitions, FLAGS_victim - 1);
  }
  if (verb == "gap") return RunGap(clock, SystemFromFlags(), FLAGS_topic);
  return nullptr;
}

int Main(const std::string& verb) {
  if (verb == "echo-server") {
    EchoServer(FLAGS_listen_address).Wait();
    return 0;
  }
  const server::SystemClock clock;
  nlohmann::json result = Run(verb, clock);
  if (result.is_null()) {
    std::cerr << kUsage << "\n";
    return 2;
  }
  result["round"] = FLAGS_round;
  std::cout << result.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace quorum::bench

int main(int argc, char** argv) {
  gflags::SetUsageMessage(quorum::bench::kUsage);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  return quorum::bench::Main(argc == 2 ? argv[1] : "");
}
