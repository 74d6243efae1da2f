#include "service/server/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/controller/controller_state.h"
#include "service/controller/node_controller.h"
#include "service/server/address.h"
#include "service/server/discovery.h"
#include "service/server/disk_watchdog.h"
#include "service/server/exit.h"
#include "service/server/front.h"
#include "service/server/http_pages.h"
#include "service/server/loop_thread.h"
#include "service/server/metrics.h"
#include "service/server/node_health.h"
#include "service/server/shard_pool.h"
#include "service/server/system_clock.h"
#include "service/server/trace_file.h"
#include "service/server/version.h"
#include "service/shard/client_calls.h"
#include "service/transport/address_book.h"
#include "service/transport/grpc_controller_link.h"
#include "service/transport/grpc_peer_transport.h"
#include "service/transport/leader_hints.h"
#include "service/transport/peer_channels.h"
#include "storage/rocksdb/rocks_store.h"
#include "storage/rocksdb/worker_thread.h"

namespace quorum::server {
namespace {

using storage::StoreError;

// How often the node looks at its own health and, without a leader, for its cluster.
constexpr Duration kHousekeepingPeriod = std::chrono::milliseconds(250);
// What is being served when the hand-over is done gets this long to end.
constexpr Duration kDrainGrace = std::chrono::milliseconds(1000);

// The cluster knows a newer process, or another directory, of this node: nothing that this one does
// counts any more.
void EndOfFenced(const std::string& reason) {
  std::_Exit(Report(storage::IdentityError(kFenced, reason)));
}

std::string TopicName(const controller::NodeController* controller, TopicId id) {
  const auto topic = controller == nullptr ? nullptr : controller->view().FindTopic(id);
  return topic == nullptr ? absl::StrCat("#", id.value()) : topic->name;
}

// Replicas that the catalog assigns to `self`, but for its own.
size_t CountAssigned(const controller::CatalogView& view, const ReplicaKey& self) {
  constexpr size_t kPage = 1'000;
  size_t count = 0;
  std::string after;
  for (;;) {
    const auto topics = view.ListTopics(after, kPage);
    for (const auto& topic : topics) {
      if (topic->id == kMetadataPartition.topic) continue;
      for (const controller::PartitionView& partition : topic->partitions) {
        const auto& keys = partition.assignment;
        if (std::find(keys.begin(), keys.end(), self) != keys.end()) ++count;
      }
    }
    if (topics.size() < kPage) return count;
    after = topics.back()->name;
  }
}

}  // namespace

// Declared in the order in which the parts need each other, destroyed the other way round; Stop
// ends what must end earlier.
struct Server::Node {
  explicit Node(const ServeConfig& serve_config)
      : config(serve_config), health([this](const std::string& name, bool serving) {
          if (front != nullptr) front->SetHealth(name, serving);
        }) {}

  std::optional<StoreError> OpenStore();
  void MakeTransport();
  void MakeShards();
  void MakeController();
  void OpenReplicas();
  std::optional<StoreError> Listen();
  std::optional<StoreError> StartPages();
  void StartThreads();
  MonoTime KeepHouse();
  void UpdateHealth();
  bool CanReach(const std::optional<ReplicaKey>& leader) const;
  void LookForLeader();
  NodeStats Stats() const;

  const storage::NodeIdentity& identity() const { return store_state.node; }
  ReplicaKey self() const { return identity().key(); }
  transport::Receiver receiver() const {
    return transport::Receiver{identity().cluster_id, self(), identity().lanes};
  }

  const ServeConfig config;
  SystemClock clock;
  MonoTime started = clock.Now();
  int64_t started_wall_ms = clock.WallTimeMs();

  std::unique_ptr<TraceFile> trace;
  // Outlives the store, so that its end is watched too.
  storage::SyncWatchdog syncs;
  std::unique_ptr<storage::RocksStore> store;
  storage::RecoveredStore store_state;

