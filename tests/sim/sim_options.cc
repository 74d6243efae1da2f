#include "tests/sim/sim_options.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/base/prng.h"

namespace quorum::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

struct FaultProfile {
  const char* name;
  // How often a seed has this kind of fault at all; zero for those that belong to a mode.
  uint64_t enabled_ppm;
  // The mean time between two, in election time-outs, at its densest.
  int64_t every_min;
  int64_t every_max;
};

constexpr FaultProfile kProfiles[] = {
    {"crash", 650'000, 8, 60},
    {"power-cut", 500'000, 10, 60},
    {"power-cut-all", 300'000, 20, 80},
    {"pause", 400'000, 10, 60},
    {"cut-one-way", 500'000, 6, 50},
    {"cut-both-ways", 400'000, 6, 50},
    {"isolate", 400'000, 10, 60},
    {"split", 300'000, 15, 60},
    {"swizzle", 250'000, 20, 80},
    {"slow-disk", 400'000, 10, 60},
    {"stuck-disk", 250'000, 15, 80},
    {"clock", 300'000, 10, 60},
    {"resign", 400'000, 5, 40},
    {"shutdown", 300'000, 15, 60},
    {"damage", 200'000, 15, 60},
    {"wipe", 250'000, 15, 60},
    {"bury", 250'000, 10, 60},
    {"stall-controller", 250'000, 10, 60},
    {"empty-voters", 0, 8, 30},
    {"forgetful-disks", 0, 8, 20},
    {"depose", 0, 5, 20},
};
static_assert(std::size(kProfiles) == kFaultKinds);

// One of the values, drawn evenly.
template <typename T, size_t kSize>
T Pick(Prng& prng, const T (&values)[kSize]) {
  return values[prng.Below(kSize)];
}

raft::Config DrawRaft(Prng& prng) {
  constexpr int64_t kElectionMs[] = {50, 100, 200, 500, 1000};
  raft::Config config;
  config.election_timeout = milliseconds(Pick(prng, kElectionMs));
  const Duration election = config.election_timeout;
  config.fetch_timeout = election * prng.Between(3, 5) / 2;
  config.election_backoff_max = election;
  config.request_timeout = config.fetch_timeout * prng.Between(1, 4) / 4;
  config.retry_backoff = election / prng.Between(10, 40);
  config.fetch_max_wait = config.fetch_timeout * prng.Between(5, 19) / 40;
  config.timer_grid = prng.Chance(200'000) ? Duration::zero() : election / 100;
  if (prng.Chance(100'000)) config.appends_in_flight_max = 3;
  CHECK(raft::Validate(config).empty()) << raft::Validate(config);
  return config;
}

NetworkOptions DrawNetwork(Prng& prng, Duration election) {
  constexpr int64_t kDelayParts[] = {1000, 200, 50, 10};
  constexpr uint64_t kLossPpm[] = {0, 0, 1'000, 10'000, 50'000, 150'000};
  NetworkOptions network;
  network.delay_min = microseconds(20);
  network.delay_max = network.delay_min + election / Pick(prng, kDelayParts);
  if (prng.Chance(400'000)) {
    network.slow_ppm = 1'000 + prng.Below(50'000);
    network.slow_max = election * prng.Between(1, 40) / 10;
  }
  network.request_loss_ppm = Pick(prng, kLossPpm);
  network.answer_loss_ppm = Pick(prng, kLossPpm);
  if (prng.Chance(400'000)) network.duplicate_ppm = 1'000 + prng.Below(80'000);
  network.refuse_ppm = prng.Below(1'000'001);
  return network;
}

DiskOptions DrawDisk(Prng& prng, Duration election) {
  constexpr int64_t kSyncParts[] = {1000, 200, 50, 10, 4};
  DiskOptions disk;
  disk.sync_min = microseconds(50);
  disk.sync_max = disk.sync_min + election / Pick(prng, kSyncParts);
  if (prng.Chance(400'000)) {
    disk.slow_ppm = 1'000 + prng.Below(100'000);
    disk.slow_max = election * prng.Between(1, 20) / 10;
  }
  disk.single_ppm = prng.Chance(500'000) ? prng.Below(1'000'001) : 0;
  disk.crash_in_write_ppm = 200'000 + prng.Below(800'001);
  return disk;
}

WorkloadOptions DrawWorkload(Prng& prng, Duration election) {
  WorkloadOptions workload;
  workload.clients = static_cast<int>(prng.Between(1, 5));
  workload.pipeline = prng.Chance(500'000) ? 1 : static_cast<int>(prng.Between(2, 8));
  workload.think_max = election * prng.Between(1, 40) / 20;
  workload.records_max = static_cast<int>(prng.Between(1, 5));
  workload.payload_bytes_max = static_cast<int>(prng.Between(8, 200));
  workload.conditional_ppm = prng.Chance(500'000) ? prng.Below(500'000) : 0;
  workload.fenced_ppm = prng.Chance(300'000) ? prng.Below(300'000) : 0;
  workload.no_deadline_ppm = prng.Below(500'000);
  workload.deadline_max = election * prng.Between(2, 12);
  return workload;
}

TopicOptions DrawTopics(Prng& prng, Duration election) {
  TopicOptions topics;
  topics.partitions = prng.Chance(500'000) ? static_cast<int>(prng.Between(1, 3))
                                           : static_cast<int>(prng.Between(4, 20));
  topics.late_partitions = static_cast<int>(prng.Between(0, topics.partitions / 2));
  topics.wide_ppm = prng.Chance(500'000) ? 1'000'000 : 500'000;
  if (prng.Chance(500'000)) topics.life_mean = election * prng.Between(10, 60);
  topics.deadline_max = election * prng.Between(4, 20);
  return topics;
}

ProducerOptions DrawProducers(Prng& prng, Duration election) {
  ProducerOptions producers;
  producers.idempotent = static_cast<int>(prng.Below(4));
  producers.named_pairs = static_cast<int>(prng.Below(3));
  producers.window = prng.Chance(300'000) ? 1 : static_cast<int>(prng.Between(2, 5));
  producers.begin_anew_ppm = 10'000 + prng.Below(150'000);
  // Now and then short enough to be forgotten meanwhile, or when a wall clock jumps.
  if (prng.Chance(500'000)) {
    producers.expiry = election * prng.Between(20, 100);
    producers.expiry += std::chrono::seconds(prng.Between(0, 60));
  }
  return producers;
}

// From a stream of their own, which shifts nothing else; its name is one under which the pinned
// seeds find what they found before there were conditions.
void DrawProducerConditions(Prng prng, ProducerOptions* producers) {
  if (!prng.Chance(500'000)) return;
  producers->conditional_ppm = 100'000 + prng.Below(800'000);
  if (prng.Chance(700'000)) producers->fenced_ppm = prng.Below(300'000);
}

void DrawFaults(Prng& prng, SimOptions* options) {
  // One seed in ten has a single kind, so that each is also seen alone; one in twenty has none.
  const bool none = prng.Chance(options->beyond_tolerance ? 500'000 : 50'000);
  const bool single = prng.Chance(100'000);
  constexpr size_t kDrawn = static_cast<size_t>(FaultKind::kDepose);
  const uint64_t only = prng.Below(kDrawn);
  for (size_t kind = 0; kind < kDrawn; ++kind) {
    const FaultProfile& profile = kProfiles[kind];
    const bool enabled = prng.Chance(profile.enabled_ppm);
    const Duration every =
        options->raft.election_timeout * prng.Between(profile.every_min, profile.every_max);
    if (none || profile.enabled_ppm == 0 || (single ? kind != only : !enabled)) continue;
    options->fault_every[kind] = every;
  }
  const auto add = [&](FaultKind kind) {
    const FaultProfile& profile = kProfiles[static_cast<size_t>(kind)];
    options->fault_every[static_cast<size_t>(kind)] =
        options->raft.election_timeout * prng.Between(profile.every_min, profile.every_max);
  };
  if (options->late_birth_ppm > 0 && !none) add(FaultKind::kEmptyVoters);
  if (options->beyond_tolerance) add(FaultKind::kForgetfulDisks);
  options->fault_length_max = options->raft.election_timeout * prng.Between(1, 8);
}

// Leaders are deposed that do not know it, and asked all the same. From a stream of their own, too.
void DrawDeposed(Prng prng, SimOptions* options) {
  if (!prng.Chance(300'000)) return;
  options->producers.deposed_ppm = 200'000 + prng.Below(500'000);
  options->workload.think_max =
      std::min(options->workload.think_max, options->raft.election_timeout / 2);
  constexpr size_t kKind = static_cast<size_t>(FaultKind::kDepose);
  options->fault_every[kKind] =
      options->raft.election_timeout *
      prng.Between(kProfiles[kKind].every_min, kProfiles[kKind].every_max);
}

void DrawBounds(Prng& prng, SimOptions* options) {
  constexpr size_t kRoundItems[] = {1, 3, 10, 4096, 4096, 4096};
  constexpr size_t kBytes[] = {100, 1'000, 10'000, 1'000'000, 1'000'000};
  options->round_items_max = Pick(prng, kRoundItems);
  options->cache_bytes_max = Pick(prng, kBytes);
  options->fetch_bytes_max = Pick(prng, kBytes);
  options->fetch_entries_max = prng.Chance(150'000) ? 1 + prng.Below(3) : 1000;
  // A topic of four partitions must fit into one batch of the catalog, and so must its marks.
  options->unsynced_bytes_max = prng.Chance(100'000) ? 4'000 : 1 << 20;
  options->mailbox_max = prng.Chance(100'000) ? 20 : 100'000;
}

}  // namespace

const char* Name(FaultKind kind) { return kProfiles[static_cast<size_t>(kind)].name; }

SimOptions DrawOptions(uint64_t seed) {
  constexpr int kVoterNodes[] = {1, 2, 3, 3, 3, 3, 4, 5, 5};
  Prng prng = Prng(seed).Fork("options");
  SimOptions options;
  options.seed = seed;
  options.voter_nodes = Pick(prng, kVoterNodes);
  options.observer_nodes = static_cast<int>(prng.Below(3));
  options.calm_start = prng.Chance(700'000);
  options.lanes = static_cast<uint32_t>(prng.Between(1, 3));
  options.shards_max = static_cast<int>(prng.Between(1, 2));
  options.late_birth_ppm = prng.Chance(400'000) ? 200'000 : 0;
  options.beyond_tolerance = options.voter_nodes >= 3 && prng.Chance(50'000);
  options.raft = DrawRaft(prng);
  const Duration election = options.raft.election_timeout;
  options.round_cost = election / prng.Between(1000, 10'000);
  DrawBounds(prng, &options);
  options.network = DrawNetwork(prng, election);
  options.disk = DrawDisk(prng, election);
  options.workload = DrawWorkload(prng, election);
  options.topics = DrawTopics(prng, election);
  options.producers = DrawProducers(prng, election);
  DrawProducerConditions(Prng(seed).Fork("conditional"), &options.producers);
  DrawFaults(prng, &options);
  DrawDeposed(Prng(seed).Fork("deposed"), &options);
  if (options.beyond_tolerance) {
    options.topics.partitions = std::min(options.topics.partitions, 2);
    options.topics.life_mean = Duration::zero();
    options.topics.wide_ppm = 1'000'000;
    options.calm_start = true;
  }
  options.topics.late_partitions =
      std::min(options.topics.late_partitions, options.topics.partitions / 2);
  // More partitions mean more events in the same time.
  options.safety_length = election * prng.Between(50, 120);
  if (options.topics.partitions > 6) options.safety_length = options.safety_length / 2;
  return options;
}

std::string Describe(const SimOptions& options) {
  const auto ms = [](Duration duration) {
    return absl::StrCat(static_cast<double>(duration.count()) / 1e6, "ms");
  };
  std::string text = absl::StrCat(
      "seed=", options.seed, " voters=", options.voter_nodes, " observers=", options.observer_nodes,
      " partitions=", options.topics.partitions,
      " late_partitions=", options.topics.late_partitions,
      " topic_life=", ms(options.topics.life_mean), options.calm_start ? " calm start" : "",
      " lanes=", options.lanes, " shards<=", options.shards_max,
      " election=", ms(options.raft.election_timeout), " fetch=", ms(options.raft.fetch_timeout),
      " request=", ms(options.raft.request_timeout), " max_wait=", ms(options.raft.fetch_max_wait),
      " delay<=", ms(options.network.delay_max));
  absl::StrAppend(
      &text, " slow_ppm=", options.network.slow_ppm, " slow<=", ms(options.network.slow_max),
      " loss_ppm=", options.network.request_loss_ppm, "/", options.network.answer_loss_ppm,
      " duplicate_ppm=", options.network.duplicate_ppm, " sync<=", ms(options.disk.sync_max),
      " slow_sync<=", ms(options.disk.slow_max), " items=", options.round_items_max,
      " cache=", options.cache_bytes_max, " fetch_bytes=", options.fetch_bytes_max,
      " mailbox=", options.mailbox_max, " clients=", options.workload.clients, "x",
      options.workload.pipeline, " producers=", options.producers.idempotent, "+",
      options.producers.named_pairs, "x", options.producers.window,
      " conditional_ppm=", options.producers.conditional_ppm, "/", options.producers.fenced_ppm,
      " deposed_ppm=", options.producers.deposed_ppm, " expiry=", ms(options.producers.expiry),
      " safety=", ms(options.safety_length), " faults:");
  if (options.beyond_tolerance) absl::StrAppend(&text, " BEYOND-TOLERANCE");
  for (size_t kind = 0; kind < kFaultKinds; ++kind) {
    if (options.fault_every[kind] == Duration::zero()) continue;
    absl::StrAppend(&text, " ", kProfiles[kind].name, "/", ms(options.fault_every[kind]));
  }
  return text;
}

}  // namespace quorum::sim
