// Calls of the client against scripted nodes: where they go, what is repeated, what becomes of
// appends whose producer has one outcome to find out.

#include "client/quorum_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/append_outcome.h"
#include "client/producer.h"
#include "service/base/mutex.h"
#include "tests/client/fake_node.h"

namespace quorum::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kNoLeader[] = "LEADER_NOT_AVAILABLE";

// A client with a producer.
class Appender {
 public:
  Appender(const ClientOptions& options, const ProducerOptions& producer_options)
      : client_(options), producer_(client_, producer_options) {}

  AppendOutcome Append(Duration timeout = seconds(30)) {
    AppendSpec spec{{"orders", 0}, {RecordOf("v1")}};
    spec.timeout = timeout;
    return producer_.AppendAndWait(std::move(spec));
  }
  void AppendAsync(Duration timeout, Producer::Done done) {
    AppendSpec spec{{"orders", 0}, {RecordOf("v1")}};
    spec.timeout = timeout;
    producer_.Append(std::move(spec), std::move(done));
  }

 private:
  QuorumClient client_;
  Producer producer_;
};

std::unique_ptr<Appender> ClientOf(std::vector<std::string> bootstrap,
                                   std::function<void(const RetryNotice&)> on_retry = nullptr) {
  ClientOptions options;
  options.bootstrap = std::move(bootstrap);
  options.spread = false;
  options.seed = 1;
  ProducerOptions producer_options;
  producer_options.on_retry = std::move(on_retry);
  return std::make_unique<Appender>(options, producer_options);
}

// The error of an outcome that must be refused or unknown.
const Error& ErrorOf(const AppendOutcome& outcome) {
  static const Error none;
  if (const auto* refused = std::get_if<Refused>(&outcome)) return refused->error;
  if (const auto* unknown = std::get_if<Unknown>(&outcome)) return unknown->error;
  return none;
}

auto FailWith(const FakeError& error) {
  return [error](auto...) { return ToStatus(error); };
}

auto FailWith(grpc::StatusCode code) {
  return [code](auto...) { return grpc::Status(code, "no details"); };
}

TEST(AppendTest, Committed_TellsWhere) {
  FakeNode node;
  node.append.Always(CommitAt(17, 1, 3));
  const auto client = ClientOf({node.address()});
  const AppendOutcome outcome = client->Append();
  const auto* committed = std::get_if<Committed>(&outcome);
  ASSERT_NE(committed, nullptr) << ErrorOf(outcome).ToString();
  EXPECT_EQ(committed->base_offset, Offset(17));
  EXPECT_EQ(committed->leader_epoch, Epoch(3));
  EXPECT_EQ(committed->leader, NodeId(1));
  EXPECT_FALSE(committed->duplicate);
}

TEST(AppendTest, Request_CarriesTheServersShareOfTheTimeout) {
  FakeNode node;
  node.append.Always(CommitAt(0));
  const auto client = ClientOf({node.address()});
  client->Append(seconds(10));
  const auto requests = node.append.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(requests[0].has_partition());
  const double timeout = static_cast<double>(requests[0].timeout().seconds()) +
                         static_cast<double>(requests[0].timeout().nanos()) / 1e9;
  // Of one attempt's 5 s.
  EXPECT_GT(timeout, 2.0);
  EXPECT_LE(timeout, 4.5);
}

TEST(AppendTest, Duplicate_IsSaid) {
  FakeNode node;
  node.append.Always(
      [](grpc::ServerContext*, const v1::AppendRequest&, v1::AppendResponse* answer) {
        answer->set_base_offset(4);
        answer->set_duplicate(true);
        return grpc::Status::OK;
      });
  const AppendOutcome outcome = ClientOf({node.address()})->Append();
  ASSERT_TRUE(std::holds_alternative<Committed>(outcome));
  EXPECT_TRUE(std::get<Committed>(outcome).duplicate);
}

TEST(AppendTest, NotLeaderWithHint_GoesThereAndStaysThere) {
  FakeNode follower;
  FakeNode leader;
  follower.append.Always(FailWith(AsRefused(
      {google::rpc::UNAVAILABLE,
       "NOT_LEADER",
       "elsewhere",
       {{"leader_id", "2"}, {"leader_epoch", "3"}, {"leader_endpoint", leader.address()}}})));
  leader.append.Always(CommitAt(5, 2, 3));
  const auto client = ClientOf({follower.address()});
  EXPECT_TRUE(std::holds_alternative<Committed>(client->Append()));
  EXPECT_TRUE(std::holds_alternative<Committed>(client->Append()));
  EXPECT_EQ(follower.append.requests().size(), 1u);
  EXPECT_EQ(leader.append.requests().size(), 2u);
}

