// The client library against real processes: what producers were told and consumers saw while
// leaders were killed, against the logs of the replicas.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "client/admin.h"
#include "client/consumer.h"
#include "client/producer.h"
#include "client/quorum_client.h"
#include "service/base/mutex.h"
#include "tests/integration/await.h"
#include "tests/integration/cluster.h"
#include "tests/integration/history_checker.h"

namespace quorum::integration {
namespace {

using client::Admin;
using client::AppendOutcome;
using client::AppendSpec;
using client::Committed;
using client::Consumer;
using client::ConsumerEvent;
using client::PartitionName;
using client::Producer;
using client::ProducerOptions;
using client::QuorumClient;
using client::RecordOf;
using client::Refused;
using client::TailRecords;
using client::TailReplayed;
using client::TailSpec;

constexpr char kTopic[] = "orders";
const PartitionName kOrders{kTopic, 0};

class ClientsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Start());
    ASSERT_TRUE(cluster_.CreateTopic(kTopic, 1, 3));
    ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &leadership_));
    client::ClientOptions options;
    for (const int32_t id : cluster_.ids()) {
      options.bootstrap.push_back(cluster_.node(id).address());
    }
    client_ = std::make_unique<QuorumClient>(options);
  }

  // Kills the leader with SIGKILL, waits for another one, and starts it again.
  void KillLeader() {
    const Leadership before = leadership_;
    cluster_.node(before.leader).Kill();
    ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &leadership_, before.epoch));
    ASSERT_TRUE(cluster_.Start());
  }

  // The log of each replica, up to what is committed now.
  std::vector<ReplicaLog> ReadReplicas() {
    std::vector<ReplicaLog> replicas;
    PartitionQuorum quorum;
    EXPECT_TRUE(cluster_.AwaitQuorum(kTopic, 0, &quorum));
    const int64_t end = quorum.high_watermark();
    for (const auto& voter : quorum.current_voters()) {
      v1::TailRequest request;
      request.set_topic(kTopic);
      request.set_partition(0);
      request.set_offset(0);
      request.set_no_forward(true);
      TailRun run = RunTail(*cluster_.stubs(voter.node_id()).log, request, kWaitMax,
                            [end](const TailRun& so_far) { return so_far.next_offset >= end; });
      EXPECT_TRUE(run.status.ok()) << FailureOf(run.status);
      replicas.push_back(ReplicaLog{absl::StrCat("node ", voter.node_id()),
                                    run.next_offset.value_or(0), std::move(run.records)});
    }
    return replicas;
  }

  Cluster cluster_{ClusterOptions()};
  Leadership leadership_;
  std::unique_ptr<QuorumClient> client_;
};

// What the appends of one producer became.
class AppendLog {
 public:
  explicit AppendLog(int client) : client_(client) {}

  // Appends a payload of its own, and notes the outcome.
  void Append(Producer* producer, AppendSpec spec) {
    AppendOperation operation;
    operation.client = client_;
    for (const v1::Record& record : spec.records) operation.payloads.push_back(record.value());
    operation.invoked = Now();
    size_t index = 0;
    {
      MutexLock lock(&mutex_);
      index = operations_.size();
      operations_.push_back(std::move(operation));
    }
    producer->Append(std::move(spec), [this, index](const AppendOutcome& outcome) {
      MutexLock lock(&mutex_);
      AppendOperation& done = operations_[index];
      done.returned = Now();
      if (const auto* committed = std::get_if<Committed>(&outcome)) {
        done.outcome = Outcome::kCommitted;
        done.base_offset = committed->base_offset.value();
        done.leader_epoch = committed->leader_epoch.value();
        ++committed_;
      } else if (std::holds_alternative<Refused>(outcome)) {
        done.outcome = Outcome::kRefused;
      }
    });
  }

  int committed() {
    MutexLock lock(&mutex_);
    return committed_;
  }
  std::vector<AppendOperation> operations() {
    MutexLock lock(&mutex_);
    return operations_;
  }

 private:
  const int client_;
  Mutex mutex_;
  int committed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<AppendOperation> operations_ ABSL_GUARDED_BY(mutex_);
};

