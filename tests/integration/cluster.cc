#include "tests/integration/cluster.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "service/base/check.h"

namespace quorum::integration {
namespace {

constexpr size_t kLogLinesShown = 25;
// A single attempt inside of a wait.
constexpr Duration kAttempt = std::chrono::seconds(5);

std::string MissingOf(const grpc::Status& status) {
  return testing::PrintToString(FailureOf(status));
}

std::string MissingHealth(const Stubs& stubs, const std::string& service) {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status status =
      Call(*stubs.health, &grpc::health::v1::Health::Stub::Check, request, &response, kAttempt);
  if (!status.ok()) return absl::StrCat("health of \"", service, "\": ", MissingOf(status));
  if (response.status() == grpc::health::v1::HealthCheckResponse::SERVING) return "";
  return absl::StrCat("health of \"", service, "\" is ", response.status());
}

}  // namespace

std::vector<std::string> QuickTimes() {
  return {"--election-timeout-ms=500", "--fetch-timeout-ms=1000", "--request-timeout-ms=1000",
          "--fetch-max-wait-ms=250", "--shutdown-timeout-ms=3000"};
}

Cluster::Cluster(const ClusterOptions& options) : folder_(MakeScratchFolder("cluster")) {
  std::vector<std::string> voters;
  std::vector<std::string> addresses;
  for (int32_t id = 1; id <= options.founders + options.joiners; ++id) {
    NodeSettings settings;
    settings.id = id;
    settings.data_dir = absl::StrCat(folder_, "/data", id);
    settings.log_path = absl::StrCat(folder_, "/log", id);
    settings.flags = options.flags;
    nodes_.push_back(std::make_unique<Node>(std::move(settings)));
    stubs_.push_back(std::make_unique<Stubs>(nodes_.back()->address()));
    if (id <= options.founders) {
      voters.push_back(nodes_.back()->Voter());
      addresses.push_back(nodes_.back()->address());
    }
  }
  for (const std::unique_ptr<Node>& node : nodes_) {
    const bool founds = node->id() <= options.founders;
    const ProgramResult formatted = founds ? node->Found(absl::StrJoin(voters, ",")) : node->Join();
    CHECK_EQ(formatted.exit_code, 0) << formatted.error;
    if (!founds) {
      node->settings().flags.push_back("--bootstrap=" + absl::StrJoin(addresses, ","));
    }
  }
}

Cluster::~Cluster() {
  // A cluster of a whole suite ends after its tests.
  const testing::TestSuite* suite = testing::UnitTest::GetInstance()->current_test_suite();
  const bool failed = testing::Test::HasFailure() || (suite != nullptr && suite->Failed());
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (failed) {
      std::cerr << "--- node " << node->id() << (node->running() ? " runs" : " does not run")
                << "; the end of its log:\n"
                << LastLines(node->log_path(), kLogLinesShown) << std::endl;
    }
    if (node->running()) node->Kill();
  }
  if (!failed) std::filesystem::remove_all(folder_);
}

Node& Cluster::node(int32_t id) { return *nodes_.at(static_cast<size_t>(id - 1)); }

const Stubs& Cluster::stubs(int32_t id) const { return *stubs_.at(static_cast<size_t>(id - 1)); }

std::vector<int32_t> Cluster::ids() const {
  std::vector<int32_t> ids;
  for (const std::unique_ptr<Node>& node : nodes_) ids.push_back(node->id());
  return ids;
}

std::vector<int32_t> Cluster::Running() {
  std::vector<int32_t> running;
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (node->running()) running.push_back(node->id());
  }
  return running;
}

testing::AssertionResult Cluster::Start() {
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (!node->running()) node->Start();
  }
  return AwaitServing();
}

