// SimOptions: everything that is drawn from a seed before the run: the shape of the cluster, its
// time-outs and bounds, the network, the disks, the faults and the clients ("swarm": each seed
// switches some fault kinds off and draws the rates of the others).
//
// Thread: a plain value.

#pragma once

#include <array>
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
  kEmptyVoters,
  kForgetfulDisks,
  kCount,
};

inline constexpr size_t kFaultKinds = static_cast<size_t>(FaultKind::kCount);

const char* Name(FaultKind kind);

struct NetworkOptions {
  // One way, drawn evenly for each message.
  Duration delay_min;
  Duration delay_max;
  // Now and then a message takes up to `slow_max`.
  uint64_t slow_ppm = 0;
  Duration slow_max;
  uint64_t request_loss_ppm = 0;
  uint64_t answer_loss_ppm = 0;
  uint64_t duplicate_ppm = 0;
  // How often a request to a dead process fails at once instead of timing out.
  uint64_t refuse_ppm = 0;
};

struct DiskOptions {
  Duration sync_min;
  Duration sync_max;
  uint64_t slow_ppm = 0;
  Duration slow_max;
  // How often a sync covers only one write set of several that wait.
  uint64_t single_ppm = 0;
  // A crash happens rather in the middle of writes: how often it waits for some.
  uint64_t crash_in_write_ppm = 0;
};

struct WorkloadOptions {
  int clients = 1;
  // Appends that one client has out at a time.
  int pipeline = 1;
  Duration think_max;
  int records_max = 1;
  int payload_bytes_max = 16;
  // How often an append has no deadline, and how long the others have.
  uint64_t no_deadline_ppm = 0;
  Duration deadline_max;
};

struct SimOptions {
  uint64_t seed = 0;
  int voter_nodes = 3;
  int observer_nodes = 0;
  int partitions = 1;
  // How many of them are born while the run goes on.
  int late_partitions = 0;
  uint32_t lanes = 1;
  int shards_max = 1;
  // How often an initial voter learns of its partition long after the others.
  uint64_t late_birth_ppm = 0;
  // More disks are lost than a partition survives. All that is left to promise is that nobody cuts
  // away what it knows to be committed.
  bool beyond_tolerance = false;
  // How long a round of a shard takes.
  Duration round_cost;

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
  // The mean time between two faults of a kind; zero switches the kind off.
  std::array<Duration, kFaultKinds> fault_every{};
  // How long a fault lasts at most, where it lasts.
  Duration fault_length_max;
  // How long faults happen. After that everything is healed.
  Duration safety_length;

  Duration EveryOf(FaultKind kind) const { return fault_every[static_cast<size_t>(kind)]; }
};

SimOptions DrawOptions(uint64_t seed);

// One line, for people.
std::string Describe(const SimOptions& options);

}  // namespace quorum::sim
