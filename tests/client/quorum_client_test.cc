// Calls of the client against scripted nodes: where they go, what is repeated, what becomes of
// appends.

#include "client/quorum_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/base/mutex.h"
#include "tests/client/fake_node.h"

namespace quorum::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kNoLeader[] = "LEADER_NOT_AVAILABLE";

std::unique_ptr<QuorumClient> ClientOf(std::vector<std::string> bootstrap) {
  ClientOptions options;
  options.bootstrap = std::move(bootstrap);
  options.spread = false;
  options.seed = 1;
  return std::make_unique<QuorumClient>(options);
}

v1::AppendRequest OneRecord() {
  v1::AppendRequest request;
  request.set_topic("orders");
  request.set_partition(0);
  request.add_records()->set_value("v1");
  return request;
}

CallOptions Within(Duration timeout) {
  CallOptions options;
  options.timeout = timeout;
  return options;
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
  const AppendOutcome outcome = client->Append(OneRecord());
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
  client->Append(OneRecord(), Within(seconds(10)));
  const auto requests = node.append.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(requests[0].has_partition());
  const double timeout = static_cast<double>(requests[0].timeout().seconds()) +
                         static_cast<double>(requests[0].timeout().nanos()) / 1e9;
  EXPECT_GT(timeout, 5.0);
  EXPECT_LE(timeout, 9.0);
}

TEST(AppendTest, Duplicate_IsSaid) {
  FakeNode node;
  node.append.Always(
      [](grpc::ServerContext*, const v1::AppendRequest&, v1::AppendResponse* answer) {
        answer->set_base_offset(4);
        answer->set_duplicate(true);
        return grpc::Status::OK;
      });
  const AppendOutcome outcome = ClientOf({node.address()})->Append(OneRecord());
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
  EXPECT_TRUE(std::holds_alternative<Committed>(client->Append(OneRecord())));
  EXPECT_TRUE(std::holds_alternative<Committed>(client->Append(OneRecord())));
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
    ASSERT_TRUE(std::holds_alternative<Committed>(client->Append(OneRecord())));
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
  CallOptions options;
  options.on_retry = [&notices](const RetryNotice&) { ++notices; };
  const AppendOutcome outcome = ClientOf({node.address()})->Append(OneRecord(), options);
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
  EXPECT_TRUE(std::holds_alternative<Committed>(client->Append(OneRecord())));
  EXPECT_EQ(cut_off.append.requests().size(), 1u);
}

TEST(AppendTest, RefusedToTheEnd_IsRefusedAtTheDeadline) {
  FakeNode node;
  node.append.Always(FailWith(AsRefused({google::rpc::UNAVAILABLE, kNoLeader})));
  const AppendOutcome outcome = ClientOf({node.address()})->Append(OneRecord(), Within(seconds(1)));
  ASSERT_TRUE(std::holds_alternative<Refused>(outcome));
  EXPECT_EQ(ErrorOf(outcome).reason, v1::ERROR_REASON_LEADER_NOT_AVAILABLE);
  EXPECT_GT(ErrorOf(outcome).attempts, 2);
  EXPECT_EQ(node.append.requests().size(), static_cast<size_t>(ErrorOf(outcome).attempts));
}

TEST(AppendTest, RefusedForGood_IsNotRepeated) {
  FakeNode node;
  node.append.Always(FailWith(AsRefused({google::rpc::INVALID_ARGUMENT, "RECORD_TOO_LARGE"})));
  const AppendOutcome outcome = ClientOf({node.address()})->Append(OneRecord());
  ASSERT_TRUE(std::holds_alternative<Refused>(outcome));
  EXPECT_EQ(node.append.requests().size(), 1u);
}

