// How appends get their outcomes when something ends: a flush, a callback, the producer, the
// client.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "client/admin.h"
#include "client/producer.h"
#include "tests/client/producer_fixture.h"

namespace quorum::client {
namespace {

using std::chrono::seconds;

TEST_F(ProducerTest, Flush_WaitsForWhatCameBeforeOnly) {
  Producer producer(*client_);
  Outcomes outcomes;
  std::atomic<bool> enough{false};
  // Each append makes the next one, so that there is always one without an outcome.
  std::function<void(AppendOutcome)> again = [&](const AppendOutcome&) {
    if (!enough) producer.Append(SpecOf("v"), again);
  };
  producer.Append(SpecOf("first"), again);
  EXPECT_TRUE(producer.Flush(seconds(20)));
  enough = true;
  EXPECT_TRUE(producer.Flush(seconds(20)));
}

TEST_F(ProducerTest, TimeWithoutEnd_IsWaitedFor) {
  Producer producer(*client_);
  AppendSpec spec = SpecOf("v");
  spec.timeout = Duration::max();
  EXPECT_EQ(LetterOf(producer.AppendAndWait(spec)), 'C');
  Outcomes outcomes;
  producer.Append(SpecOf("v"), outcomes.Next());
  EXPECT_TRUE(producer.Flush(Duration::max()));
  CallOptions options;
  options.timeout = Duration::max();
  node_.describe_cluster.Always([](auto...) { return grpc::Status::OK; });
  EXPECT_TRUE(Admin(*client_).DescribeCluster(options).ok());
}

TEST_F(ProducerTest, Callback_MayAppendAndDoesNotWaitForRoom) {
  ProducerOptions options;
  options.buffer_bytes_max = 1;
  Producer producer(*client_, options);
  std::atomic<int> committed{0};
  std::function<void(AppendOutcome)> next = [&](const AppendOutcome& outcome) {
    EXPECT_EQ(LetterOf(outcome), 'C');
    if (++committed < 10) producer.Append(SpecOf("v"), next);
  };
  producer.Append(SpecOf("v"), next);
  // Each time as far as the append that has begun.
  while (committed < 10) ASSERT_TRUE(producer.Flush(seconds(20)));
}

TEST_F(ProducerTest, Callback_MayAppendWhileTheClientEnds) {
  for (int round = 0; round < 50; ++round) {
    client_ = MakeClient();
    Producer producer(*client_);
    std::atomic<int> decided{0};
    std::function<void(AppendOutcome)> again = [&](const AppendOutcome& outcome) {
      ++decided;
      if (LetterOf(outcome) != 'C' && decided < 100) producer.Append(SpecOf("v"), again);
    };
    for (int i = 0; i < 10; ++i) producer.Append(SpecOf("v"), again);
    client_.reset();
    // The producer's end waits for all of them.
  }
}

TEST_F(ProducerTest, EndOfTheProducer_DecidesEverything) {
  node_.append.Always(
      [](grpc::ServerContext* context, auto...) { return HangUntilCancelled(context); });
  Outcomes outcomes;
  ProducerOptions options;
  options.outstanding_max = 1;
  auto producer = std::make_unique<Producer>(*client_, options);
  producer->Append(SpecOf("a"), outcomes.Next());
  ASSERT_TRUE(node_.append.Await(1));
  producer->Append(SpecOf("b"), outcomes.Next());
  producer.reset();
  EXPECT_EQ(outcomes.Letters(), "UR");
}

TEST_F(ProducerTest, EndOfAProducerThatAsksForItsName_ShutsNobodyOut) {
  std::atomic<int> retries{0};
  node_.init_producer.Always([](auto...) {
    return ToStatus({google::rpc::UNAVAILABLE, "LEADER_NOT_AVAILABLE", "no leader"});
  });
  {
    ProducerOptions options;
    options.name = "controller";
    options.on_retry = [&retries](const RetryNotice&) { ++retries; };
    Outcomes outcomes;
    Producer producer(*client_, options);
    producer.Append(SpecOf("a"), outcomes.Next());
    while (retries < 3) std::this_thread::yield();
  }
  const int then = retries;
  const size_t asked = node_.init_producer.requests().size();
  // A read takes its turn behind whatever the producer may have left.
  (void)Admin(*client_).ListTopics();
  EXPECT_EQ(retries, then);
  EXPECT_LE(node_.init_producer.requests().size(), asked + 1) << "one may have been on its way";
}

TEST_F(ProducerTest, EndOfTheClient_DecidesEverything) {
  node_.append.Always(
      [](grpc::ServerContext* context, auto...) { return HangUntilCancelled(context); });
  Outcomes outcomes;
  ProducerOptions options;
  options.outstanding_max = 1;
  Producer producer(*client_, options);
  producer.Append(SpecOf("a"), outcomes.Next());
  ASSERT_TRUE(node_.append.Await(1));
  producer.Append(SpecOf("b"), outcomes.Next());
  client_.reset();
  EXPECT_EQ(outcomes.Letters(), "UR");
  EXPECT_EQ(LetterOf(producer.AppendAndWait(SpecOf("c"))), 'R');
  EXPECT_FALSE(producer.Init(kOrders).ok());
}

}  // namespace
}  // namespace quorum::client
