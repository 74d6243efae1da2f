#include "tests/service/transport/cluster_node.h"

#include <grpcpp/create_channel.h>

#include <chrono>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"

namespace quorum::transport {
namespace {

constexpr Duration kRound = std::chrono::milliseconds(1);

// Slower than a busy machine, faster than a patient tester.
raft::Config Timeouts() {
  raft::Config config;
  config.election_timeout = std::chrono::milliseconds(500);
  config.fetch_timeout = std::chrono::milliseconds(1500);
  config.request_timeout = std::chrono::milliseconds(1000);
  config.fetch_max_wait = std::chrono::milliseconds(300);
  return config;
}

}  // namespace

ClusterNode::ClusterNode(int32_t node, const std::vector<int32_t>& voters)
    : id(node),
      parts_{Receiver{"c-1", KeyOf(node), 1},
             *this,
             catalog_,
             controller_,
             hints_,
             channels_,
             calls_,
             clock_,
             ClientLimits{}},
      voter_service_(parts_.self, *this, catalog_) {
  catalog_.Add(2, "orders", 1, voters);
  for (const int32_t voter : voters) {
    controller::NodeView view;
    view.key = KeyOf(voter);
    catalog_.nodes.push_back(view);
  }
  storage::FormatPlan plan;
  plan.identity.cluster_id = "c-1";
  plan.identity.node = NodeId(node);
  plan.identity.directory = KeyOf(node).directory;
  plan.identity.lanes = 1;
  CHECK(!disk_.Format(plan).has_value());
  storage::RecoveredStore recovered;
  CHECK(!disk_.Recover({"c-1", NodeId(node)}, &recovered).has_value());

  shard::ShardConfig config;
  config.raft = Timeouts();
  config.cluster_id = "c-1";
  config.self = KeyOf(node);
  config.incarnation = recovered.node.incarnation;
  config.lane_count = 1;
  config.seed = static_cast<uint64_t>(node);
  shard_ = std::make_unique<shard::Shard>(
      config, shard::ShardSeams{clock_, disk_, disk_, transport_, keeper_}, [] {});
  shard_->Open({});
  observer_service_ = std::make_unique<ObserverService>(
      parts_.self, config.incarnation,
      ObserverService::Parts{*this, catalog_, controller_, hints_, clock_});
  auto server = GrpcServer::Start(
      {"127.0.0.1:0"}, {&voter_service_, observer_service_.get(), &log_service_, &admin_service_});
  CHECK(server.ok()) << server.status();
  server_ = *std::move(server);
  address_ = absl::StrCat("127.0.0.1:", server_->port());
  const auto channel = grpc::CreateChannel(address_, grpc::InsecureChannelCredentials());
  log_ = v1::LogService::NewStub(channel);
  admin_ = v1::AdminService::NewStub(channel);
  Birth(voters);
  Pump();
}

ClusterNode::~ClusterNode() { Stop(); }

void ClusterNode::Birth(const std::vector<int32_t>& voters) {
  std::vector<Voter> set;
  shard::BirthCall call;
  call.partition = Orders(0);
  for (const int32_t voter : voters) {
    if (voter == id) call.position = set.size();
    set.push_back(Voter{KeyOf(voter), ""});
    call.discovery_peers.push_back(KeyOf(voter));
  }
  call.initial_voters = VoterSet(std::move(set));
  call.done = [] {};
  CHECK(shard_->Post(std::move(call)));
}

void ClusterNode::Pump() {
  if (stopping_.load()) {
    stopped_.Set();
    return;
  }
  (void)shard_->RunOnce();
  disk_.CompleteWrites(SIZE_MAX);
  disk_.CompleteReads(SIZE_MAX);
  RunAfter(kRound, [this] { Pump(); });
}

void ClusterNode::Stop() {
  if (server_ == nullptr) return;
  parts_.shutting_down.store(true);
  calls_.CancelAndWait();
  transport_.Shutdown();
  server_->Shutdown(Duration::zero());
  server_.reset();
  stopping_.store(true);
  CHECK(stopped_.Wait());
}

}  // namespace quorum::transport
