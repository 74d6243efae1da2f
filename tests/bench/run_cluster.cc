#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "service/base/check.h"
#include "service/base/mutex.h"
#include "tests/bench/channels.h"
#include "tests/bench/etcd_client.h"
#include "tests/bench/poll.h"
#include "tests/bench/quorum_callers.h"
#include "tests/bench/quorum_cluster.h"
#include "tests/bench/runs.h"

namespace quorum::bench {
namespace {

constexpr Duration kRecoveryTimeMax = std::chrono::seconds(60);
constexpr Duration kProbeInterval = std::chrono::milliseconds(20);
constexpr Duration kLeaderInterval = std::chrono::milliseconds(50);
constexpr Duration kProbeTimeMax = std::chrono::seconds(5);

double Milliseconds(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

nlohmann::json Mebibytes(const Usage& usage) {
  nlohmann::json sizes = nlohmann::json::array();
  for (const ProcessUsage& server : usage.servers) {
    sizes.push_back(static_cast<double>(server.rss_bytes) / (1 << 20));
  }
  return sizes;
}

std::vector<size_t> Survivors(const System& system, size_t victim) {
  CHECK_LT(victim, system.addresses.size());
  std::vector<size_t> survivors;
  for (size_t i = 0; i < system.addresses.size(); ++i) {
    if (i != victim) survivors.push_back(i);
  }
  return survivors;
}

void Kill(const System& system, size_t victim) {
  CHECK_LT(victim, system.subjects.pids.size());
  PCHECK(kill(system.subjects.pids[victim], SIGKILL) == 0);
}

// Calls once and waits for the answer.
grpc::Status CallOnce(Caller* caller) {
  Mutex mutex;
  CondVar changed;
  bool is_done = false;
  grpc::Status result;
  caller->Call([&](const grpc::Status& status) {
    MutexLock lock(&mutex);
    result = status;
    is_done = true;
    changed.NotifyAll();
  });
  MutexLock lock(&mutex);
  while (!is_done) changed.Wait(&mutex);
  return result;
}

// Commits a record in each partition; how long that took.
Duration AppendToAll(const Clock& clock, const System& system, const std::string& topic,
                     uint32_t partitions, size_t node) {
  std::vector<uint32_t> all(partitions);
  for (uint32_t i = 0; i < partitions; ++i) all[i] = i;
  const std::unique_ptr<Caller> caller = MakeAppendBatchCaller(
      MakeChannels(system.addresses[node], 1)[0], topic, all, Shape(), std::chrono::seconds(30));
  const MonoTime began = clock.Now();
  grpc::Status status;
  const bool are_committed = Poll(clock, kLeaderInterval, kRecoveryTimeMax, [&] {
    status = CallOnce(caller.get());
    return status.ok();
  });
  CHECK(are_committed) << "AppendBatch to all partitions: " << status.error_message();
  return clock.Now() - began;
}

// The probes of RunGap: new ones start while the older ones still wait.
class Probes {
 public:
  explicit Probes(const Clock& clock) : clock_(clock) {}

  ~Probes() {
    for (const auto& caller : callers_) caller->Cancel();
    MutexLock lock(&mutex_);
    while (out_ > 0) changed_.Wait(&mutex_);
  }

  void Start(std::unique_ptr<Caller> caller) {
    {
      MutexLock lock(&mutex_);
      ++out_;
    }
    callers_.push_back(std::move(caller));
    callers_.back()->Call([this](const grpc::Status& status) {
      const MonoTime now = clock_.Now();
      MutexLock lock(&mutex_);
      if (status.ok()) first_success_ = std::min(first_success_, now);
      --out_;
      changed_.NotifyAll();
    });
  }

  // kNever until a probe has succeeded; waits for that for a moment.
  MonoTime FirstSuccess() {
    MutexLock lock(&mutex_);
    const MonoTime end = clock_.Now() + kProbeInterval;
    while (first_success_ == kNever) {
      const Duration left = end - clock_.Now();
      if (left <= Duration::zero()) break;
      changed_.WaitFor(&mutex_, left);
    }
    return first_success_;
  }

 private:
  const Clock& clock_;
  std::vector<std::unique_ptr<Caller>> callers_;
  Mutex mutex_;
  CondVar changed_;
  size_t out_ ABSL_GUARDED_BY(mutex_) = 0;
  MonoTime first_success_ ABSL_GUARDED_BY(mutex_) = kNever;
};

}  // namespace

nlohmann::json RunIdle(const Clock& clock, const System& system, const IdleSpec& spec) {
  QuorumCluster cluster(clock, system.addresses);
  const Usage empty = Measure(system.subjects);
  const MonoTime began = clock.Now();
  cluster.CreateTopic(spec.topic, spec.partitions);
  cluster.WaitForLeaders(spec.topic, spec.partitions);
  const MonoTime led = clock.Now();
  Pause(spec.settle);
  const Usage before = Measure(system.subjects);
  const MonoTime measured = clock.Now();
  Pause(spec.time_max);
  const Usage after = Measure(system.subjects);
  const double seconds = Milliseconds(clock.Now() - measured) / 1000;
  nlohmann::json shares = nlohmann::json::array();
  for (size_t i = 0; i < after.servers.size(); ++i) {
    shares.push_back((after.servers[i].cpu_seconds - before.servers[i].cpu_seconds) / seconds);
  }
  nlohmann::json report = {{"run", "idle"},
                           {"system", system.name},
                           {"partitions", spec.partitions},
                           {"created_and_led_ms", Milliseconds(led - began)},
                           {"seconds", seconds},
                           {"cpu_share_by_node", shares},
                           {"rss_mib_by_node", Mebibytes(after)},
                           {"rss_mib_by_node_empty", Mebibytes(empty)}};
  if (before.syncs.has_value() && after.syncs.has_value()) {
    report["syncs_per_second"] = (*after.syncs - *before.syncs) / seconds;
  }
  return report;
}

nlohmann::json RunFailover(const Clock& clock, const System& system, const std::string& topic,
                           uint32_t partitions, size_t victim) {
  QuorumCluster cluster(clock, system.addresses);
  const std::vector<size_t> survivors = Survivors(system, victim);
  const std::vector<int> before = cluster.WaitForLeaders(topic, partitions);
  const auto led_by_victim = std::count(before.begin(), before.end(), static_cast<int>(victim));
  Kill(system, victim);
  const MonoTime killed = clock.Now();
  size_t led = 0;
  const bool are_led = Poll(clock, kLeaderInterval, kRecoveryTimeMax, [&] {
    const std::vector<int> leaders = cluster.Leaders(topic, partitions, survivors);
    led = partitions - static_cast<size_t>(std::count(leaders.begin(), leaders.end(), -1));
    return led == partitions;
  });
  CHECK(are_led) << "after a minute " << led << " of " << partitions << " partitions are led";
  const Duration all_led = clock.Now() - killed;
  const Duration append = AppendToAll(clock, system, topic, partitions, survivors[0]);
  return {{"run", "failover"},
          {"system", system.name},
          {"partitions", partitions},
          {"victim", victim + 1},
          {"led_by_victim", led_by_victim},
          {"all_led_ms", Milliseconds(all_led)},
          {"append_to_all_ms", Milliseconds(append)}};
}

nlohmann::json RunGap(const Clock& clock, const System& system, const std::string& topic) {
  const bool is_quorum = system.name == "quorum";
  size_t victim = 0;
  if (is_quorum) {
    QuorumCluster cluster(clock, system.addresses);
    cluster.CreateTopic(topic, 1);
    victim = static_cast<size_t>(cluster.WaitForLeaders(topic, 1)[0]);
  } else {
    victim = WaitForEtcdLeader(clock, system.addresses);
  }
  const auto make_probe = [&](const std::shared_ptr<grpc::Channel>& channel) {
    return is_quorum ? MakeAppendCaller(channel, topic, 0, Shape(), std::nullopt, kProbeTimeMax)
                     : MakeEtcdCaller(channel, Shape(), kProbeTimeMax);
  };
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (const size_t node : Survivors(system, victim)) {
    channels.push_back(MakeChannels(system.addresses[node], 1)[0]);
    const grpc::Status warm = CallOnce(make_probe(channels.back()).get());
    CHECK(warm.ok()) << "before the kill: " << warm.error_message();
  }
  Kill(system, victim);
  const MonoTime killed = clock.Now();
  Probes probes(clock);
  MonoTime committed = kNever;
  for (size_t i = 0; committed == kNever; ++i) {
    CHECK(clock.Now() - killed < kRecoveryTimeMax) << "no commit within a minute of the kill";
    probes.Start(make_probe(channels[i % channels.size()]));
    committed = probes.FirstSuccess();
  }
  return {{"run", "gap"},
          {"system", system.name},
          {"victim", victim + 1},
          {"next_commit_ms", Milliseconds(committed - killed)}};
}

}  // namespace quorum::bench
