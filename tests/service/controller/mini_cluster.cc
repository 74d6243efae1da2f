#include "tests/service/controller/mini_cluster.h"

#include <gtest/gtest.h>

#include <utility>

#include "service/base/check.h"
#include "service/base/record_codec.h"

namespace quorum::controller {
namespace {

constexpr char kClusterId[] = "mini";
constexpr Duration kStep = std::chrono::milliseconds(1);

DirectoryId DirectoryOf(int id) { return DirectoryId{0xd0, static_cast<uint64_t>(id)}; }

}  // namespace

MiniNode::MiniNode(MiniCluster* cluster, NodeId id, DirectoryId directory)
    : cluster_(*cluster), key_{id, directory}, disk_(&cluster->clock()) {}

void MiniNode::Format(const std::optional<VoterSet>& initial_voters) {
  storage::FormatPlan plan;
  plan.identity.cluster_id = kClusterId;
  plan.identity.node = key_.id;
  plan.identity.directory = key_.directory;
  plan.initial_voters = initial_voters;
  const auto error = disk_.Format(plan);
  CHECK(!error.has_value()) << error->message;
}

void MiniNode::Wipe(DirectoryId directory) {
  CHECK(!up());
  disk_.Wipe();
  key_.directory = directory;
  Format(std::nullopt);
}

void MiniNode::Start() {
  CHECK(!up());
  storage::RecoveredStore store;
  const auto error = disk_.Recover({kClusterId, key_.id}, &store);
  CHECK(!error.has_value()) << error->message;
  shard::ShardConfig shard_config;
  shard_config.cluster_id = kClusterId;
  shard_config.self = key_;
  shard_config.incarnation = store.node.incarnation;
  shard_config.lane_count = store.node.lanes;
  shard_config.seed =
      static_cast<uint64_t>(key_.id.value()) * 1'000 + store.node.incarnation.value();
  shard_ = std::make_unique<shard::Shard>(
      shard_config, shard::ShardSeams{cluster_.clock(), disk_, disk_, *this, observer_}, [] {});
  shard_->Open(store.replicas);
  ControllerConfig config;
  config.cluster_id = kClusterId;
  config.self = key_;
  config.incarnation = store.node.incarnation;
  config.lane_count = store.node.lanes;
  config.creations_asked_max = cluster_.creations_asked_max;
  config.endpoints = {
      NodeEndpoint{"client", "127.0.0.1:" + std::to_string(7100 + key_.id.value())}};
  controller_ = std::make_unique<NodeController>(
      config, ControllerSeams{cluster_.clock(), *this, *this, *this}, [] {});
  LocalReplicas local;
  local.catalog_position = store.catalog_position;
  for (const storage::RecoveredReplica& replica : store.replicas) {
    if (replica.tombstone) {
      local.tombstones[replica.partition] = replica.election;
    } else {
      local.open.push_back(replica.partition);
    }
  }
  controller_->Open(local);
}

void MiniNode::Stop() {
  ++life_;
  fenced_.clear();
  disk_.Crash(storage::CrashOutcome{0, 0});
  controller_.reset();
  shard_.reset();
}

const raft::Replica* MiniNode::Find(PartitionId partition) const {
  return shard_ == nullptr ? nullptr : shard_->Find(partition);
}

void MiniNode::RunOnce() {
  if (!up()) return;
  (void)shard_->RunOnce();
  (void)controller_->RunOnce();
  (void)disk_.CompleteWrites(disk_.PendingWriteSets());
  if (disk_.HasPendingReads()) (void)disk_.CompleteReads(1'000);
}

void MiniNode::Send(shard::LaneRequest request, Duration, shard::PeerDone done) {
  const NodeId to = request.envelope.to.key.id;
  const uint64_t asker = life_;
  cluster_.Post([this, asker, to, request = std::move(request), done = std::move(done)]() mutable {
    MiniNode* target = cluster_.Find(to);
    if (life_ != asker) return;
    if (target == nullptr || !target->up()) {
      done(std::nullopt);
      return;
    }
    // The answer is dropped with the process that asked.
    (void)target->shard_->Post(std::move(request),
                               [this, asker, done = std::move(done)](shard::LaneResponse response) {
                                 cluster_.Post([this, asker, done, response = std::move(response)] {
                                   if (life_ == asker) done(response);
                                 });
                               });
  });
}

void MiniNode::Register(const ReplicaKey& leader, const BrokerRegistration& registration, Duration,
                        std::function<void(std::optional<ControllerResult>)> done) {
  const uint64_t asker = life_;
  cluster_.Post([this, asker, leader, registration, done] {
    MiniNode* target = cluster_.Find(leader.id);
    if (life_ != asker) return;
    if (target == nullptr || !target->up()) {
      done(std::nullopt);
      return;
    }
    target->controller_->RegisterBroker(registration, [this, asker, done](ControllerResult result) {
      cluster_.Post([this, asker, done, result = std::move(result)] {
        if (life_ == asker) done(result);
      });
    });
  });
}

void MiniNode::OnNode(const NodeView&) {}

MiniCluster::MiniCluster(int voters, int observers) {
  std::vector<Voter> initial;
  for (int id = 1; id <= voters; ++id) {
    initial.push_back(
        Voter{ReplicaKey{NodeId(id), DirectoryOf(id)}, "127.0.0.1:" + std::to_string(7100 + id)});
  }
  for (int id = 1; id <= voters + observers; ++id) {
    auto node = std::make_unique<MiniNode>(this, NodeId(id), DirectoryOf(id));
    node->Format(id <= voters ? std::optional<VoterSet>(VoterSet(initial)) : std::nullopt);
    node->Start();
    nodes_.emplace(NodeId(id), std::move(node));
  }
}

MiniNode* MiniCluster::Find(NodeId id) {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : found->second.get();
}

std::vector<MiniNode*> MiniCluster::Up() {
  std::vector<MiniNode*> up;
  for (auto& [id, node] : nodes_) {
    if (node->up()) up.push_back(node.get());
  }
  return up;
}

MiniNode* MiniCluster::Controller() {
  for (MiniNode* node : Up()) {
    if (node->controller().leads()) return node;
  }
  return nullptr;
}

MiniNode* MiniCluster::LeaderOf(PartitionId partition) {
  for (MiniNode* node : Up()) {
    const raft::Replica* replica = node->Find(partition);
    if (replica != nullptr && replica->is_ready_leader()) return node;
  }
  return nullptr;
}

bool MiniCluster::RunUntil(const std::function<bool()>& condition, Duration limit) {
  const MonoTime end = clock_.Now() + limit;
  while (clock_.Now() < end) {
    if (condition()) return true;
    // A blank replica of the catalog is told whom to ask, as a bootstrap list would.
    for (MiniNode* node : Up()) {
      const raft::Replica* catalog = node->Find(kMetadataPartition);
      if (catalog != nullptr && !catalog->election().leader.has_value() &&
          catalog->voters().Latest().empty()) {
        (void)node->shard()->Post(
            shard::DiscoveryCall{kMetadataPartition, {nodes_.begin()->second->key()}});
      }
    }
    std::deque<std::function<void()>> work = std::move(network_);
    network_.clear();
    for (const auto& delivery : work) delivery();
    for (auto& [id, node] : nodes_) node->RunOnce();
    clock_.Advance(kStep);
  }
  return condition();
}

void MiniCluster::RunFor(Duration time) {
  (void)RunUntil([] { return false; }, time);
}

bool MiniCluster::AllRegistered() {
  MiniNode* controller = Controller();
  if (controller == nullptr) return false;
  for (MiniNode* node : Up()) {
    const Broker* broker = controller->controller().catalog().FindBroker(node->key().id);
    if (broker == nullptr || broker->key != node->key()) return false;
  }
  return true;
}

ControllerResult MiniCluster::Create(const std::string& name, uint32_t partitions,
                                     std::optional<uint32_t> replicas) {
  std::optional<ControllerResult> answer;
  TopicCreation creation;
  creation.name = name;
  creation.partitions = partitions;
  creation.replicas = replicas;
  creation.deadline = clock_.Now() + std::chrono::seconds(10);
  Controller()->controller().CreateTopic(
      creation, [&](ControllerResult result) { answer = std::move(result); });
  EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
  return *answer;
}

ControllerResult MiniCluster::Delete(const std::string& name) {
  std::optional<ControllerResult> answer;
  TopicRemoval removal;
  removal.name = name;
  removal.deadline = clock_.Now() + std::chrono::seconds(10);
  Controller()->controller().DeleteTopic(
      removal, [&](ControllerResult result) { answer = std::move(result); });
  EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
  return *answer;
}

ControllerResult MiniCluster::AllocateProducerIds(uint32_t count) {
  std::optional<ControllerResult> answer;
  ProducerIdAllocation allocation;
  allocation.count = count;
  allocation.deadline = clock_.Now() + std::chrono::seconds(10);
  Controller()->controller().AllocateProducerIds(
      allocation, [&](ControllerResult result) { answer = std::move(result); });
  EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
  return *answer;
}

shard::AppendResult MiniCluster::Append(MiniNode& leader, PartitionId partition,
                                        const std::string& value) {
  RecordsBuilder builder;
  RecordFields fields;
  fields.value = value;
  builder.Add(fields);
  shard::AppendCall call;
  call.partition = partition;
  call.draft = builder.Finish(clock_.WallTimeMs());
  call.deadline = clock_.Now() + std::chrono::seconds(10);
  std::optional<shard::AppendResult> answer;
  call.done = [&](shard::AppendResult result) { answer = std::move(result); };
  EXPECT_TRUE(leader.shard()->Post(std::move(call)));
  EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
  return *answer;
}

}  // namespace quorum::controller
