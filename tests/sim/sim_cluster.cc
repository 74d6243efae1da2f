#include "tests/sim/sim_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace quorum::sim {

SimCluster::SimCluster(const SimOptions& options, Statistics* statistics, std::ostream* trace)
    : options_(options),
      tracer_(&queue_, trace),
      oracle_(&failure_, statistics,
              [this](NodeId node, PartitionId partition) {
                return nodes_[static_cast<size_t>(node.value() - 1)]->Find(partition);
              }),
      sessions_(&failure_, statistics,
                [this](NodeId node, PartitionId partition) {
                  return nodes_[static_cast<size_t>(node.value() - 1)]->Find(partition);
                }),
      clients_(&failure_, statistics, &oracle_),
      prng_(Prng(options.seed).Fork("cluster")),
      network_(&queue_, options_.network, prng_.Fork("network"), &tracer_, statistics, &sessions_),
      world_{options_, queue_,   tracer_, *statistics, failure_,
             catalog_, network_, oracle_, sessions_,   clients_} {
  const int count = options_.voter_nodes + options_.observer_nodes;
  for (int i = 1; i <= count; ++i) {
    const int shards = static_cast<int>(prng_.Between(1, options_.shards_max));
    nodes_.push_back(std::make_unique<SimNode>(&world_, NodeId(i), shards,
                                               prng_.Fork(absl::StrCat("node ", i))));
  }
  workload_ = std::make_unique<Workload>(&world_, &nodes_, prng_.Fork("workload"));
  faults_ = std::make_unique<Faults>(&world_, &nodes_, workload_.get(), prng_.Fork("faults"));
}

SimCluster::~SimCluster() = default;

void SimCluster::CreatePartitions() {
  for (int i = 0; i < options_.partitions; ++i) {
    const auto index = static_cast<uint32_t>(i);
    if (i == 0 || i >= options_.late_partitions) {
      CreatePartition(index);
      continue;
    }
    queue_.At(prng_.Between(Duration::zero(), options_.safety_length * 3 / 4),
              [this, index] { CreatePartition(index); });
  }
}

void SimCluster::CreatePartition(uint32_t index) {
  const PartitionId partition{TopicId(2 + index / 4), index % 4};
  Assignment assignment;
  std::vector<NodeId> nodes;
  for (int i = 1; i <= options_.voter_nodes; ++i) nodes.push_back(NodeId(i));
  // All voter nodes, mostly; the order of the assignment is the order of the first campaigns.
  for (size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[prng_.Below(i)]);
  if (prng_.Chance(250'000)) nodes.resize(1 + prng_.Below(nodes.size()));
  for (const NodeId node : nodes) assignment.voters.push_back(catalog_.keys().at(node));
  for (const auto& node : nodes_) {
    if (assignment.NamesNode(node->id()) || !prng_.Chance(700'000)) continue;
    assignment.observers.insert(node->id());
  }
  tracer_.Note(NodeId(0),
               absl::StrCat(ToText(partition), " is created with ", assignment.voters.size(),
                            " voters, the first on node ", nodes.front().value()));
  oracle_.OnPartition(partition, MakeVoterSet(assignment.voters));
  catalog_.assignments()[partition] = assignment;
  for (const auto& node : nodes_) {
    const bool late = prng_.Chance(options_.late_birth_ppm);
    const Duration delay = late ? options_.safety_length : options_.raft.election_timeout / 2;
    queue_.After(prng_.Between(Duration::zero(), delay),
                 [partition, at = node.get()] { at->Learn(partition); });
  }
}

void SimCluster::MarkCreated() {
  for (auto& [partition, assignment] : catalog_.assignments()) {
    if (oracle_.Committed(partition).size() > 0) assignment.created = true;
  }
}

void SimCluster::CheckEverythingSometimes() {
  queue_.After(options_.raft.election_timeout / 2, [this] {
    MarkCreated();
    // A client's call, or a Fetch that is parked, and the one before it, which its sender has given
    // up and which waits for its own deadline.
    const size_t fetches = catalog_.assignments().size() * nodes_.size();
    const size_t waiters_max = 2 * (workload_->calls_max() + fetches);
    for (const auto& node : nodes_) {
      if (node->up()) node->CheckAll(waiters_max);
    }
    CheckEverythingSometimes();
  });
}

void SimCluster::RunFor(Duration length) {
  const WorldTime end = queue_.now() + length;
  while (!failure_.failed() && queue_.now() < end) queue_.RunNext();
}

void SimCluster::Run() {
  tracer_.Note(NodeId(0), Describe(options_));
  CreatePartitions();
  for (const auto& node : nodes_) node->Start();
  workload_->Start();
  faults_->Start();
  CheckEverythingSometimes();
  if (options_.beyond_tolerance) failure_.CountOnly("P6");
  RunFor(options_.safety_length);
  if (!failure_.failed() && !options_.beyond_tolerance) CheckLiveness();
  if (!failure_.failed() && !options_.beyond_tolerance) clients_.Finish();
  world_.statistics.Add(Counter::kEvents, queue_.executed());
}

}  // namespace quorum::sim