// Takes what the consumer has, until it stands at `end` and was told that all below is committed.
void ReadUntil(Consumer* consumer, int64_t end, ReadOperation* read) {
  const MonoTime limit = Now() + kWaitMax;
  while ((read->next < end || read->high_watermark < end) && Now() < limit) {
    const std::optional<ConsumerEvent> next = consumer->Next(std::chrono::milliseconds(100));
    if (!next.has_value()) continue;
    if (const auto* progress = std::get_if<client::TailProgress>(&next->event)) {
      if (progress->next_offset.has_value()) read->next = progress->next_offset->value();
      if (progress->high_watermark.has_value()) {
        read->high_watermark = progress->high_watermark->value();
      }
    }
    const auto* records = std::get_if<TailRecords>(&next->event);
    if (records == nullptr) continue;
    read->next = records->next_offset.value();
    for (const client::TailRecord& record : records->records) {
      read->records.push_back(
          {record.offset.value(), record.leader_epoch.value(), record.record.value()});
      read->seen.push_back(Now());
    }
  }
}

TEST_F(ClientsTest, PipelinedAppends_AreInTheLogOnceInOrderThroughKills) {
  PartitionHistory history;
  history.partition = "orders:0";
  Consumer consumer(*client_);
  consumer.Add({kOrders, Offset(0)});
  ReadOperation read;
  read.reader = "consumer";
  AppendLog appends(1);
  {
    Producer producer(*client_);
    int payload = 0;
    for (int kill = 0; kill < 3; ++kill) {
      const int wanted = appends.committed() + 300;
      const auto append_some = [&](int count) {
        for (int i = 0; i < count; ++i) {
          appends.Append(&producer, {kOrders, {RecordOf(absl::StrCat("v", payload++))}});
        }
      };
      append_some(600);
      ASSERT_TRUE(Await("appends", [&]() -> std::string {
        return appends.committed() < wanted ? absl::StrCat(appends.committed(), " committed") : "";
      }));
      append_some(600);
      KillLeader();
    }
    ASSERT_TRUE(producer.Flush(kWaitMax));
  }
  history.replicas = ReadReplicas();
  ASSERT_EQ(history.replicas.size(), 3u);
  ReadUntil(&consumer, history.replicas[0].end, &read);
  history.appends = appends.operations();
  // With half a minute to find it out, no outcome stays unknown.
  EXPECT_EQ(appends.committed(), 3600);
  EXPECT_EQ(read.records.size(), 3600u);
  int64_t last = -1;
  for (const AppendOperation& append : history.appends) {
    EXPECT_GT(append.base_offset, last) << append.payloads[0];
    last = append.base_offset;
  }
  history.reads.push_back(std::move(read));
  EXPECT_THAT(CheckHistory(history), testing::IsEmpty());
}

TEST_F(ClientsTest, NamedSuccessor_ShutsOutAPredecessorWithAppendsOnTheirWay) {
  ProducerOptions options;
  options.name = "controller";
  Producer first(*client_, options);
  ASSERT_TRUE(first.Init(kOrders).ok());
  AppendLog of_first(1);
  AppendLog of_second(2);
  for (int i = 0; i < 500; ++i) {
    of_first.Append(&first, {kOrders, {RecordOf(absl::StrCat("first", i))}});
  }
  KillLeader();
  Producer second(*client_, options);
  const auto identity = second.Init(kOrders);
  ASSERT_TRUE(identity.ok()) << identity.error().ToString();
  EXPECT_GE(identity.value().epoch, 1);
  for (int i = 500; i < 1000; ++i) {
    of_first.Append(&first, {kOrders, {RecordOf(absl::StrCat("first", i))}});
    of_second.Append(&second, {kOrders, {RecordOf(absl::StrCat("second", i))}});
  }
  ASSERT_TRUE(first.Flush(kWaitMax));
  ASSERT_TRUE(second.Flush(kWaitMax));
  EXPECT_EQ(of_second.committed(), 500);
  const AppendOutcome late = first.AppendAndWait({kOrders, {RecordOf("late")}});
  ASSERT_TRUE(std::holds_alternative<Refused>(late));

  PartitionHistory history;
  history.partition = "orders:0";
  history.replicas = ReadReplicas();
  history.appends = of_first.operations();
  for (AppendOperation& append : of_second.operations()) {
    history.appends.push_back(std::move(append));
  }
  EXPECT_THAT(CheckHistory(history), testing::IsEmpty());
  // Nothing of the first one follows the successor's beginning.
  bool successor = false;
  for (const LoggedRecord& record : history.replicas[0].records) {
    successor |= record.payload.rfind("second", 0) == 0;
    EXPECT_FALSE(successor && record.payload.rfind("first", 0) == 0) << record.payload;
  }
}

