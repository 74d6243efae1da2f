// Bad input of peers: RegisterBroker, whose answer every node keeps and repeats.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "service/base/check.h"
#include "tests/integration/bad_call.h"
#include "tests/integration/node.h"
#include "tests/integration/stubs.h"

namespace quorum::integration {
namespace {

using Observer = v1::ObserverService::Stub;

// A cluster of one node, which commits by itself; nobody plays.
class RegistrationTest : public testing::Test {
 protected:
  RegistrationTest() : folder_(MakeScratchFolder("registration")) {
    NodeSettings settings;
    settings.data_dir = folder_ + "/data";
    settings.log_path = folder_ + "/log";
    settings.flags = {"--election-timeout-ms=100"};
    node_ = std::make_unique<Node>(settings);
    const ProgramResult founded = node_->Found(node_->Voter());
    CHECK_EQ(founded.exit_code, 0) << founded.error;
    node_->Start();
    stubs_ = std::make_unique<Stubs>(node_->address());
  }
  ~RegistrationTest() override {
    if (HasFailure()) std::cerr << LastLines(node_->log_path(), 40) << std::endl;
    node_->Kill();
    std::filesystem::remove_all(folder_);
  }

  // The largest that is taken, of a node that there is not.
  v1::RegisterBrokerRequest Largest() const {
    v1::RegisterBrokerRequest request;
    request.mutable_envelope()->set_cluster_id("test");
    v1::PeerIdentity* from = request.mutable_envelope()->mutable_from();
    from->set_node_id(9);
    from->set_directory_id(std::string(16, 'n'));
    from->set_incarnation(kLimit - 1);
    for (int i = 0; i < 16; ++i) {
      v1::Endpoint* endpoint = request.add_endpoints();
      endpoint->set_listener(std::string(255, 'l'));
      endpoint->set_address(std::string(255, 'a'));
    }
    request.set_lane_count(16);
    request.set_software_version(std::string(255, 'v'));
    return request;
  }

  std::string Register(const v1::RegisterBrokerRequest& request) const {
    v1::RegisterBrokerResponse response;
    const grpc::Status status =
        Call(*stubs_->observer, &Observer::RegisterBroker, request, &response);
    if (!status.ok()) return testing::PrintToString(FailureOf(status).reason);
    return v1::ErrorCode_Name(response.error()).substr(sizeof("ERROR_CODE_") - 1);
  }

  // How many nodes the catalog names; -1 while nobody answers.
  int Nodes() const {
    v1::MetadataResponse response;
    const grpc::Status status =
        Call(*stubs_->observer, &Observer::Metadata, v1::MetadataRequest(), &response);
    return status.ok() ? response.brokers_size() : -1;
  }

  std::string folder_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<Stubs> stubs_;
};

TEST_F(RegistrationTest, WhatIsOutOfBoundsIsNotKept) {
  ASSERT_TRUE(Await("the node has registered itself",
                    [&] { return Nodes() == 1 ? "" : "the catalog is blank"; }));
  struct Case {
    const char* name;
    std::function<void(v1::RegisterBrokerRequest&, v1::PeerIdentity&)> change;
    const char* answer;
  };
  const std::vector<Case> cases = {
      {"no endpoint", [](auto& r, auto&) { r.clear_endpoints(); }, "INVALID_REQUEST"},
      {"17 endpoints", [](auto& r, auto&) { r.add_endpoints()->set_address("a:1"); },
       "INVALID_REQUEST"},
      {"a listener of 256 bytes",
       [](auto& r, auto&) { r.mutable_endpoints(7)->mutable_listener()->append("l"); },
       "INVALID_REQUEST"},
      {"an address of 256 bytes",
       [](auto& r, auto&) { r.mutable_endpoints(15)->mutable_address()->append("a"); },
       "INVALID_REQUEST"},
      {"an address of 1 MiB",
       [](auto& r, auto&) { r.mutable_endpoints(0)->mutable_address()->resize(1 << 20, 'a'); },
       "INVALID_REQUEST"},
      {"a version of 256 bytes", [](auto& r, auto&) { r.mutable_software_version()->append("v"); },
       "INVALID_REQUEST"},
      {"lane count 0", [](auto& r, auto&) { r.set_lane_count(0); }, "INCONSISTENT_LANE_COUNT"},
      {"no incarnation", [](auto&, auto& from) { from.clear_incarnation(); },
       "\"INVALID_REQUEST\""},
      {"incarnation 0", [](auto&, auto& from) { from.set_incarnation(0); }, "\"INVALID_REQUEST\""},
      {"incarnation 2^62", [](auto&, auto& from) { from.set_incarnation(kLimit); },
       "\"INVALID_REQUEST\""},
      {"incarnation 2^64 - 1", [](auto&, auto& from) { from.set_incarnation(UINT64_MAX); },
       "\"INVALID_REQUEST\""},
      {"node 0", [](auto&, auto& from) { from.set_node_id(0); }, "\"INVALID_REQUEST\""},
      {"directory id of 15 bytes",
       [](auto&, auto& from) { from.set_directory_id(std::string(15, 'n')); },
       "\"INVALID_REQUEST\""},
      {"another cluster id", [](auto& r, auto&) { r.mutable_envelope()->set_cluster_id("other"); },
       "\"INCONSISTENT_CLUSTER_ID\""},
      {"another directory of a node that lives", [](auto&, auto& from) { from.set_node_id(1); },
       "DUPLICATE_BROKER_REGISTRATION"},
  };
  for (const Case& c : cases) {
    v1::RegisterBrokerRequest request = Largest();
    c.change(request, *request.mutable_envelope()->mutable_from());
    EXPECT_EQ(Register(request), c.answer) << c.name;
    ASSERT_TRUE(node_->running()) << c.name;
    EXPECT_EQ(Nodes(), 1) << c.name;
  }
  EXPECT_EQ(Register(Largest()), "NONE");
  EXPECT_EQ(Nodes(), 2);
  v1::RegisterBrokerRequest older = Largest();
  older.mutable_envelope()->mutable_from()->set_incarnation(kLimit - 2);
  EXPECT_EQ(Register(older), "FENCED_INCARNATION");
  v1::RegisterBrokerRequest copy = Largest();
  copy.mutable_endpoints(0)->set_address("elsewhere:1");
  EXPECT_EQ(Register(copy), "FENCED_INCARNATION");
}

}  // namespace
}  // namespace quorum::integration
