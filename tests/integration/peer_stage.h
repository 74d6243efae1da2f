// Stage: one real node that leads the catalog because a puppet voted for it, and tables of calls in
// which the puppet says what no node would say. The answers are in docs/bad-input.md.
//
// Thread: the test's main thread.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "tests/integration/bad_call.h"
#include "tests/integration/puppet.h"

namespace quorum::integration {

inline constexpr int64_t kEpochJump = int64_t{1} << 32;

// What the real node says of its replica of the catalog, and what is on its disk.
struct Standing {
  int64_t epoch = 0;
  int32_t leader = 0;
  int64_t high_watermark = -1;
  // Epoch and vote, by Stage::ReadVote.
  std::string vote;
};

inline bool operator==(const Standing& a, const Standing& b) {
  return a.epoch == b.epoch && a.leader == b.leader && a.high_watermark == b.high_watermark &&
         a.vote == b.vote;
}
inline std::ostream& operator<<(std::ostream& out, const Standing& standing) {
  return out << "epoch " << standing.epoch << " leader " << standing.leader << " watermark "
             << standing.high_watermark << " on disk: " << standing.vote;
}

// Node 1 of three; the test plays node 2, node 3 is dead.
class Stage {
 public:
  Stage() : folder_(MakeScratchFolder("stage")) {
    for (int32_t id = 1; id <= 3; ++id) {
      NodeSettings settings;
      settings.id = id;
      settings.data_dir = absl::StrCat(folder_, "/data", id);
      settings.log_path = absl::StrCat(folder_, "/log", id);
      // One lane, so that the test need not know which lane a partition is in. Nobody fetches, so
      // the leader must not miss it.
      settings.format_flags = {"--lanes=1"};
      settings.flags = {"--election-timeout-ms=100", "--fetch-timeout-ms=600000",
                        "--disk-stuck-exit-after-ms=1200000"};
      nodes_.push_back(std::make_unique<Node>(settings));
    }
    const ProgramResult founded = node().Found(
        absl::StrCat(nodes_[0]->Voter(), ",", nodes_[1]->Voter(), ",", nodes_[2]->Voter()));
    CHECK_EQ(founded.exit_code, 0) << founded.error;
    puppet_ = std::make_unique<Puppet>(*nodes_[1]);
    stubs_ = std::make_unique<Stubs>(node().address());
    node().Start();
  }
  ~Stage() {
    if (testing::UnitTest::GetInstance()->current_test_suite()->Failed()) {
      std::cerr << "--- the end of node 1's log:\n"
                << LastLines(node().log_path(), 40) << std::endl;
    }
    if (node().running()) node().Kill();
    std::filesystem::remove_all(folder_);
  }

  Node& node() { return *nodes_[0]; }
  const Puppet& puppet() const { return *puppet_; }
  const Stubs& stubs() const { return *stubs_; }
  v1::Envelope Envelope() { return puppet_->EnvelopeTo(node()); }

  std::string Look(Standing* standing) const {
    v1::DescribeQuorumRequest request;
    request.set_stale_ok(true);
    request.add_topics()->set_topic("__metadata");
    v1::DescribeQuorumResponse response;
    const grpc::Status status =
        Call(*stubs_->admin, &v1::AdminService::Stub::DescribeQuorum, request, &response);
    if (!status.ok()) return status.error_message();
    if (response.topics(0).partitions_size() != 1) return response.ShortDebugString();
    const PartitionQuorum& quorum = response.topics(0).partitions(0);
    *standing = Standing{quorum.leader_epoch(), quorum.leader_id(),
                         quorum.has_high_watermark() ? quorum.high_watermark() : -1, ""};
    return "";
  }

  // The election state of the catalog as it lies on the disk. Nothing is written while the node
  // leads and nobody fetches, so a copy of its directory is whole.
  std::string ReadVote() const {
    const std::string copy = folder_ + "/copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(nodes_[0]->data_dir(), copy, std::filesystem::copy_options::recursive);
    const ProgramResult dumped =
        RunProgram({ProgramPath("service/server/quorumd"), "dump", "quorum-state",
                    "--partition=1:0", "--data-dir=" + copy});
    EXPECT_EQ(dumped.exit_code, 0) << dumped.error;
    return dumped.output;
  }

  testing::AssertionResult AwaitLeading(Standing* standing, int64_t after_epoch = 0) const {
    return Await(absl::StrCat("node 1 leads above epoch ", after_epoch), [&]() -> std::string {
      const std::string missing = Look(standing);
      if (!missing.empty()) return missing;
      const bool leads = standing->leader == 1 && standing->epoch > after_epoch;
      return leads ? "" : testing::PrintToString(*standing);
    });
  }

 private:
  std::string folder_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<Puppet> puppet_;
  std::unique_ptr<Stubs> stubs_;
};

class PeerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    holder() = std::make_unique<Stage>();
    Standing standing;
    ASSERT_TRUE(stage().AwaitLeading(&standing));
    EXPECT_GT(stage().puppet().votes(), 0);
  }
  static void TearDownTestSuite() { holder().reset(); }
  static Stage& stage() { return *holder(); }

 private:
  static std::unique_ptr<Stage>& holder() {
    static std::unique_ptr<Stage> stage;
    return stage;
  }
};

// --- Tables ---

// The answer in one word: the reason of a failed call, or the error code of the first entry.
struct PeerCall {
  std::string name;
  std::function<std::string(Stage&, int64_t epoch)> call;
  std::string answer;
};

inline std::ostream& operator<<(std::ostream& out, const PeerCall& c) { return out << c.name; }

inline std::string NameOf(v1::ErrorCode code) {
  return v1::ErrorCode_Name(code).substr(sizeof("ERROR_CODE_") - 1);
}

template <typename Response>
std::string Word(const grpc::Status& status, const Response& response) {
  if (!status.ok()) return testing::PrintToString(FailureOf(status).reason);
  if (response.topics_size() == 0) return "no entry";
  return NameOf(response.topics(0).partitions(0).error());
}

// An entry for the catalog.
template <typename Request>
auto* CatalogEntry(Request* request) {
  auto* topic = request->add_topics();
  topic->set_topic_id(1);
  auto* entry = topic->add_partitions();
  entry->set_partition(0);
  return entry;
}

class PeerCallTest : public PeerTest, public testing::WithParamInterface<PeerCall> {
 protected:
  static void Check(const PeerCall& peer_call) {
    Standing before;
    ASSERT_TRUE(stage().AwaitLeading(&before));
    before.vote = stage().ReadVote();
    EXPECT_THAT(before.vote, testing::HasSubstr(stage().node().directory_id()));
    EXPECT_EQ(peer_call.call(stage(), before.epoch), peer_call.answer);
    ASSERT_TRUE(stage().node().running());
    Standing after;
    ASSERT_EQ(stage().Look(&after), "");
    after.vote = stage().ReadVote();
    EXPECT_EQ(after, before);
  }
};

}  // namespace quorum::integration
