// MiniCluster: nodes of real shards, real controllers and simulated disks on one thread, over a
// network without faults. Time moves only in RunFor and RunUntil, a millisecond at a time; every
// disk write and message takes one of them. For faults there is tests/sim.

#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/controller/controller_state.h"
#include "service/controller/node_controller.h"
#include "service/shard/shard.h"
#include "storage/memory/memory_disk.h"

namespace quorum::controller {

class ManualClock : public Clock {
 public:
  MonoTime Now() const override { return now_; }
  int64_t WallTimeMs() const override {
    return 1'700'000'000'000 + now_.time_since_epoch().count() / 1'000'000;
  }
  void Advance(Duration by) { now_ += by; }

 private:
  MonoTime now_{std::chrono::seconds(1)};
};

class MiniCluster;

// One node; the process on it can be stopped and started again.
class MiniNode : public shard::PeerTransport, public shard::ShardDirectory, public ControllerLink {
 public:
  MiniNode(MiniCluster* cluster, NodeId id, DirectoryId directory);

  void Format(const std::optional<VoterSet>& initial_voters);
  void Start();
  void Stop();
  bool up() const { return controller_ != nullptr; }
  // A blank disk under a new directory id, formatted to join.
  void Wipe(DirectoryId directory);

  const ReplicaKey& key() const { return key_; }
  NodeController& controller() { return *controller_; }
  const raft::Replica* Find(PartitionId partition) const;
  bool HasReplica(PartitionId partition) const { return Find(partition) != nullptr; }
  const std::string& fenced() const { return fenced_; }
  const std::string& failure() const { return failure_; }
  const std::vector<std::string>& refusals() const { return refusals_; }
  storage::MemoryDisk& disk() { return disk_; }

  void RunOnce();

  // The seams.
  void Send(shard::LaneRequest request, Duration timeout, shard::PeerDone done) override;
  shard::ShardApi& ForPartition(PartitionId) override { return *shard_; }
  shard::ShardApi& ForLane(Lane) override { return *shard_; }
  void Register(const ReplicaKey& leader, const BrokerRegistration& registration, Duration timeout,
                std::function<void(std::optional<ControllerResult>)> done) override;
  void OnNode(const NodeView& node) override;
  void OnRegistrationRefused(const std::string& reason) override { refusals_.push_back(reason); }
  void OnCatalogFailure(const std::string& reason) override { failure_ = reason; }
  void OnFenced(const std::string& reason) override { fenced_ = reason; }

  shard::ShardApi* shard() { return shard_.get(); }

 private:
  MiniCluster& cluster_;
  ReplicaKey key_;
  storage::MemoryDisk disk_;
  shard::ShardObserver observer_;
  std::unique_ptr<shard::Shard> shard_;
  std::unique_ptr<NodeController> controller_;
  // Raised when the process stops: answers to an earlier one are dropped.
  uint64_t life_ = 0;
  std::string fenced_;
  std::string failure_;
  std::vector<std::string> refusals_;
};

class MiniCluster {
 public:
  // Nodes 1..voters found the cluster, the next `observers` join it.
  MiniCluster(int voters, int observers);

  // What nodes that start from now on have.
  size_t creations_asked_max = 1'000;

  MiniNode& node(int id) { return *nodes_.at(NodeId(id)); }
  ManualClock& clock() { return clock_; }
  std::vector<MiniNode*> Up();
  // The node that leads `__metadata` and is ready, or null.
  MiniNode* Controller();

  void RunFor(Duration time);
  // False when `condition` does not hold within `limit`.
  bool RunUntil(const std::function<bool()>& condition, Duration limit = std::chrono::seconds(30));

  // Asks the controller, waits for the answer.
  ControllerResult Create(const std::string& name, uint32_t partitions,
                          std::optional<uint32_t> replicas);
  ControllerResult Delete(const std::string& name);
  ControllerResult AllocateProducerIds(uint32_t count);
  // True once every node that is up has registered.
  bool AllRegistered();
  shard::AppendResult Append(MiniNode& leader, PartitionId partition, const std::string& value);
  // The node whose replica leads and is ready; null when none does.
  MiniNode* LeaderOf(PartitionId partition);

  // Delivers `work` in the next millisecond.
  void Post(std::function<void()> work) { network_.push_back(std::move(work)); }
  MiniNode* Find(NodeId id);

 private:
  ManualClock clock_;
  std::deque<std::function<void()>> network_;
  std::map<NodeId, std::unique_ptr<MiniNode>> nodes_;
};

}  // namespace quorum::controller
