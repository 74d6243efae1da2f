// The outside world of a node's shards: disk, network, and what is seen of them.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/sim/sim_node.h"

namespace quorum::sim {

Duration SimNode::DrawSyncTime() {
  const DiskOptions& disk = world_.options.disk;
  const bool slow = !healed_ && prng_.Chance(disk.slow_ppm);
  return prng_.Between(disk.sync_min, slow ? disk.slow_max : disk.sync_max) + disk_extra_;
}

void SimNode::ScheduleSync() {
  if (sync_scheduled_) return;
  sync_scheduled_ = true;
  const bool single = !healed_ && prng_.Chance(world_.options.disk.single_ppm);
  const size_t count = single ? 1 : disk_.PendingWriteSets();
  world_.queue.After(DrawSyncTime(), [this, count, life = life_] {
    if (life != life_) return;
    sync_scheduled_ = false;
    if (disk_.CompleteWrites(count) && disk_.HasPending()) ScheduleSync();
  });
}

void SimNode::ScheduleReads() {
  world_.queue.After(DrawSyncTime(), [this, life = life_] {
    if (life == life_) (void)disk_.CompleteReads(SIZE_MAX);
  });
}

void SimNode::Submit(storage::WriteSet set, std::function<void()> on_durable) {
  world_.catalog.OnSubmit(process(), set);
  world_.oracle.OnSubmit(process(), set);
  const storage::WriteSet copy = set;
  disk_.Submit(std::move(set), [this, copy, on_durable = std::move(on_durable)] {
    world_.oracle.OnSynced(process(), copy);
    on_durable();
  });
  world_.statistics.Max(Counter::kSyncsInFlightMax, disk_.PendingWriteSets());
  if (after_next_submit_) std::exchange(after_next_submit_, nullptr)();
}

void SimNode::Send(shard::LaneRequest request, Duration timeout, shard::PeerDone done) {
  world_.network.Call(id_, std::move(request), timeout, std::move(done));
}

void SimNode::OnTrace(PartitionId partition, const raft::TraceEvent& event) {
  world_.tracer.Trace(id_, partition, event);
  world_.oracle.OnTrace(process(), partition, event);
}

void SimNode::OnQuarantine(PartitionId partition, const std::string& reason) {
  world_.statistics.Add(Counter::kQuarantines);
  world_.tracer.Note(id_, absl::StrCat(ToText(partition), " is quarantined: ", reason));
  const auto& replicas = world_.oracle.partitions().at(partition).replicas;
  const auto found = replicas.find(key_);
  if (found != replicas.end() && found->second.damaged) return;
  world_.failure.Report("quarantine", ToText(partition), " ", ToText(key_),
                        " quarantines itself for no fault of its disk: ", reason);
}

void SimNode::OnMessageLeaves(PartitionId partition) {
  world_.oracle.OnMessageLeaves(process(), partition);
}

void SimNode::OnVoteLeaves(PartitionId partition, Epoch epoch, const ReplicaKey& candidate) {
  world_.oracle.OnVoteLeaves(process(), partition, epoch, candidate);
}

// What runs beside the shards in a process: the watchdog of the disk, the floor of an idle one, and
// the search for a cluster whose leader is not known.
void SimNode::Housekeep() {
  const Duration period = world_.options.raft.fetch_timeout / 4;
  world_.queue.After(period, [this] { Housekeep(); });
  if (!up() || world_.queue.now() < paused_until_) return;
  if (disk_.watchdog().Outstanding(clock_.Now()) > world_.options.raft.fetch_timeout) {
    world_.tracer.Note(id_, "the disk does not answer: hands over");
    for (const auto& shard : slots_) (void)shard->Post(shard::ResignAllCall{});
  }
  if (!disk_.HasPending()) disk_.RaiseIdleFloor();
  LookForLeader();
}

size_t SimNode::waiter_count() const {
  size_t count = 0;
  for (const auto& shard : slots_) count += shard->waiter_count();
  return count;
}

size_t SimNode::unsynced_bytes() const {
  size_t bytes = 0;
  for (const auto& shard : slots_) bytes += shard->unsynced_bytes();
  return bytes;
}

void SimNode::CheckAll(size_t waiters_max) {
  for (const PartitionId& partition : Partitions()) {
    world_.oracle.CheckReplica(process(), partition);
  }
  // Behind a slow disk answers pile up, to which a bound of the shard's applies; when it has done
  // its work, nothing of them may be left.
  for (const auto& shard : slots_) {
    // The bound, and the entries of the last request that was taken below it.
    if (shard->gated_count() > 0) waiters_max += kGatedMax + shard->Partitions().size();
  }
  if (waiter_count() > waiters_max) {
    world_.failure.Report("bounds", "node ", id_.value(), " waits for ", waiter_count(),
                          " answers; at most ", waiters_max, " can be open");
  }
}

}  // namespace quorum::sim
