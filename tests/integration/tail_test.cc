// Tail: one stream over a change of leader, and what a reader does when the process that serves it
// ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/cluster.h"
#include "tests/integration/workload.h"

namespace quorum::integration {
namespace {

constexpr char kTopic[] = "orders";

v1::TailRequest FromStart() {
  v1::TailRequest request;
  request.set_topic(kTopic);
  request.set_partition(0);
  request.set_earliest(true);
  return request;
}

void AppendSome(const Stubs& stubs, int first, int last) {
  for (int index = first; index <= last; ++index) {
    // A refused one was not appended, so it may be sent again.
    ASSERT_TRUE(Await(absl::StrCat("append ", index), [&]() -> std::string {
      v1::AppendResponse response;
      const grpc::Status status = Call(*stubs.log, &v1::LogService::Stub::Append,
                                       AppendOf(kTopic, 0, {absl::StrCat("v", index)}), &response);
      if (OutcomeOf(status) == Outcome::kUnknown) ADD_FAILURE() << FailureOf(status);
      return status.ok() ? "" : status.error_message();
    }));
  }
}

void ExpectSequence(const TailRun& run, size_t count) {
  ASSERT_EQ(run.records.size(), count);
  for (size_t index = 0; index < count; ++index) {
    EXPECT_EQ(run.records[index].payload, absl::StrCat("v", index + 1));
  }
}

class TailTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Start());
    ASSERT_TRUE(cluster_.CreateTopic(kTopic, 1, 3));
    ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &before_));
  }

  // After a failure the reader may still wait; without a node it ends.
  void TearDown() override {
    if (!reader_.joinable()) return;
    for (const int32_t id : cluster_.Running()) cluster_.node(id).Kill();
    reader_.join();
  }

  // A reader in the background, which never reconnects.
  void ReadAt(int32_t id, int64_t records) {
    reader_ = std::thread([this, id, records] {
      v1::TailRequest request = FromStart();
      request.set_max_records(records);
      run_ = RunTail(*cluster_.stubs(id).log, request, kWaitMax, [this](const TailRun& so_far) {
        seen_ = so_far.records.size();
        return false;
      });
    });
  }

  // Its stream is open and has come to the end of the log.
  testing::AssertionResult AwaitSeen(size_t records) {
    return Await("the reader has all there is",
                 [&] { return seen_ == records ? "" : absl::StrCat("it has ", seen_.load()); });
  }

  Cluster cluster_{ClusterOptions()};
  Leadership before_;
  std::thread reader_;
  // What the reader has so far, and in the end.
  std::atomic<size_t> seen_{0};
  TailRun run_;
};

TEST_F(TailTest, OneStreamShowsAllWhileTheLeaderIsKilled) {
  const int32_t follower = before_.leader % 3 + 1;
  ReadAt(follower, 20);
  AppendSome(cluster_.stubs(follower), 1, 10);
  ASSERT_TRUE(AwaitSeen(10));
  cluster_.node(before_.leader).Kill();
  AppendSome(cluster_.stubs(follower), 11, 20);
  reader_.join();
  EXPECT_TRUE(run_.status.ok()) << FailureOf(run_.status);
  ExpectSequence(run_, 20);
}

TEST_F(TailTest, EndsWithItsProcessAndGoesOnAtTheNextOffset) {
  const int32_t follower = before_.leader % 3 + 1;
  AppendSome(cluster_.stubs(follower), 1, 10);
  ReadAt(before_.leader, 20);
  ASSERT_TRUE(AwaitSeen(10));
  cluster_.node(before_.leader).Kill();
  reader_.join();
  EXPECT_EQ(run_.status.error_code(), grpc::StatusCode::UNAVAILABLE) << FailureOf(run_.status);
  AppendSome(cluster_.stubs(follower), 11, 20);
  v1::TailRequest rest = FromStart();
  rest.set_offset(run_.next_offset.value_or(0));
  rest.set_max_records(20 - static_cast<int64_t>(run_.records.size()));
  TailRun more = RunTail(*cluster_.stubs(follower).log, rest, kWaitMax);
  EXPECT_TRUE(more.status.ok()) << FailureOf(more.status);
  more.records.insert(more.records.begin(), run_.records.begin(), run_.records.end());
  ExpectSequence(more, 20);
}

TEST_F(TailTest, SurvivesAHandOver) {
  const int32_t follower = before_.leader % 3 + 1;
  ReadAt(follower, 20);
  AppendSome(cluster_.stubs(follower), 1, 10);
  ASSERT_TRUE(AwaitSeen(10));
  ASSERT_EQ(cluster_.node(before_.leader).Terminate(), 0);
  AppendSome(cluster_.stubs(follower), 11, 20);
  reader_.join();
  EXPECT_TRUE(run_.status.ok()) << FailureOf(run_.status);
  ExpectSequence(run_, 20);
}

// A node without a replica relays from one that has it.
TEST(RelayTest, ShowsAllByWayOfANodeWithoutAReplica) {
  Cluster cluster{ClusterOptions()};
  ASSERT_TRUE(cluster.Start());
  ASSERT_TRUE(cluster.CreateTopic(kTopic, 1, 1));
  PartitionQuorum quorum;
  ASSERT_TRUE(cluster.AwaitQuorum(kTopic, 0, &quorum));
  const int32_t holder = quorum.leader_id();
  for (const int32_t id : cluster.ids()) {
    AppendSome(cluster.stubs(id), id * 10, id * 10 + 9);
  }
  for (const int32_t id : cluster.ids()) {
    v1::TailRequest request = FromStart();
    request.set_until_high_watermark(true);
    const TailRun run = RunTail(*cluster.stubs(id).log, request, kWaitMax);
    EXPECT_TRUE(run.status.ok()) << FailureOf(run.status);
    EXPECT_EQ(run.records.size(), 30u) << "at node " << id;
    request.set_no_forward(true);
    const TailRun own = RunTail(*cluster.stubs(id).log, request, kWaitMax);
    if (id == holder) {
      EXPECT_EQ(own.records.size(), 30u);
    } else {
      EXPECT_EQ(FailureOf(own.status).reason, "NOT_LEADER") << FailureOf(own.status);
    }
  }
}

}  // namespace
}  // namespace quorum::integration
