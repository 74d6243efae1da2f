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
      producer_oracle_(&failure_, statistics, &oracle_, options.producers.expiry),
      catalog_(&failure_, statistics, &oracle_),
      prng_(Prng(options.seed).Fork("cluster")),
      network_(&queue_, options_.network, prng_.Fork("network"), &tracer_, statistics, &sessions_),
      world_{options_, queue_,  tracer_,   *statistics, failure_,        catalog_,
             network_, oracle_, sessions_, clients_,    producer_oracle_} {
  MakeNodes();
  workload_ = std::make_unique<Workload>(&world_, &nodes_, prng_.Fork("workload"));
  topics_ = std::make_unique<Topics>(&world_, &nodes_, prng_.Fork("topics"));
  producers_ = std::make_unique<Producers>(&world_, &nodes_, prng_.Fork("producers"));
  faults_ = std::make_unique<Faults>(&world_, &nodes_, workload_.get(), topics_.get(),
                                     producers_.get(), prng_.Fork("faults"));
  catalog_.SetObserver([this](PartitionId partition, const PartitionFact& fact) {
    tracer_.Note(NodeId(0),
                 absl::StrCat(ToText(partition), fact.created ? " is created" : " is being created",
                              ", ", fact.voters.size(), " voters, the first on node ",
                              fact.voters.front().id.value()));
    if (fact.created) return;
    faults_->OnPartition(partition, fact);
    AddObservers(partition, fact);
  });
}

SimCluster::~SimCluster() = default;

void SimCluster::MakeNodes() {
  const int count = options_.voter_nodes + options_.observer_nodes;
  for (int i = 1; i <= count; ++i) {
    const int shards = static_cast<int>(prng_.Between(1, options_.shards_max));
    nodes_.push_back(std::make_unique<SimNode>(&world_, NodeId(i), shards,
                                               prng_.Fork(absl::StrCat("node ", i))));
  }
}

void SimCluster::Found() {
  std::vector<ReplicaKey> founders;
  for (const auto& node : nodes_) {
    if (node->id().value() <= options_.voter_nodes) founders.push_back(node->key());
  }
  catalog_.OnFounded(founders);
  const VoterSet voters = MakeVoterSet(founders);
  for (const auto& node : nodes_) {
    const bool founds = node->id().value() <= options_.voter_nodes;
    node->Format(founds ? std::optional<VoterSet>(voters) : std::nullopt);
    node->Start();
  }
}

void SimCluster::StartCalmly() {
  const WorldTime end = queue_.now() + 20 * options_.raft.fetch_timeout;
  while (!failure_.failed() && queue_.now() < end && !topics_->WhatIsMissing().empty()) {
    RunFor(options_.raft.election_timeout);
  }
}

void SimCluster::AddObservers(PartitionId partition, const PartitionFact& fact) {
  for (const auto& node : nodes_) {
    if (fact.NamesNode(node->id()) || !prng_.Chance(500'000)) continue;
    const Duration delay = prng_.Between(Duration::zero(), 2 * options_.raft.election_timeout);
    queue_.After(delay, [this, partition, fact, at = node.get()] {
      if (catalog_.deleted().count(partition) == 0) at->OpenObserver(partition, fact.voters);
    });
  }
}

void SimCluster::ObserveAgain(SimNode& node) {
  for (const auto& [partition, fact] : catalog_.partitions()) {
    if (!fact.NamesNode(node.id()) || fact.NamesVoter(node.key())) continue;
    if (partition == kMetadataPartition || !prng_.Chance(100'000)) continue;
    node.OpenObserver(partition, fact.voters);
  }
}

void SimCluster::CheckEverythingSometimes() {
  queue_.After(options_.raft.election_timeout / 2, [this] {
    for (const auto& node : nodes_) {
      if (!node->up()) continue;
      node->CloseOrphans();
      if (!healed_) ObserveAgain(*node);
      // A client's call, or a Fetch that is parked, and the one before it, which its sender has
      // given up and which waits for its own deadline; and what controllers ask.
      const size_t fetches = node->Partitions().size() * (nodes_.size() + 1) + 8;
      node->CheckAll(2 * (workload_->calls_max() + producers_->calls_max() + fetches));
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
  Found();
  topics_->Start();
  CheckEverythingSometimes();
  if (options_.calm_start) StartCalmly();
  workload_->Start();
  producers_->Start();
  topics_->GoOn(options_.safety_length * 3 / 4);
  faults_->Start();
  if (options_.beyond_tolerance) failure_.CountOnly("P6");
  RunFor(options_.safety_length);
  if (!failure_.failed() && !options_.beyond_tolerance) CheckLiveness();
  if (!failure_.failed() && !options_.beyond_tolerance) {
    clients_.Finish();
    producer_oracle_.Finish();
    topics_->Finish();
    catalog_.Finish();
  }
  world_.statistics.Add(Counter::kEvents, queue_.executed());
}

}  // namespace quorum::sim
