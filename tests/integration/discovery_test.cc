// How a node that has just joined finds its cluster. The test plays the bootstrap node and the
// leader of the catalog.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "quorum/v1/observer.grpc.pb.h"
#include "service/base/check.h"
#include "service/base/ids.h"
#include "tests/integration/await.h"
#include "tests/integration/puppet.h"
#include "tests/integration/stubs.h"

namespace quorum::integration {
namespace {

// Answers Metadata without naming the leader; its address only when the test allows. Counts what it
// is asked.
class Guide : public v1::ObserverService::Service {
 public:
  explicit Guide(const Node& leader) : leader_(leader) {}

  grpc::Status Metadata(grpc::ServerContext*, const v1::MetadataRequest*,
                        v1::MetadataResponse* response) override {
    ++asked_;
    if (!knows_address_) return grpc::Status::OK;
    v1::MetadataResponse::Broker* broker = response->add_brokers();
    broker->mutable_identity()->set_node_id(leader_.id());
    broker->mutable_identity()->set_directory_id(DirectoryBytes(leader_.directory_id()));
    broker->add_endpoints()->set_address(leader_.address());
    return grpc::Status::OK;
  }

  grpc::Status Fetch(grpc::ServerContext*, const v1::FetchRequest*, v1::FetchResponse*) override {
    ++fetches_;
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the test knows what it came for");
  }

  void TellAddress() { knows_address_ = true; }
  int asked() const { return asked_; }
  int fetches() const { return fetches_; }

 private:
  const Node& leader_;
  std::atomic<bool> knows_address_{false};
  std::atomic<int> asked_{0};
  std::atomic<int> fetches_{0};
};

std::unique_ptr<grpc::Server> Listen(const Node& node, grpc::Service* service) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(node.address(), grpc::InsecureServerCredentials());
  builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  CHECK(server != nullptr) << node.address() << " is in use";
  return server;
}

class DiscoveryTest : public testing::Test {
 protected:
  NodeSettings Settings(int32_t id) const {
    NodeSettings settings;
    settings.id = id;
    settings.data_dir = absl::StrCat(folder_, "/data", id);
    settings.log_path = absl::StrCat(folder_, "/log", id);
    settings.format_flags = {"--lanes=1"};
    return settings;
  }

  void TearDown() override {
    if (HasFailure()) std::cerr << LastLines(joiner_.log_path(), 40) << std::endl;
    if (joiner_.running()) joiner_.Kill();
    std::filesystem::remove_all(folder_);
  }

  // The leader of `epoch` announces itself to the joiner. An answer, whatever it says, is enough.
  std::string Announce(const Stubs& stubs, int64_t epoch) const {
    v1::BeginQuorumEpochRequest request;
    v1::Envelope* envelope = request.mutable_envelope();
    envelope->set_cluster_id("test");
    envelope->mutable_from()->set_node_id(leader_.id());
    envelope->mutable_from()->set_directory_id(DirectoryBytes(leader_.directory_id()));
    envelope->mutable_from()->set_incarnation(1);
    envelope->mutable_to()->set_node_id(joiner_.id());
    envelope->mutable_to()->set_directory_id(DirectoryBytes(joiner_.directory_id()));
    envelope->set_lane(0);
    auto* topic = request.add_topics();
    topic->set_topic_id(kMetadataPartition.topic.value());
    auto* partition = topic->add_partitions();
    partition->set_partition(kMetadataPartition.index);
    partition->set_leader_epoch(epoch);
    v1::BeginQuorumEpochResponse response;
    const grpc::Status status =
        Call(*stubs.voter, &v1::VoterService::Stub::BeginQuorumEpoch, request, &response);
    if (!status.ok()) return status.error_message();
    const auto& answer = response.topics(0).partitions(0);
    return answer.leader_id() == leader_.id() ? "" : response.ShortDebugString();
  }

  const std::string folder_ = MakeScratchFolder("discovery");
  Node joiner_{Settings(1)};
  Node bootstrap_{Settings(2)};
  Node leader_{Settings(3)};
};

// A leader that has announced itself, and whose address is in nobody's answer yet, as of a leader
// that has not registered: the node must look on, or it never joins.
TEST_F(DiscoveryTest, GoesOnWhileTheLeaderIsKnownButNotWhereItIs) {
  Guide guide(leader_);
  const auto bootstrap = Listen(bootstrap_, &guide);
  const auto leader = Listen(leader_, &guide);
  joiner_.settings().flags = {"--bootstrap=" + bootstrap_.address()};
  ASSERT_EQ(joiner_.Join().exit_code, 0);
  joiner_.Start();
  const Stubs stubs(joiner_.address());
  ASSERT_TRUE(Await("it follows", [&] { return Announce(stubs, 5); }));
  const int before = guide.asked();
  // One question may have been on its way, and another one asked before the replica was.
  ASSERT_TRUE(
      Await("it asks on", [&] { return guide.asked() > before + 4 ? "" : "it asks no more"; }));
  EXPECT_EQ(guide.fetches(), 0) << "nobody has told it where the leader is";
  guide.TellAddress();
  EXPECT_TRUE(Await("it fetches", [&] { return guide.fetches() > 0 ? "" : "it does not"; }));
  // A node that has read no voters yet asks on all the same: the leader may be gone tomorrow.
}

}  // namespace
}  // namespace quorum::integration