TEST_F(ClientsTest, ConditionalAppends_SurviveAChangeOfTheLeader) {
  Producer producer(*client_);
  int64_t expected = 0;
  for (int i = 0; i < 30; ++i) {
    AppendSpec spec{kOrders, {RecordOf(absl::StrCat("v", i))}};
    spec.expected_offset = Offset(expected);
    const AppendOutcome outcome = producer.AppendAndWait(spec);
    const auto* committed = std::get_if<Committed>(&outcome);
    ASSERT_NE(committed, nullptr) << i;
    EXPECT_GE(committed->base_offset.value(), expected);
    expected = committed->base_offset.value() + 1;
    if (i % 10 == 5) KillLeader();
  }
  AppendSpec stale{kOrders, {RecordOf("stale")}};
  stale.expected_offset = Offset(expected - 1);
  const AppendOutcome outcome = producer.AppendAndWait(stale);
  const auto* refused = std::get_if<Refused>(&outcome);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->error.reason, v1::ERROR_REASON_OFFSET_MISMATCH);
  EXPECT_EQ(refused->error.metadata.at("log_end"), absl::StrCat(expected));
}

TEST_F(ClientsTest, Consumer_ReplaysThroughAKillAndSaysWhenItIsComplete) {
  Producer producer(*client_);
  AppendLog appends(1);
  for (int i = 0; i < 200; ++i) {
    appends.Append(&producer, {kOrders, {RecordOf(std::string(20'000, 'v') + std::to_string(i))}});
  }
  ASSERT_TRUE(producer.Flush(kWaitMax));
  ASSERT_EQ(appends.committed(), 200);
  client::ConsumerOptions options;
  options.buffer_bytes_max = 200'000;
  Consumer consumer(*client_, options);
  consumer.Add({kOrders});
  size_t records = 0;
  bool replayed = false;
  bool killed = false;
  const MonoTime limit = Now() + kWaitMax;
  while (!replayed && Now() < limit) {
    const auto next = consumer.Next(std::chrono::milliseconds(100));
    if (!next.has_value()) continue;
    if (const auto* delivered = std::get_if<TailRecords>(&next->event)) {
      for (const client::TailRecord& record : delivered->records) {
        EXPECT_EQ(record.record.value().substr(20'000), std::to_string(records++));
      }
    }
    if (std::holds_alternative<TailReplayed>(next->event)) {
      replayed = true;
      EXPECT_EQ(records, 200u) << "told too early";
    }
    if (records > 20 && !killed) {
      killed = true;
      cluster_.node(leadership_.leader).Kill();
    }
  }
  EXPECT_TRUE(replayed);
}

TEST_F(ClientsTest, Admin_ManagesTopicsAndLeaders) {
  const Admin admin(*client_);
  const auto created = admin.CreateTopic({"stock", 2, 3});
  ASSERT_TRUE(created.ok()) << created.error().ToString();
  EXPECT_EQ(created.value().partition_count(), 2u);
  const auto again = admin.CreateTopic({"stock"});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().reason, v1::ERROR_REASON_TOPIC_ALREADY_EXISTS);
  // What one node has committed, another one may hear of a moment later.
  EXPECT_TRUE(Await("both topics are listed", [&]() -> std::string {
    const auto listed = admin.ListTopics();
    if (!listed.ok()) return listed.error().ToString();
    return listed.value().size() == 2 ? "" : absl::StrCat(listed.value().size(), " are");
  }));
  const auto cluster = admin.DescribeCluster();
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(cluster.value().nodes_size(), 3);

  const int32_t other = leadership_.leader % 3 + 1;
  const auto elected = admin.ElectLeader(kOrders, NodeId(other));
  ASSERT_TRUE(elected.ok()) << elected.error().ToString();
  EXPECT_EQ(elected.value().leader, NodeId(other));
  EXPECT_GT(elected.value().epoch, Epoch(leadership_.epoch));
  ASSERT_TRUE(Await("the new leader describes its quorum", [&]() -> std::string {
    const auto quorum = admin.DescribeQuorum(kOrders);
    if (!quorum.ok()) return quorum.error().ToString();
    return quorum.value().leader_id() == other ? "" : "led by another";
  }));
  const auto missing = admin.DescribeQuorum({kTopic, 9});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, google::rpc::NOT_FOUND);

  ASSERT_TRUE(admin.DeleteTopic("stock", created.value().topic_id()).ok());
  EXPECT_TRUE(Await("the topic is gone", [&]() -> std::string {
    const auto described = admin.DescribeTopic("stock");
    if (described.ok()) return "it is described";
    const bool unknown = described.error().reason == v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION;
    return unknown ? "" : described.error().ToString();
  }));
}

}  // namespace
}  // namespace quorum::integration