// Each of these may hide a committed append: it is unknown, and never sent again.
TEST(AppendTest, ErrorsWithoutProof_AreUnknownAndNotRepeated) {
  FakeNode node;
  FakeError foreign = AsRefused({google::rpc::UNAVAILABLE, kNoLeader});
  foreign.domain = "proxy.example";
  node.append.Then(FailWith(grpc::StatusCode::UNAVAILABLE));
  node.append.Then(FailWith(grpc::StatusCode::DEADLINE_EXCEEDED));
  node.append.Then(FailWith(grpc::StatusCode::NOT_FOUND));
  node.append.Then(FailWith({google::rpc::UNAVAILABLE, "COMMIT_UNKNOWN"}));
  node.append.Then(FailWith({google::rpc::UNAVAILABLE, "NOT_LEADER"}));
  node.append.Then(FailWith(foreign));
  node.append.Then([](auto...) { return grpc::Status::OK; });
  FakeNode other;
  other.append.Always(CommitAt(0));
  for (size_t i = 1; i <= 7; ++i) {
    const AppendOutcome outcome = ClientOf({node.address(), other.address()})->Append(OneRecord());
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
  const AppendOutcome outcome =
      ClientOf({dead.address(), node.address()})->Append(OneRecord(), Within(seconds(10)));
  EXPECT_TRUE(std::holds_alternative<Committed>(outcome)) << ErrorOf(outcome).ToString();
}

TEST(AppendTest, NobodyThere_IsRefusedBecauseNothingWasSent) {
  FakeNode dead;
  dead.Kill();
  const AppendOutcome outcome =
      ClientOf({dead.address()})->Append(OneRecord(), Within(milliseconds(300)));
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
  CallOptions options = Within(seconds(2));
  options.on_retry = [&](const RetryNotice&) {
    MutexLock lock(&mutex);
    waiting = true;
    changed.NotifyAll();
  };
  const auto client = ClientOf({node.address()});
  client->AppendAsync(OneRecord(), options, [&](AppendOutcome outcome) {
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

TEST(AppendTest, NodeDiesBeforeItsAnswer_IsUnknown) {
  FakeNode node;
  FakeNode other;
  node.append.Always(
      [](grpc::ServerContext* context, auto...) { return HangUntilCancelled(context); });
  other.append.Always(CommitAt(1));
  const auto client = ClientOf({node.address(), other.address()});
  Mutex mutex;
  CondVar changed;
  std::optional<AppendOutcome> result;
  client->AppendAsync(OneRecord(), CallOptions(), [&](AppendOutcome outcome) {
    MutexLock lock(&mutex);
    result = std::move(outcome);
    changed.NotifyAll();
  });
  ASSERT_TRUE(node.append.Await(1));
  node.Kill();
  {
    MutexLock lock(&mutex);
    while (!result.has_value()) changed.Wait(&mutex);
    EXPECT_TRUE(std::holds_alternative<Unknown>(*result));
  }
  EXPECT_TRUE(other.append.requests().empty());
  // The client itself goes on.
  EXPECT_TRUE(std::holds_alternative<Committed>(client->Append(OneRecord())));
}

TEST(AppendTest, NoAnswerInTime_IsUnknown) {
  FakeNode node;
  node.append.Always(
      [](grpc::ServerContext* context, auto...) { return HangUntilCancelled(context); });
  const AppendOutcome outcome =
      ClientOf({node.address()})->Append(OneRecord(), Within(milliseconds(200)));
  ASSERT_TRUE(std::holds_alternative<Unknown>(outcome));
  EXPECT_EQ(ErrorOf(outcome).code, google::rpc::DEADLINE_EXCEEDED);
}

TEST(AppendTest, EndOfTheClient_CompletesWhatIsOnItsWay) {
  FakeNode node;
  node.append.Always(
      [](grpc::ServerContext* context, auto...) { return HangUntilCancelled(context); });
  std::atomic<int> unknown{0};
  auto client = ClientOf({node.address()});
  client->AppendAsync(OneRecord(), CallOptions(), [&unknown](AppendOutcome outcome) {
    if (std::holds_alternative<Unknown>(outcome)) ++unknown;
  });
  ASSERT_TRUE(node.append.Await(1));
  client.reset();
  EXPECT_EQ(unknown, 1);
}

TEST(AppendTest, EndOfTheClientBeforeSending_IsRefused) {
  FakeNode dead;
  dead.Kill();
  std::atomic<int> refused{0};
  auto client = ClientOf({dead.address()});
  client->AppendAsync(OneRecord(), CallOptions(), [&refused](AppendOutcome outcome) {
    if (std::holds_alternative<Refused>(outcome)) ++refused;
  });
  client.reset();
  EXPECT_EQ(refused, 1);
}

TEST(AppendTest, ManyAtOnce_AllComplete) {
  constexpr int kCalls = 200;
  FakeNode node;
  node.append.Always(CommitAt(1));
  const auto client = ClientOf({node.address()});
  Mutex mutex;
  CondVar changed;
  int committed = 0;
  for (int i = 0; i < kCalls; ++i) {
    client->AppendAsync(OneRecord(), CallOptions(), [&](AppendOutcome outcome) {
      MutexLock lock(&mutex);
      if (std::holds_alternative<Committed>(outcome)) ++committed;
      changed.NotifyAll();
    });
  }
  MutexLock lock(&mutex);
  while (committed < kCalls) {
    ASSERT_TRUE(changed.WaitFor(&mutex, seconds(20))) << committed << " committed";
  }
}

}  // namespace
}  // namespace quorum::client
