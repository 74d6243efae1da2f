// The catalog's side of a node: the product's own controller, its way to the one of the cluster,
// and the observers that the catalog cannot name yet.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/controller/controller_state.h"
#include "tests/sim/sim_node.h"

namespace quorum::sim {
namespace {

// Tries of whatever failed, in a fetch timeout; as in production with its defaults.
constexpr int kTriesPerTimeout = 10;

}  // namespace

void SimNode::OpenController(const storage::RecoveredStore& store) {
  const raft::Config& raft = world_.options.raft;
  controller::ControllerConfig config;
  config.cluster_id = store.node.cluster_id;
  config.self = key_;
  config.incarnation = store.node.incarnation;
  config.lane_count = store.node.lanes;
  config.endpoints = {controller::NodeEndpoint{"", absl::StrCat("node-", id_.value())}};
  config.software_version = "simulated";
  config.fetch_timeout = raft.fetch_timeout;
  config.request_timeout = raft.request_timeout;
  config.retry = raft.fetch_timeout / kTriesPerTimeout;
  config.mailbox_max = world_.options.mailbox_max;
  controller_ = std::make_unique<controller::NodeController>(
      config, controller::ControllerSeams{clock_, *this, *this, *this},
      [this] { ScheduleRun(shard_count_, WorldTime::zero()); });
  controller::LocalReplicas local;
  local.catalog_position = store.catalog_position;
  for (const storage::RecoveredReplica& replica : store.replicas) {
    if (replica.tombstone) {
      local.tombstones[replica.partition] = replica.election;
      closed_observers_[replica.partition] = replica.election;
    } else {
      local.open.push_back(replica.partition);
    }
  }
  controller_->Open(local);
  ScheduleRun(shard_count_, WorldTime::zero());
}

MonoTime SimNode::RunController() {
  ++controller_rounds_;
  const MonoTime next = controller_->RunOnce();
  world_.catalog.CheckNode(id_, controller_->catalog());
  const bool led = std::exchange(leads_catalog_, controller_->leads());
  if (leads_catalog_ && !led) {
    world_.statistics.Add(Counter::kControllerChanges);
    world_.tracer.Note(id_, "is the controller");
  }
  return next;
}

void SimNode::StallController(Duration length) {
  if (!up()) return;
  world_.statistics.Add(Counter::kStalledControllers);
  world_.tracer.Note(id_, "the thread of its controller is stalled");
  stalled_until_ = std::max(stalled_until_, world_.queue.now() + length);
}

void SimNode::WakeController() {
  stalled_until_ = WorldTime::zero();
  if (up()) ScheduleRun(shard_count_, WorldTime::zero());
}

controller::ControllerApi* SimNode::ControllerOf(const ReplicaKey& key) {
  return key == key_ ? controller_.get() : nullptr;
}

std::optional<ReplicaKey> SimNode::Introduction() const {
  return up() ? std::optional<ReplicaKey>(key_) : std::nullopt;
}

shard::ShardApi& SimNode::ForPartition(PartitionId partition) { return *slots_[SlotOf(partition)]; }

shard::ShardApi& SimNode::ForLane(Lane lane) { return *slots_[SlotOf(lane)]; }

void SimNode::Register(const ReplicaKey& leader, const controller::BrokerRegistration& registration,
                       Duration timeout,
                       std::function<void(std::optional<controller::ControllerResult>)> done) {
  world_.network.CallController(id_, leader, registration, timeout, std::move(done));
}

void SimNode::OnCatalogFailure(const std::string& reason) {
  world_.failure.Report("catalog", "node ", id_.value(), " acts on it no more: ", reason);
}

void SimNode::OnFenced(const std::string& reason) {
  world_.failure.Report("fenced", "node ", id_.value(), " ", ToText(key_),
                        " ends for no reason: ", reason);
}

void SimNode::LookForLeader() {
  const raft::Replica* metadata = Find(kMetadataPartition);
  if (metadata == nullptr) return;
  // As service/server/discovery.h: who has read no voters yet knows nobody but one leader.
  if (metadata->election().leader.has_value() && !metadata->voters().Latest().empty()) return;
  const std::optional<ReplicaKey> found = world_.network.Discover(id_);
  if (!found.has_value()) return;
  (void)Post(kMetadataPartition, shard::DiscoveryCall{kMetadataPartition, {*found}});
}

void SimNode::PostUntilTaken(PartitionId partition, const shard::ShardCall& call) {
  if (Post(partition, call)) return;
  world_.queue.After(world_.options.raft.retry_backoff, [this, partition, call, life = life_] {
    if (life == life_) PostUntilTaken(partition, call);
  });
}

void SimNode::OpenObserver(PartitionId partition, const std::vector<ReplicaKey>& peers) {
  if (!up() || Find(partition) != nullptr) return;
  shard::BirthCall call;
  call.partition = partition;
  call.discovery_peers = peers;
  const auto closed = closed_observers_.find(partition);
  if (closed != closed_observers_.end()) call.election = closed->second;
  call.done = [] {};
  if (!Post(partition, call)) return;
  observed_.insert(partition);
  world_.tracer.Note(id_, absl::StrCat("observes ", ToText(partition)));
}

void SimNode::CloseObserver(PartitionId partition) {
  if (Find(partition) == nullptr) return;
  shard::BuryCall call;
  call.partition = partition;
  call.done = [this, partition, life = life_](const std::optional<ElectionState>& election) {
    if (life == life_ && election.has_value()) closed_observers_[partition] = *election;
  };
  if (!Post(partition, call)) return;
  observed_.erase(partition);
  world_.tracer.Note(id_, absl::StrCat("observes no more ", ToText(partition)));
}

void SimNode::CloseOrphans() {
  const std::set<PartitionId> observed = observed_;
  for (const PartitionId& partition : observed) {
    if (world_.catalog.deleted().count(partition) > 0) CloseObserver(partition);
  }
}

}  // namespace quorum::sim