TEST(AppendTest, LeaderKnownByIdOnly_IsLookedUp) {
  FakeNode first;
  FakeNode leader;
  first.append.Always(CommitAt(1, 2, 3));
  leader.append.Always(CommitAt(2, 2, 3));
  const std::string address = leader.address();
  first.describe_cluster.Always([address](grpc::ServerContext*, const v1::DescribeClusterRequest&,
                                          v1::DescribeClusterResponse* answer) {
    auto* node = answer->add_nodes();
    node->set_node_id(2);
    auto* endpoint = node->add_endpoints();
    endpoint->set_listener("client");
    endpoint->set_address(address);
    return grpc::Status::OK;
  });
  const auto client = ClientOf({first.address()});
  // The look-up runs beside the appends, so that some of them may still go to the first node.
  for (int i = 0; i < 1000 && leader.append.requests().empty(); ++i) {
    ASSERT_TRUE(std::holds_alternative<Committed>(client->Append()));
  }
  EXPECT_FALSE(leader.append.requests().empty());
  EXPECT_EQ(first.describe_cluster.requests().size(), 1u);
}

TEST(AppendTest, RefusedForNow_IsRepeatedUntilItSucceeds) {
  FakeNode node;
  for (const char* reason : {kNoLeader, "THROTTLED", "SHUTTING_DOWN", "NOT_LEADER"}) {
    node.append.Then(FailWith(AsRefused({google::rpc::UNAVAILABLE, reason})));
  }
  node.append.Always(CommitAt(9));
  std::atomic<int> notices{0};
  const AppendOutcome outcome =
      ClientOf({node.address()}, [&notices](const RetryNotice&) { ++notices; })->Append();
  EXPECT_TRUE(std::holds_alternative<Committed>(outcome)) << ErrorOf(outcome).ToString();
  EXPECT_EQ(node.append.requests().size(), 5u);
  EXPECT_EQ(notices, 4);
}

TEST(AppendTest, RefusedForNow_GoesToAnotherNode) {
  FakeNode cut_off;
  FakeNode other;
  cut_off.append.Always(FailWith(AsRefused({google::rpc::UNAVAILABLE, kNoLeader})));
  other.append.Always(CommitAt(9));
  const auto client = ClientOf({cut_off.address(), other.address()});
  EXPECT_TRUE(std::holds_alternative<Committed>(client->Append()));
  EXPECT_EQ(cut_off.append.requests().size(), 1u);
}

TEST(AppendTest, RefusedToTheEnd_IsRefusedAtTheDeadline) {
  FakeNode node;
  node.append.Always(FailWith(AsRefused({google::rpc::UNAVAILABLE, kNoLeader})));
  const AppendOutcome outcome = ClientOf({node.address()})->Append(seconds(1));
  ASSERT_TRUE(std::holds_alternative<Refused>(outcome));
  EXPECT_EQ(ErrorOf(outcome).reason, v1::ERROR_REASON_LEADER_NOT_AVAILABLE);
  EXPECT_GT(ErrorOf(outcome).attempts, 2);
  EXPECT_EQ(node.append.requests().size(), static_cast<size_t>(ErrorOf(outcome).attempts));
}

TEST(AppendTest, RefusedForGood_IsNotRepeated) {
  FakeNode node;
  node.append.Always(FailWith(AsRefused({google::rpc::INVALID_ARGUMENT, "RECORD_TOO_LARGE"})));
  const AppendOutcome outcome = ClientOf({node.address()})->Append();
  ASSERT_TRUE(std::holds_alternative<Refused>(outcome));
  EXPECT_EQ(node.append.requests().size(), 1u);
}

// Each of these may hide a committed append, which the same batch at another node finds out.
TEST(AppendTest, ErrorsWithoutProof_AreRepeatedUnderTheSameStamp) {
  FakeError foreign = AsRefused({google::rpc::UNAVAILABLE, kNoLeader});
  foreign.domain = "proxy.example";
  const std::vector<grpc::Status> errors = {
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "no details"),
      grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "no details"),
      ToStatus({google::rpc::UNAVAILABLE, "COMMIT_UNKNOWN"}),
      ToStatus({google::rpc::INTERNAL, "INTERNAL"}),
      ToStatus({google::rpc::UNAVAILABLE, "NOT_LEADER"}),
      ToStatus(foreign),
  };
  for (const grpc::Status& error : errors) {
    FakeNode node;
    FakeNode other;
    node.append.Always([error](auto...) { return error; });
    other.append.Always(CommitAt(0));
    const AppendOutcome outcome = ClientOf({node.address(), other.address()})->Append();
    EXPECT_TRUE(std::holds_alternative<Committed>(outcome)) << error.error_message();
    ASSERT_EQ(node.append.requests().size(), 1u);
    ASSERT_EQ(other.append.requests().size(), 1u);
    EXPECT_EQ(node.append.requests()[0].producer().SerializeAsString(),
              other.append.requests()[0].producer().SerializeAsString());
  }
}