testing::AssertionResult Cluster::AwaitServing() {
  for (const int32_t id : Running()) {
    if (auto serving = AwaitServing(id); !serving) return serving;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult Cluster::AwaitServing(int32_t id) {
  return Await(absl::StrCat("node ", id, " serves"), [&]() -> std::string {
    if (!node(id).running()) return "it does not run";
    const std::string overall = MissingHealth(stubs(id), "");
    return overall.empty() ? MissingHealth(stubs(id), "quorum.v1.LogService") : overall;
  });
}

testing::AssertionResult Cluster::AwaitLiveness() {
  Leadership catalog;
  if (auto led = AwaitLeader("__metadata", 0, &catalog); !led) return led;
  const std::vector<int32_t> running = Running();
  return Await("the controller knows who is alive", [&]() -> std::string {
    v1::DescribeClusterRequest request;
    request.set_no_forward(true);
    v1::DescribeClusterResponse response;
    const grpc::Status status =
        Call(*stubs(catalog.leader).admin, &v1::AdminService::Stub::DescribeCluster, request,
             &response, kAttempt);
    if (!status.ok()) return MissingOf(status);
    std::vector<int32_t> live;
    for (const auto& node : response.nodes()) {
      if (node.live()) live.push_back(node.node_id());
    }
    return live == running ? "" : response.ShortDebugString();
  });
}

testing::AssertionResult Cluster::CreateTopic(const std::string& name, uint32_t partitions,
                                              uint32_t replicas, int32_t through) {
  v1::CreateTopicRequest request;
  request.set_name(name);
  request.set_partitions(partitions);
  request.set_replicas(replicas);
  v1::CreateTopicResponse response;
  const grpc::Status status =
      Call(*stubs(through).admin, &v1::AdminService::Stub::CreateTopic, request, &response);
  if (!status.ok()) {
    return testing::AssertionFailure() << "create " << name << ": " << FailureOf(status);
  }
  return AwaitAllLed(name);
}

testing::AssertionResult Cluster::DeleteTopic(const std::string& name, int32_t through) {
  v1::DeleteTopicRequest request;
  request.set_name(name);
  v1::DeleteTopicResponse response;
  const grpc::Status status =
      Call(*stubs(through).admin, &v1::AdminService::Stub::DeleteTopic, request, &response);
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "delete " << name << ": " << FailureOf(status);
}

std::string Cluster::AskQuorum(int32_t id, const std::string& topic, uint32_t partition,
                               PartitionQuorum* quorum) const {
  v1::DescribeQuorumRequest request;
  request.add_topics()->set_topic(topic);
  request.mutable_topics(0)->add_partitions(partition);
  v1::DescribeQuorumResponse response;
  const grpc::Status status =
      Call(*stubs(id).admin, &v1::AdminService::Stub::DescribeQuorum, request, &response, kAttempt);
  if (!status.ok()) return MissingOf(status);
  const bool complete = response.topics_size() == 1 && response.topics(0).partitions_size() == 1;
  if (!complete) return "an answer without the partition: " + response.ShortDebugString();
  *quorum = response.topics(0).partitions(0);
  if (quorum->has_error()) return testing::PrintToString(FailureOf(quorum->error()));
  return quorum->has_leader_id() && quorum->epoch_committed() ? "" : quorum->ShortDebugString();
}

testing::AssertionResult Cluster::AwaitQuorum(const std::string& topic, uint32_t partition,
                                              PartitionQuorum* quorum) {
  const std::vector<int32_t> asked = Running();
  CHECK(!asked.empty());
  size_t attempt = 0;
  return Await(absl::StrCat("the quorum of ", topic, ":", partition), [&] {
    return AskQuorum(asked[attempt++ % asked.size()], topic, partition, quorum);
  });
}

testing::AssertionResult Cluster::AwaitLeader(const std::string& topic, uint32_t partition,
                                              Leadership* leadership, int64_t after_epoch) {
  const std::vector<int32_t> asked = Running();
  CHECK(!asked.empty());
  size_t attempt = 0;
  return Await(absl::StrCat("a leader of ", topic, ":", partition, " above epoch ", after_epoch),
               [&]() -> std::string {
                 PartitionQuorum quorum;
                 const std::string missing =
                     AskQuorum(asked[attempt++ % asked.size()], topic, partition, &quorum);
                 if (!missing.empty()) return missing;
                 *leadership = Leadership{quorum.leader_id(), quorum.leader_epoch()};
                 if (leadership->epoch > after_epoch) return "";
                 return absl::StrCat("epoch ", leadership->epoch);
               });
}

testing::AssertionResult Cluster::AwaitAllLed(const std::string& topic) {
  v1::DescribeQuorumRequest request;
  request.add_topics()->set_topic(topic);
  const std::vector<int32_t> asked = Running();
  size_t attempt = 0;
  return Await(absl::StrCat("all of ", topic, " is led"), [&]() -> std::string {
    v1::DescribeQuorumResponse response;
    const grpc::Status status =
        Call(*stubs(asked[attempt++ % asked.size()]).admin, &v1::AdminService::Stub::DescribeQuorum,
             request, &response, kAttempt);
    if (!status.ok()) return MissingOf(status);
    if (response.topics_size() != 1) return "no topic";
    const v1::DescribeQuorumResponse::Topic& found = response.topics(0);
    if (found.has_error()) return testing::PrintToString(FailureOf(found.error()));
    int missing = 0;
    std::string example;
    for (const PartitionQuorum& quorum : found.partitions()) {
      const bool runs = std::count(asked.begin(), asked.end(), quorum.leader_id()) > 0;
      if (!quorum.has_error() && runs && quorum.epoch_committed()) continue;
      ++missing;
      example = quorum.ShortDebugString();
    }
    if (missing == 0 && found.partitions_size() > 0) return "";
    return absl::StrCat(missing, " of ", found.partitions_size(), " are not, such as ", example);
  });
}

}  // namespace quorum::integration
