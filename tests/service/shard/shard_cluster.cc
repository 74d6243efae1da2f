#include "tests/service/shard/shard_cluster.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "service/base/check.h"
#include "service/base/overloaded.h"
#include "storage/memory/memory_disk.h"

namespace quorum::shard {
namespace {

constexpr Duration kLatency = Ms(1);

}  // namespace

struct ShardCluster::Node : public PeerTransport, public ShardObserver {
  Node(ShardCluster* owner, int32_t node) : cluster(*owner), id(node), disk(&owner->clock_) {
    config.cluster_id = kCluster;
    config.self = Key(node);
    config.lane_count = 1;
    config.seed = static_cast<uint64_t>(node);
    storage::FormatPlan plan;
    plan.identity.cluster_id = kCluster;
    plan.identity.node = config.self.id;
    plan.identity.directory = config.self.directory;
    plan.identity.lanes = 1;
    CHECK(!disk.Format(plan).has_value());
    storage::RecoveredStore store;
    CHECK(!disk.Recover({kCluster, config.self.id}, &store).has_value());
    config.incarnation = store.node.incarnation;
    shard = std::make_unique<Shard>(config, ShardSeams{cluster.clock_, disk, disk, *this, *this},
                                    [this] { due = true; });
    shard->Open(store.replicas);
  }

  void Send(LaneRequest request, Duration timeout, PeerDone done) override {
    cluster.Send(id, std::move(request), timeout, std::move(done));
  }

  void RunDue(MonoTime now) {
    if (disk.HasPending()) {
      ++cluster.traffic_.syncs;
      disk.CompleteWrites(disk.PendingWriteSets());
    }
    if (disk.HasPendingReads()) disk.CompleteReads(SIZE_MAX);
    while (due || next <= now) {
      due = false;
      next = shard->RunOnce();
    }
  }

  ShardCluster& cluster;
  const int32_t id;
  storage::MemoryDisk disk;
  ShardConfig config;
  std::unique_ptr<Shard> shard;
  bool due = true;
  MonoTime next = kNever;
};

ShardCluster::ShardCluster() {
  for (int32_t id = 1; id <= kNodes; ++id) {
    nodes_[static_cast<size_t>(id - 1)] = std::make_unique<Node>(this, id);
  }
}

ShardCluster::~ShardCluster() = default;

ShardCluster::Node* ShardCluster::Find(int32_t node) const {
  return nodes_.at(static_cast<size_t>(node - 1)).get();
}

void ShardCluster::Send(int32_t from, LaneRequest request, Duration timeout, PeerDone done) {
  std::visit(Overloaded{
                 [&](const VoteBatch&) { ++traffic_.votes; },
                 [&](const BeginBatch&) { ++traffic_.begins; },
                 [&](const EndBatch&) { ++traffic_.ends; },
                 [&](const FetchBatch& fetch) {
                   ++traffic_.fetches;
                   traffic_.fetch_entries += fetch.entries.size();
                 },
             },
             request.body);
  const int32_t to = request.envelope.to.key.id.value();
  const MonoTime late = clock_.Now() + timeout;
  net_.emplace(clock_.Now() + kLatency, [this, from, to, late, request = std::move(request),
                                         done = std::move(done)]() mutable {
    if (Find(from) == nullptr) return;
    if (Find(to) == nullptr) {
      net_.emplace(late, [this, from, done = std::move(done)] {
        if (Find(from) != nullptr) done(std::nullopt);
      });
      return;
    }
    const auto reply = [this, from, done = std::move(done)](LaneResponse response) {
      net_.emplace(clock_.Now() + kLatency, [this, from, done, response = std::move(response)] {
        if (Find(from) != nullptr) done(response);
      });
    };
    CHECK(Find(to)->shard->Post(std::move(request), reply));
  });
}

void ShardCluster::RunDue() {
  while (!net_.empty() && net_.begin()->first <= clock_.Now()) {
    auto message = net_.extract(net_.begin());
    message.mapped()();
  }
  for (const auto& node : nodes_) {
    if (node != nullptr) node->RunDue(clock_.Now());
  }
}

void ShardCluster::Advance(Duration by) {
  const MonoTime end = clock_.Now() + by;
  RunDue();
  while (clock_.Now() < end) {
    clock_.Advance(Ms(1));
    RunDue();
  }
}

void ShardCluster::Birth(PartitionId partition, size_t first) {
  for (const auto& node : nodes_) {
    BirthCall call;
    call.partition = partition;
    call.initial_voters = VotersOf(kNodes);
    call.position = (static_cast<size_t>(node->id - 1) + kNodes - first) % kNodes;
    call.done = [] {};
    CHECK(node->shard->Post(std::move(call)));
  }
}

void ShardCluster::Stop(int32_t node) { nodes_.at(static_cast<size_t>(node - 1)).reset(); }

int32_t ShardCluster::LeaderOf(PartitionId partition) const {
  for (const auto& node : nodes_) {
    if (node == nullptr) continue;
    const raft::Replica* replica = node->shard->Find(partition);
    if (replica != nullptr && replica->is_ready_leader()) return node->id;
  }
  return 0;
}

const raft::Replica& ShardCluster::Replica(int32_t node, PartitionId partition) const {
  const raft::Replica* replica = Find(node)->shard->Find(partition);
  CHECK(replica != nullptr);
  return *replica;
}

std::shared_ptr<bool> ShardCluster::Append(PartitionId partition) {
  auto committed = std::make_shared<bool>(false);
  AppendCall call;
  call.partition = partition;
  call.draft = DraftOf();
  call.done = [committed](const AppendResult& result) {
    *committed = result.outcome == AppendResult::Outcome::kCommitted;
  };
  const int32_t leader = LeaderOf(partition);
  CHECK_NE(leader, 0);
  CHECK(Find(leader)->shard->Post(std::move(call)));
  return committed;
}

ShardCluster::Traffic ShardCluster::TakeTraffic() { return std::exchange(traffic_, Traffic{}); }

}  // namespace quorum::shard
