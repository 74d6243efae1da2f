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
// While a start is watched.
constexpr Duration kStartPeriod = std::chrono::milliseconds(100);

}  // namespace

struct ShardPool::Runner {
  Runner(const shard::ShardConfig& config, const Parts& parts)
      : clock(parts.clock),
        facts_max(parts.facts_max),
        observer(&stats, &parts.clock, parts.outputs),
        shard(config,
              shard::ShardSeams{parts.clock, parts.writer, parts.reader, parts.transport, observer},
              [this] { waker.Wake(); }) {}

  MonoTime Round() {
    const MonoTime next = shard.RunOnce();
    stats.unsynced_bytes = shard.unsynced_bytes();
    stats.waiters = shard.waiter_count();
    const MonoTime now = clock.Now();
    const Duration period = stats.catching_up > 0 ? kStartPeriod : kGaugePeriod;
    // What is born must not pass for a replica that is in step.
    if (now - gauges_at >= period || stats.replicas != counted) {
      gauges_at = now;
      CountGauges();
    }
    // Nobody wakes the shard for the count.
    return stats.catching_up > 0 ? std::min(next, gauges_at + kStartPeriod) : next;
  }

  void CountGauges();
  void CountStanding(const std::vector<PartitionId>& ids);
  void ShowFacts(const std::vector<PartitionId>& ids);

  const Clock& clock;
  const size_t facts_max;
  PartitionFactsBoard facts;
  ShardStats stats;
  NodeObserver observer;
  Waker waker;
  shard::Shard shard;
  MonoTime gauges_at;
  // Replicas when the gauges were counted.
  uint64_t counted = 0;
  std::unique_ptr<LoopThread> thread;
};

void ShardPool::Runner::CountGauges() {
  std::array<uint64_t, kRoles.size()> roles{};
  uint64_t quarantined = 0;
  const std::vector<PartitionId> ids = shard.Partitions();
  for (const PartitionId& id : ids) {
    const raft::Replica* replica = shard.Find(id);
    const auto* role = std::find(kRoles.begin(), kRoles.end(), replica->role());
    ++roles[static_cast<size_t>(role - kRoles.begin())];
    if (replica->quarantine().has_value()) ++quarantined;
  }
  for (size_t i = 0; i < roles.size(); ++i) stats.roles[i] = roles[i];
  stats.quarantined = quarantined;
  CountStanding(ids);
  ShowFacts(ids);
  counted = ids.size();
  observer.Forget([this](PartitionId id) { return shard.Find(id) != nullptr; });
}

void ShardPool::Runner::CountStanding(const std::vector<PartitionId>& ids) {
  uint64_t in_step = 0;
  uint64_t catching_up = 0;
  Duration lag = Duration::zero();
  for (const PartitionId& id : ids) {
    const raft::Replica& replica = *shard.Find(id);
    // Whoever mends what is quarantined sees it elsewhere; it will never be in step.
    const bool counts = replica.is_voter() && !replica.quarantine().has_value();
    const bool behind = counts && !replica.was_in_step();
    if (behind) ++catching_up;
    if (!behind && id != kMetadataPartition) ++in_step;
    if (counts) lag = std::max(lag, replica.Lag(clock.Now()));
  }
  // In this order: who sees a replica among those in step sees the others that came with it.
  stats.catching_up = catching_up;
  stats.lag_ms =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(lag).count());
  stats.in_step = in_step;
}

void ShardPool::Runner::ShowFacts(const std::vector<PartitionId>& ids) {
  std::vector<PartitionFacts> shown;
  if (ids.size() > facts_max) {
    facts.Set(std::move(shown));
    return;
  }
  for (const PartitionId& id : ids) {
    const raft::Replica& replica = *shard.Find(id);
    PartitionFacts row;
    row.partition = id;
    row.role = replica.role();
    if (replica.election().leader.has_value()) row.leader = replica.election().leader->id;
    row.epoch = replica.election().epoch;
    row.high_watermark = replica.high_watermark();
    row.log_end = replica.log().end();
    row.lag = replica.Lag(clock.Now());
    shown.push_back(row);
  }
  facts.Set(std::move(shown));
}

ShardPool::ShardPool(const shard::ShardConfig& config, size_t count, const Parts& parts)
    : parts_(parts), lane_count_(config.lane_count) {
  CHECK_GT(count, 0u);
  // A shard without a lane has nothing to do, and no use for a part of the memory.
  count = std::min<size_t>(count, lane_count_);
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

ShardPool::Standing ShardPool::standing() const {
  Standing standing;
  for (const auto& runner : runners_) {
    const ShardStats& stats = runner->stats;
    standing.in_step += stats.in_step.load();
    standing.catching_up += stats.catching_up.load();
    standing.lag = std::max<Duration>(standing.lag, std::chrono::milliseconds(stats.lag_ms.load()));
  }
  return standing;
}

std::vector<PartitionFacts> ShardPool::facts() const {
  std::vector<PartitionFacts> all;
  if (replica_count() > parts_.facts_max) return all;
  for (const auto& runner : runners_) {
    for (const PartitionFacts& row : runner->facts.Get()) all.push_back(row);
  }
  return all;
}

Duration ShardPool::OldestRound(MonoTime now) const {
  Duration oldest = Duration::zero();
  for (const auto& runner : runners_) {
    if (runner->thread != nullptr) oldest = std::max(oldest, now - runner->thread->last_round());
  }
  return oldest;
}

}  // namespace quorum::server
