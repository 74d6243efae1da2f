// Who was paused and wakes up: a writer whose name has a successor, and a leader that has one.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/process.h"
#include "tests/integration/producers_fixture.h"

namespace quorum::integration {
namespace {

using FencingTest = ProducersTest;

// Another process that writes under the name until it is refused.
TEST_F(FencingTest, AWriterThatWasPausedIsRefusedWhenItWakes) {
  const std::string folder = MakeScratchFolder("writer");
  const std::string output = absl::StrCat(folder, "/output");
  Process writer({ProgramPath("tests/integration/named_writer"), cluster_.node(1).address(), kTopic,
                  "controller"},
                 absl::StrCat(folder, "/log"), output);
  const auto lines = [&] {
    const std::string text = ReadFile(output);
    return std::count(text.begin(), text.end(), '\n');
  };
  ASSERT_TRUE(Await("the writer appends", [&] { return lines() >= 5 ? "" : "not yet"; }));
  ASSERT_TRUE(writer.Pause());
  v1::InitProducerResponse successor;
  grpc::Status status = Init(2, "controller", &successor);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  EXPECT_GE(successor.producer_epoch(), 1);
  for (int64_t sequence = 0; sequence < 3; ++sequence) {
    v1::AppendResponse response;
    status = Call(*cluster_.stubs(2).log, &v1::LogService::Stub::Append,
                  Stamped(successor, sequence, absl::StrCat("successor-", sequence)), &response);
    ASSERT_TRUE(status.ok()) << FailureOf(status);
  }
  writer.Signal(SIGCONT);
  int code = -1;
  ASSERT_TRUE(writer.AwaitExit(&code));
  EXPECT_EQ(code, 0) << LastLines(absl::StrCat(folder, "/log"), 20);
  EXPECT_TRUE(absl::EndsWith(ReadFile(output), "refused PRODUCER_FENCED\n")) << ReadFile(output);
  bool fenced = false;
  int of_predecessor = 0;
  for (const LoggedRecord& record : ReadLog()) {
    if (absl::StartsWith(record.payload, "successor-")) fenced = true;
    if (!absl::StartsWith(record.payload, "writer-")) continue;
    ++of_predecessor;
    EXPECT_FALSE(fenced) << record.payload << " came after the successor's first record";
  }
  EXPECT_GE(of_predecessor, 5);
}

// The leader itself is paused, with an append of the old epoch in its hand.
TEST_F(FencingTest, ALeaderThatWasPausedAppendsNothingOfAFencedEpoch) {
  v1::InitProducerResponse predecessor;
  ASSERT_TRUE(Init(leadership_.leader, "controller", &predecessor).ok());
  const Leadership before = leadership_;
  const int32_t other = before.leader % 3 + 1;
  cluster_.node(before.leader).Pause();
  grpc::Status of_predecessor;
  std::thread in_hand([&] {
    v1::AppendResponse response;
    v1::AppendRequest request = Stamped(predecessor, 0, "predecessor");
    request.set_no_forward(true);
    of_predecessor =
        Call(*cluster_.stubs(before.leader).log, &v1::LogService::Stub::Append, request, &response);
  });
  const testing::AssertionResult led = cluster_.AwaitLeader(kTopic, 0, &leadership_, before.epoch);
  v1::InitProducerResponse successor;
  const grpc::Status bound = Init(other, "controller", &successor);
  cluster_.node(before.leader).Resume();
  in_hand.join();
  ASSERT_TRUE(led);
  ASSERT_TRUE(bound.ok()) << FailureOf(bound);
  EXPECT_EQ(successor.producer_id(), predecessor.producer_id());
  EXPECT_EQ(successor.producer_epoch(), predecessor.producer_epoch() + 1);
  EXPECT_FALSE(of_predecessor.ok());
  v1::AppendResponse response;
  const grpc::Status retried = Call(*cluster_.stubs(other).log, &v1::LogService::Stub::Append,
                                    Stamped(predecessor, 0, "predecessor"), &response);
  EXPECT_EQ(FailureOf(retried).reason, "PRODUCER_FENCED") << FailureOf(retried);
  for (const LoggedRecord& record : ReadLog()) EXPECT_NE(record.payload, "predecessor");
}

// It wakes with appends in its hand that follow what its successor has, and not what it has itself.
TEST_F(FencingTest, ALeaderThatWasPausedRefusesNothingByWhatItHas) {
  constexpr size_t kWriters = 6;
  std::vector<v1::InitProducerResponse> producers(kWriters);
  const auto append = [&](int32_t node, size_t writer, int64_t sequence) {
    v1::AppendResponse response;
    return Call(*cluster_.stubs(node).log, &v1::LogService::Stub::Append,
                Stamped(producers[writer], sequence, absl::StrCat("w", writer, "-", sequence)),
                &response);
  };
  const Leadership before = leadership_;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    ASSERT_TRUE(Init(before.leader, "", &producers[writer]).ok());
    // Every other one has written to it.
    if (writer % 2 == 0) ASSERT_TRUE(append(before.leader, writer, 0).ok());
  }
  cluster_.node(before.leader).Pause();
  testing::AssertionResult went_on = cluster_.AwaitLeader(kTopic, 0, &leadership_, before.epoch);
  for (size_t writer = 0; writer < kWriters && went_on; ++writer) {
    for (int64_t sequence = writer % 2 == 0 ? 1 : 0; sequence < 3 && went_on; ++sequence) {
      const grpc::Status status = append(leadership_.leader, writer, sequence);
      if (!status.ok()) went_on = testing::AssertionFailure() << FailureOf(status);
    }
  }
  std::vector<grpc::Status> in_hand(kWriters);
  std::vector<std::thread> calls;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    calls.emplace_back([&, writer] { in_hand[writer] = append(before.leader, writer, 3); });
  }
  cluster_.node(before.leader).Resume();
  for (std::thread& call : calls) call.join();
  ASSERT_TRUE(went_on);
  for (const grpc::Status& status : in_hand) {
    // It may still have gone another way: to the successor, or nowhere.
    const std::string reason = FailureOf(status).reason;
    EXPECT_NE(reason, "OUT_OF_ORDER_SEQUENCE");
    EXPECT_NE(reason, "UNKNOWN_PRODUCER");
  }
}

}  // namespace
}  // namespace quorum::integration
