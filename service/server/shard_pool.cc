#include "service/server/shard_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/base/prng.h"
#include "service/raft/replica.h"
#include "service/server/loop_thread.h"
#include "service/shard/shard.h"

namespace quorum::server {
namespace {

// Gauges are counted anew at most this often: it takes a walk over all replicas of the shard.
constexpr Duration kGaugePeriod = std::chrono::seconds(1);

}  // namespace

struct ShardPool::Runner {
  Runner(const shard::ShardConfig& config, const Parts& parts)
      : clock(parts.clock),
        observer(&stats, &parts.clock, parts.outputs),
        shard(config,
              shard::ShardSeams{parts.clock, parts.writer, parts.reader, parts.transport, observer},
              [this] { waker.Wake(); }) {}

  MonoTime Round() {
    const MonoTime next = shard.RunOnce();
    stats.unsynced_bytes = shard.unsynced_bytes();
    stats.waiters = shard.waiter_count();
    const MonoTime now = clock.Now();
    if (now - gauges_at >= kGaugePeriod) {
      gauges_at = now;
      CountGauges();
    }
    return next;
  }

  void CountGauges();

  const Clock& clock;
  ShardStats stats;
  NodeObserver observer;
  Waker waker;
  shard::Shard shard;
  MonoTime gauges_at;
  std::unique_ptr<LoopThread> thread;
};

void ShardPool::Runner::CountGauges() {
  std::array<uint64_t, kRoles.size()> roles{};
  uint64_t quarantined = 0;
  for (const PartitionId& id : shard.Partitions()) {
    const raft::Replica* replica = shard.Find(id);
    const auto* role = std::find(kRoles.begin(), kRoles.end(), replica->role());
    ++roles[static_cast<size_t>(role - kRoles.begin())];
    if (replica->quarantine().has_value()) ++quarantined;
  }
  for (size_t i = 0; i < roles.size(); ++i) stats.roles[i] = roles[i];
  stats.quarantined = quarantined;
  observer.Forget([this](PartitionId id) { return shard.Find(id) != nullptr; });
}

ShardPool::ShardPool(const shard::ShardConfig& config, size_t count, const Parts& parts)
    : parts_(parts), lane_count_(config.lane_count) {
  CHECK_GT(count, 0u);
  Prng seeds(config.seed);
  shard::ShardConfig part = config;
  part.cache_bytes_max = config.cache_bytes_max / count;
  part.unsynced_bytes_max = config.unsynced_bytes_max / count;
  part.fetched_unsynced_bytes_max = config.fetched_unsynced_bytes_max / count;
  for (size_t i = 0; i < count; ++i) {
    part.seed = seeds.Fork(absl::StrCat("shard ", i)).Next();
    runners_.push_back(std::make_unique<Runner>(part, parts_));
  }
}

ShardPool::~ShardPool() { Stop(); }

void ShardPool::Open(const std::vector<storage::RecoveredReplica>& replicas) {
  std::vector<std::vector<storage::RecoveredReplica>> parts(runners_.size());
  for (const storage::RecoveredReplica& replica : replicas) {
    const Lane lane = shard::LaneOf(replica.partition, lane_count_);
    parts[lane.value() % runners_.size()].push_back(replica);
  }
  for (size_t i = 0; i < runners_.size(); ++i) runners_[i]->shard.Open(parts[i]);
}

void ShardPool::Start() {
  for (size_t i = 0; i < runners_.size(); ++i) {
    Runner* runner = runners_[i].get();
    runner->thread =
        std::make_unique<LoopThread>(absl::StrCat("shard-", i), &parts_.clock, &runner->waker,
                                     [runner] { return runner->Round(); });
  }
}

bool ShardPool::HandOver(Duration timeout) {
  struct Countdown {
    std::atomic<size_t> left{0};
    Waker waker;
  };
  // Shared, because a shard may count down after this function has given up.
  auto countdown = std::make_shared<Countdown>();
  countdown->left = runners_.size();
  const bool posted = PostAll([&countdown] {
    return shard::ShardCall(shard::ShutdownCall{[countdown] {
      if (--countdown->left == 0) countdown->waker.Wake();
    }});
  });
  if (!posted) return false;
  return countdown->waker.WaitUntil(parts_.clock.Now() + timeout, parts_.clock);
}

void ShardPool::Stop() {
  for (const auto& runner : runners_) runner->thread.reset();
}

shard::ShardApi& ShardPool::ForPartition(PartitionId partition) {
  return ForLane(shard::LaneOf(partition, lane_count_));
}

shard::ShardApi& ShardPool::ForLane(Lane lane) {
  return runners_[lane.value() % runners_.size()]->shard;
}

bool ShardPool::PostAll(const std::function<shard::ShardCall()>& make) {
  bool all = true;
  for (const auto& runner : runners_) all = runner->shard.Post(make()) && all;
  return all;
}

std::vector<const ShardStats*> ShardPool::stats() const {
  std::vector<const ShardStats*> stats;
  for (const auto& runner : runners_) stats.push_back(&runner->stats);
  return stats;
}

size_t ShardPool::replica_count() const {
  size_t count = 0;
  for (const auto& runner : runners_) count += runner->stats.replicas.load();
  return count;
}

Duration ShardPool::OldestRound(MonoTime now) const {
  Duration oldest = Duration::zero();
  for (const auto& runner : runners_) {
    if (runner->thread != nullptr) oldest = std::max(oldest, now - runner->thread->last_round());
  }
  return oldest;
}

}  // namespace quorum::server
