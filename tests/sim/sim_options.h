// SimOptions: everything that is drawn from a seed before the run: the shape of the cluster, its
// time-outs and bounds, the network, the disks, the faults and the clients ("swarm": each seed
// switches some fault kinds off and draws the rates of the others).
//
// Thread: a plain value.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "service/base/time.h"
#include "service/raft/config.h"

namespace quorum::sim {

enum class FaultKind : size_t {
  kCrash,
  kPowerCut,
  kPowerCutAll,
  kPause,
  kCutOneWay,
  kCutBothWays,
  kIsolate,
  kSplit,
  kSwizzle,
  kSlowDisk,
  kStuckDisk,
  kClock,
  kResign,
  kShutdown,
  kDamage,
  kWipe,
  kBury,
  kStallController,
  kEmptyVoters,
  kForgetfulDisks,
  kDepose,
  kCount,
};

inline constexpr size_t kFaultKinds = static_cast<size_t>(FaultKind::kCount);

const char* Name(FaultKind kind);

struct NetworkOptions {
  // One way, drawn evenly for each message.
  Duration delay_min = Duration::zero();
  Duration delay_max = Duration::zero();
  // Now and then a message takes up to `slow_max`.
  uint64_t slow_ppm = 0;
  Duration slow_max = Duration::zero();
  uint64_t request_loss_ppm = 0;
  uint64_t answer_loss_ppm = 0;
  uint64_t duplicate_ppm = 0;
  // How often a request to a dead process fails at once instead of timing out.
  uint64_t refuse_ppm = 0;
};

struct DiskOptions {
  Duration sync_min = Duration::zero();
  Duration sync_max = Duration::zero();
  uint64_t slow_ppm = 0;
  Duration slow_max = Duration::zero();
  // How often a sync covers only one write set of several that wait.
  uint64_t single_ppm = 0;
  // A crash happens rather in the middle of writes: how often it waits for some.
  uint64_t crash_in_write_ppm = 0;
};

struct WorkloadOptions {
  int clients = 1;
  // Appends that one client has out at a time.
  int pipeline = 1;
  Duration think_max = Duration::zero();
  int records_max = 1;
  int payload_bytes_max = 16;
  // How often an append expects the log to end where its client believes that it does, and how
  // often it is for the epoch only that the client has seen last.
  uint64_t conditional_ppm = 0;
  uint64_t fenced_ppm = 0;
  // How often an append has no deadline, and how long the others have.
  uint64_t no_deadline_ppm = 0;
  Duration deadline_max = Duration::zero();
};

struct TopicOptions {
  // Partitions of all topics together that shall exist at a time, at most.
  int partitions = 1;
  // How many of them are created while the run goes on.
  int late_partitions = 0;
  // How often a topic has a replica on every founding node; else any number of them.
  uint64_t wide_ppm = 0;
  // The mean time from the creation of a topic to its deletion; zero for ever. After a pause it is
  // created again under its old name.
  Duration life_mean = Duration::zero();
  // How long an administrator waits for an answer at most.
  Duration deadline_max = Duration::zero();
};

struct ProducerOptions {
  int idempotent = 0;
  // Each writes under a name of its own, by turns.
  int named_pairs = 0;
  // Batches that one producer has out at a time. Range [1, 5].
  int window = 1;
  // How often, at each batch, a producer begins anew instead, under another id or the next epoch.
  uint64_t begin_anew_ppm = 0;
  // How often a batch expects the log to end where its producer believes that it will, and how
  // often it is for the epoch only that the producer has seen last.
  uint64_t conditional_ppm = 0;
  uint64_t fenced_ppm = 0;
  // How often a batch is sent to the node that led before the one that is said to lead.
  uint64_t deposed_ppm = 0;
  // A producer that has been silent for so long is forgotten.
  Duration expiry = std::chrono::hours(24);
};

struct SimOptions {
  uint64_t seed = 0;
  // Those that found the cluster: the voters of `__metadata`.
  int voter_nodes = 3;
  // Those that join it.
  int observer_nodes = 0;
  TopicOptions topics;
  // Faults and clients begin only when the cluster is there, with its first topics.
  bool calm_start = false;
  uint32_t lanes = 1;
  int shards_max = 1;
  // How often the controller of an initial voter is stalled from the creation of a partition on, so
  // that the replica is born long after the others.
  uint64_t late_birth_ppm = 0;
  // More disks are lost than a partition survives. All that is left to promise is that nobody cuts
  // away what it knows to be committed.
  bool beyond_tolerance = false;
  // How long a round of a shard takes.
  Duration round_cost = Duration::zero();

  raft::Config raft;
  size_t round_items_max = 4096;
  size_t cache_bytes_max = 1 << 20;
  size_t fetch_bytes_max = 1 << 20;
  size_t fetch_entries_max = 1000;
  size_t mailbox_max = 100'000;
  size_t unsynced_bytes_max = 1 << 20;

  NetworkOptions network;
  DiskOptions disk;
  WorkloadOptions workload;
  ProducerOptions producers;
  // The mean time between two faults of a kind; zero switches the kind off.
  std::array<Duration, kFaultKinds> fault_every{};
  // How long a fault lasts at most, where it lasts.
  Duration fault_length_max = Duration::zero();
  // How long faults happen. After that everything is healed.
  Duration safety_length = Duration::zero();

  Duration EveryOf(FaultKind kind) const { return fault_every[static_cast<size_t>(kind)]; }
};

SimOptions DrawOptions(uint64_t seed);

// One line, for people.
std::string Describe(const SimOptions& options);

}  // namespace quorum::sim