// What another node would say too.
TEST(AppendTest, ErrorsWithoutProofThatNoRetryCures_AreUnknown) {
  FakeNode node;
  FakeNode other;
  node.append.Then(FailWith(grpc::StatusCode::NOT_FOUND));
  node.append.Then(FailWith(grpc::StatusCode::UNIMPLEMENTED));
  node.append.Then([](auto...) { return grpc::Status::OK; });
  for (size_t i = 1; i <= 3; ++i) {
    const AppendOutcome outcome = ClientOf({node.address(), other.address()})->Append();
    EXPECT_TRUE(std::holds_alternative<Unknown>(outcome)) << i;
    EXPECT_EQ(node.append.requests().size(), i);
  }
  EXPECT_TRUE(other.append.requests().empty());
}

TEST(AppendTest, DeadNodes_CostNoOutcome) {
  FakeNode dead;
  dead.Kill();
  FakeNode node;
  node.append.Always(CommitAt(1));
  const AppendOutcome outcome = ClientOf({dead.address(), node.address()})->Append(seconds(10));
  EXPECT_TRUE(std::holds_alternative<Committed>(outcome)) << ErrorOf(outcome).ToString();
}

TEST(AppendTest, NobodyThere_IsRefusedBecauseNothingWasSent) {
  FakeNode dead;
  dead.Kill();
  const AppendOutcome outcome = ClientOf({dead.address()})->Append(milliseconds(300));
  ASSERT_TRUE(std::holds_alternative<Refused>(outcome));
  EXPECT_EQ(ErrorOf(outcome).origin, Error::Origin::kNotSent);
  EXPECT_EQ(ErrorOf(outcome).attempts, 0);
}

TEST(AppendTest, RefusedThenNobodyThere_KeepsTheReason) {
  FakeNode node;
  FakeError throttled = AsRefused({google::rpc::RESOURCE_EXHAUSTED, "THROTTLED"});
  // Long enough for the node to be gone before the next attempt.
  throttled.retry_delay_ms = 1000;
  node.append.Always(FailWith(throttled));
  Mutex mutex;
  CondVar changed;
  bool waiting = false;
  std::optional<AppendOutcome> result;
  const auto client = ClientOf({node.address()}, [&](const RetryNotice&) {
    MutexLock lock(&mutex);
    waiting = true;
    changed.NotifyAll();
  });
  client->AppendAsync(seconds(2), [&](AppendOutcome outcome) {
    MutexLock lock(&mutex);
    result = std::move(outcome);
    changed.NotifyAll();
  });
  MutexLock lock(&mutex);
  while (!waiting) changed.Wait(&mutex);
  node.Kill();
  while (!result.has_value()) changed.Wait(&mutex);
  ASSERT_TRUE(std::holds_alternative<Refused>(*result));
  EXPECT_EQ(ErrorOf(*result).reason, v1::ERROR_REASON_THROTTLED);
}

TEST(AppendTest, NodeDiesBeforeItsAnswer_IsFoundOutElsewhere) {
  FakeNode node;
  FakeNode other;
  node.append.Always(
      [](grpc::ServerContext* context, auto...) { return HangUntilCancelled(context); });
  other.append.Always(CommitAt(1));
  const auto client = ClientOf({node.address(), other.address()});
  Mutex mutex;
  CondVar changed;
  std::optional<AppendOutcome> result;
  client->AppendAsync(seconds(30), [&](AppendOutcome outcome) {
    MutexLock lock(&mutex);
    result = std::move(outcome);
    changed.NotifyAll();
  });
  ASSERT_TRUE(node.append.Await(1));
  node.Kill();
  MutexLock lock(&mutex);
  while (!result.has_value()) changed.Wait(&mutex);
  EXPECT_TRUE(std::holds_alternative<Committed>(*result)) << ErrorOf(*result).ToString();
}

TEST(AppendTest, NodeThatHangs_IsLeftForAnother) {
  FakeNode hung;
  FakeNode node;
  hung.append.Always(
      [](grpc::ServerContext* context, auto...) { return HangUntilCancelled(context); });
  node.append.Always(CommitAt(1));
  ClientOptions options;
  options.bootstrap = {hung.address(), node.address()};
  options.spread = false;
  options.attempt_timeout = milliseconds(200);
  EXPECT_TRUE(std::holds_alternative<Committed>(Appender(options, {}).Append()));
}

TEST(AppendTest, NoAnswerInTime_IsUnknown) {
  FakeNode node;
  node.append.Always(
      [](grpc::ServerContext* context, auto...) { return HangUntilCancelled(context); });
  const AppendOutcome outcome = ClientOf({node.address()})->Append(milliseconds(200));
  ASSERT_TRUE(std::holds_alternative<Unknown>(outcome));
  EXPECT_EQ(ErrorOf(outcome).code, google::rpc::DEADLINE_EXCEEDED);
}

}  // namespace
}  // namespace quorum::client