  transport::AddressBook addresses;
  transport::PeerChannels channels{addresses};
  transport::LeaderHints hints;
  std::unique_ptr<transport::GrpcPeerTransport> peers;
  std::unique_ptr<transport::GrpcControllerLink> link;
  Waker controller_waker;
  // Outlives the shards, which hold completions of its calls.
  std::unique_ptr<controller::NodeController> controller;
  std::unique_ptr<ShardPool> shards;
  std::unique_ptr<Discovery> discovery;
  std::unique_ptr<DiskWatchdog> watchdog;
  NodeHealth health;

  std::unique_ptr<Front> front;
  std::unique_ptr<HttpPages> pages;

  std::atomic<bool> caught_up{false};
  std::atomic<bool> catalog_failed{false};
  std::atomic<bool> leader_known{false};
  std::atomic<bool> draining{false};
  bool stopped = false;

  Waker watchdog_waker;
  Waker housekeeping_waker;
  std::unique_ptr<LoopThread> controller_thread;
  std::unique_ptr<LoopThread> watchdog_thread;
  std::unique_ptr<LoopThread> housekeeping_thread;
};

std::optional<StoreError> Server::Node::OpenStore() {
  if (!config.trace_file.empty()) {
    if (auto error = TraceFile::Open(config.trace_file, &clock, config.node, &trace)) return error;
  }
  storage::StoreOptions options;
  options.directory = config.data_dir;
  options.expected = {config.cluster_id, config.node};
  options.writer.clock = &clock;
  options.writer.watchdog = &syncs;
  options.reader_threads = static_cast<int>(config.reader_threads);
  if (auto error = storage::RocksStore::Open(options, &store)) return error;
  store_state = store->recovered();
  if (trace != nullptr) trace->SetIncarnation(identity().incarnation);
  return std::nullopt;
}

void Server::Node::MakeTransport() {
  for (const storage::RecoveredReplica& replica : store_state.replicas) {
    if (replica.partition != kMetadataPartition) continue;
    for (const Voter& voter : replica.voters.Latest()) {
      if (!voter.endpoint.empty()) addresses.Set(voter.key.id, voter.endpoint);
    }
  }
  peers = std::make_unique<transport::GrpcPeerTransport>(channels, EndOfFenced);
  link = std::make_unique<transport::GrpcControllerLink>(
      receiver(), transport::GrpcControllerLink::Parts{
                      channels, addresses,
                      [this](const std::string& reason) {
                        catalog_failed = true;
                        LOG(ERROR) << "this node acts on the catalog no more: " << reason;
                      },
                      EndOfFenced});
}

void Server::Node::MakeShards() {
  shard::ShardConfig shard_config;
  shard_config.raft = config.raft;
  shard_config.cluster_id = identity().cluster_id;
  shard_config.self = self();
  shard_config.incarnation = identity().incarnation;
  shard_config.lane_count = identity().lanes;
  shard_config.seed = config.seed;
  shard_config.cache_bytes_max = config.cache_bytes_max;
  shard_config.unsynced_bytes_max = config.unsynced_bytes_max;
  shard_config.fetched_unsynced_bytes_max = config.unsynced_bytes_max;
  shard_config.fetch_bytes_max = config.fetch_bytes_max;
  NodeObserver::Outputs outputs;
  outputs.topic_name = [this](TopicId id) { return TopicName(controller.get(), id); };
  outputs.hints = &hints;
  outputs.trace = trace.get();
  shards = std::make_unique<ShardPool>(
      shard_config, config.shards,
      ShardPool::Parts{clock, *store->writer(), *store->reader(), *peers, std::move(outputs),
                       config.metrics_partitions_max});
  watchdog = std::make_unique<DiskWatchdog>(
      &clock, &syncs, DiskWatchdog::Limits{config.raft.fetch_timeout, config.disk_stuck_exit_after},
      DiskWatchdog::Actions{[this] {
                              return shards->PostAll(
                                  [] { return shard::ShardCall(shard::ResignAllCall()); });
                            },
                            EndOfStuckDisk});
}

void Server::Node::MakeController() {
  controller::ControllerConfig controller_config;
  controller_config.cluster_id = identity().cluster_id;
  controller_config.self = self();
  controller_config.incarnation = identity().incarnation;
  controller_config.lane_count = identity().lanes;
  // One listener for everything.
  static_assert(kAddressSizeMax <= controller::kEndpointTextMax);
  controller_config.endpoints = {controller::NodeEndpoint{"", config.advertised_address}};
  controller_config.software_version = kSoftwareVersion;
  controller_config.fetch_timeout = config.raft.fetch_timeout;
  controller_config.request_timeout = config.raft.request_timeout;
  controller = std::make_unique<controller::NodeController>(
      controller_config, controller::ControllerSeams{clock, *shards, *peers, *link},
      [this] { controller_waker.Wake(); });
  discovery = std::make_unique<Discovery>(
      identity().cluster_id, config.node, config.bootstrap,
      Discovery::Parts{addresses, [this](std::vector<ReplicaKey> known) {
                         shard::DiscoveryCall call{kMetadataPartition, std::move(known)};
                         // A full mailbox is no harm: the next round asks again.
                         (void)shards->ForPartition(kMetadataPartition).Post(std::move(call));
                       }});
}

void Server::Node::OpenReplicas() {
  shards->Open(store_state.replicas);
  controller::LocalReplicas local;
  local.catalog_position = store_state.catalog_position;
  for (const storage::RecoveredReplica& replica : store_state.replicas) {
    if (replica.tombstone) {
      local.tombstones[replica.partition] = replica.election;
    } else {
      local.open.push_back(replica.partition);
    }
  }
  controller->Open(local);
  store_state.replicas.clear();
}

std::optional<StoreError> Server::Node::Listen() {
  return Front::Start(
      config,
      Front::Parts{identity(), *shards, controller->view(), *controller, hints, channels, clock},
      &front);
}

std::optional<StoreError> Server::Node::StartPages() {
  if (config.http_address.empty()) return std::nullopt;
  const auto probe = [](bool good) {
    return good ? HttpAnswer{200, "ok\n"} : HttpAnswer{503, "not now\n"};
  };
  HttpPages::Pages made;
  made["/metrics"] = [this] { return HttpAnswer{200, MetricsPage(Stats())}; };
  made["/livez"] = [this, probe] { return probe(health.live()); };
  made["/readyz"] = [this, probe] { return probe(health.ready()); };
  return HttpPages::Start(config.http_address, std::move(made), &pages);
}

void Server::Node::StartThreads() {
  shards->Start();
  controller_thread = std::make_unique<LoopThread>("controller", &clock, &controller_waker, [this] {
    const MonoTime next = controller->RunOnce();
    caught_up = controller->caught_up() && controller->registered();
    return next;
  });
  watchdog_thread = std::make_unique<LoopThread>("disk-watchdog", &clock, &watchdog_waker,
                                                 [this] { return watchdog->Round(); });
  housekeeping_thread = std::make_unique<LoopThread>("housekeeping", &clock, &housekeeping_waker,
                                                     [this] { return KeepHouse(); });
}

MonoTime Server::Node::KeepHouse() {
  watchdog->Tell();
  UpdateHealth();
  LookForLeader();
  return clock.Now() + kHousekeepingPeriod;
}

void Server::Node::UpdateHealth() {
  HealthInputs inputs;
  const MonoTime now = clock.Now();
  inputs.oldest_round = shards->OldestRound(now);
  if (controller_thread != nullptr) {
    inputs.oldest_round = std::max(inputs.oldest_round, now - controller_thread->last_round());
  }
  inputs.caught_up = caught_up;
  const ShardPool::Standing standing = shards->standing();
  inputs.in_step = standing.in_step;
  inputs.catching_up = standing.catching_up;
  inputs.lag = standing.lag;
  if (inputs.caught_up && !health.ready()) {
    inputs.assigned = CountAssigned(controller->view(), self());
  }
  inputs.catalog_failed = catalog_failed;
  inputs.draining = draining;
  if (!health.Update(inputs)) return;
  const auto after = std::chrono::duration_cast<std::chrono::milliseconds>(now - started);
  LOG(INFO) << "ready node=" << config.node << " replicas=" << shards->replica_count()
            << " after_ms=" << after.count();
}

// A leader whose address nobody has told is as good as none.
bool Server::Node::CanReach(const std::optional<ReplicaKey>& leader) const {
  if (!leader.has_value()) return false;
  return *leader == self() || addresses.Find(leader->id).has_value();
}

void Server::Node::LookForLeader() {
  shard::DescribeCall call{kMetadataPartition, [this](const shard::PartitionDescription& found) {
                             leader_known = FindsItsWay(found, CanReach(found.hint.leader));
                           }};
  (void)shards->ForPartition(kMetadataPartition).Post(std::move(call));
  if (!leader_known) discovery->Ask();
}

NodeStats Server::Node::Stats() const {
  NodeStats stats;
  stats.cluster_id = identity().cluster_id;
  stats.self = self();
  stats.incarnation = identity().incarnation;
  stats.started_at = static_cast<double>(started_wall_ms) / 1000;
  stats.shards = shards->stats();
  stats.writer = store->writer()->counts();
  stats.disk_stalls = watchdog->stalls();
  stats.bugs = BugCount().load();
  stats.ready = health.ready();
  if (front != nullptr) stats.errors = front->errors().Counts();
  for (const PartitionFacts& facts : shards->facts()) {
    stats.partitions.emplace_back(TopicName(controller.get(), facts.partition.topic), facts);
  }
  return stats;
}

std::optional<StoreError> Server::Start(const ServeConfig& config,
                                        std::unique_ptr<Server>* server) {
  auto node = std::make_unique<Node>(config);
  if (auto error = node->OpenStore()) return error;
  node->MakeTransport();
  node->MakeShards();
  node->MakeController();
  const size_t replicas = node->store_state.replicas.size();
  node->OpenReplicas();
  std::unique_ptr<Server> made(new Server(std::move(node)));
  if (auto error = made->node_->Listen()) return error;
  if (auto error = made->node_->StartPages()) return error;
  made->node_->UpdateHealth();
  made->node_->StartThreads();
  const storage::NodeIdentity& identity = made->node_->identity();
  LOG(INFO) << "serving node=" << identity.node << " cluster=" << identity.cluster_id
            << " directory=" << identity.directory << " incarnation=" << identity.incarnation
            << " listen=" << config.listen_address << " advertised=" << config.advertised_address
            << " shards=" << config.shards << " lanes=" << identity.lanes
            << " replicas=" << replicas << " seed=" << config.seed
            << " version=" << kSoftwareVersion;
  *server = std::move(made);
  return std::nullopt;
}

Server::Server(std::unique_ptr<Node> node) : node_(std::move(node)) {}

Server::~Server() { Stop(); }

void Server::Stop() {
  Node& node = *node_;
  if (std::exchange(node.stopped, true)) return;
  node.housekeeping_thread.reset();
  node.draining = true;
  node.UpdateHealth();
  // The page server looks only every two seconds whether it shall end, so it begins at once.
  auto pages_stop =
      std::make_unique<storage::WorkerThread>("http-stop", [&node] { node.pages.reset(); });
  if (node.controller_thread != nullptr && !node.shards->HandOver(node.config.shutdown_timeout)) {
    LOG(WARNING) << "not everything that is led here has found a successor in time";
  }
  if (node.front != nullptr) {
    node.front->Drain();
    node.front->Shutdown(kDrainGrace);
  }
  node.controller_thread.reset();
  node.link->Shutdown();
  node.discovery->Shutdown();
  node.shards->Stop();
  node.peers->Shutdown();
  pages_stop.reset();
  // A sync that hangs now would keep the process for ever.
  node.store.reset();
  node.watchdog_thread.reset();
}

}  // namespace quorum::server
