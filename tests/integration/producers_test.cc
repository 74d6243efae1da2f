// Appends that are made exactly once, under a condition, or by one writer at a time, while leaders
// are killed and paused: what clients were told, against the log.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "service/base/mutex.h"
#include "tests/integration/await.h"
#include "tests/integration/cluster.h"
#include "tests/integration/node.h"
#include "tests/integration/process.h"
#include "tests/integration/stubs.h"

namespace quorum::integration {
namespace {

constexpr char kTopic[] = "orders";

class ProducersTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Start());
    ASSERT_TRUE(cluster_.CreateTopic(kTopic, 1, 3));
    ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &leadership_));
  }

  // Kills the leader, waits for another one, and starts it again.
  void KillLeader() {
    const Leadership before = leadership_;
    cluster_.node(before.leader).Kill();
    ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &leadership_, before.epoch));
    ASSERT_TRUE(cluster_.Start());
  }

  // The whole committed log, as a node that leads shows it.
  std::vector<LoggedRecord> ReadLog() {
    EXPECT_TRUE(cluster_.AwaitLeader(kTopic, 0, &leadership_));
    v1::TailRequest request;
    request.set_topic(kTopic);
    request.set_partition(0);
    request.set_earliest(true);
    request.set_until_high_watermark(true);
    const TailRun run = RunTail(*cluster_.stubs(leadership_.leader).log, request, kWaitMax);
    EXPECT_TRUE(run.status.ok()) << run.status.error_message();
    return run.records;
  }

  grpc::Status Init(int32_t node, const std::string& name, v1::InitProducerResponse* response) {
    v1::InitProducerRequest request;
    if (!name.empty()) {
      request.set_name(name);
      request.set_topic(kTopic);
      request.set_partition(0);
    }
    return Call(*cluster_.stubs(node).log, &v1::LogService::Stub::InitProducer, request, response);
  }

  Cluster cluster_{ClusterOptions()};
  Leadership leadership_;
};

v1::AppendRequest Stamped(const v1::InitProducerResponse& producer, int64_t sequence,
                          const std::string& payload) {
  v1::AppendRequest request = AppendOf(kTopic, 0, {payload});
  v1::ProducerStamp* stamp = request.mutable_producer();
  stamp->set_producer_id(producer.producer_id());
  stamp->set_producer_epoch(producer.producer_epoch());
  stamp->set_base_sequence(sequence);
  return request;
}

// --- exactly once

// Sends every batch again and again, to one node after the other, until it is told where it is; now
// and then once more after that.
class IdempotentWriter {
 public:
  IdempotentWriter(Cluster* cluster, int id, v1::InitProducerResponse producer)
      : cluster_(cluster), id_(id), producer_(std::move(producer)), thread_([this] { Run(); }) {}
  ~IdempotentWriter() { Stop(); }

  void Stop() {
    stopping_.store(true);
    if (thread_.joinable()) thread_.join();
  }

  int committed() const { return committed_.load(); }
  // After Stop.
  const std::vector<std::pair<int64_t, std::string>>& acknowledged() const { return acknowledged_; }
  int retries() const { return retries_; }
  int duplicates() const { return duplicates_; }

 private:
  void Run() {
    const std::vector<int32_t> nodes = cluster_->ids();
    size_t turn = static_cast<size_t>(id_);
    for (int64_t sequence = 0; !stopping_.load(); ++sequence) {
      const std::string payload = absl::StrCat("w", id_, "-", sequence);
      std::optional<int64_t> offset;
      // The test may end while the last batch is still under way.
      for (int attempt = 0; !stopping_.load() || !offset.has_value(); ++attempt) {
        const Stubs& stubs = cluster_->stubs(nodes[turn++ % nodes.size()]);
        v1::AppendResponse response;
        v1::AppendRequest request = Stamped(producer_, sequence, payload);
        request.mutable_timeout()->set_nanos(300'000'000);
        const grpc::Status status = Call(*stubs.log, &v1::LogService::Stub::Append, request,
                                         &response, std::chrono::milliseconds(400));
        if (attempt > 0) ++retries_;
        if (!status.ok()) {
          CheckFailure(status);
          continue;
        }
        if (offset.has_value()) {
          EXPECT_EQ(response.base_offset(), *offset) << payload;
          EXPECT_TRUE(response.duplicate()) << payload;
        }
        if (response.duplicate()) ++duplicates_;
        const bool once_more = !offset.has_value() && sequence % 5 == 0;
        offset = response.base_offset();
        if (!once_more) break;
      }
      if (!offset.has_value()) return;
      acknowledged_.emplace_back(*offset, payload);
      committed_.fetch_add(1);
    }
  }

  // One batch at a time, so nothing about the producer can be wrong.
  void CheckFailure(const grpc::Status& status) {
    const Failure failure = FailureOf(status);
    EXPECT_NE(failure.reason, "PRODUCER_FENCED");
    EXPECT_NE(failure.reason, "OUT_OF_ORDER_SEQUENCE");
    EXPECT_NE(failure.reason, "UNKNOWN_PRODUCER");
  }

  Cluster* const cluster_;
  const int id_;
  const v1::InitProducerResponse producer_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> committed_{0};
  std::vector<std::pair<int64_t, std::string>> acknowledged_;
  int retries_ = 0;
  int duplicates_ = 0;
  // Last, so that it starts when all else is there.
  std::thread thread_;
};

TEST_F(ProducersTest, RetriesThroughKillsOfTheLeaderAppendOnce) {
  std::vector<std::unique_ptr<IdempotentWriter>> writers;
  std::set<int64_t> ids;
  for (int id = 0; id < 4; ++id) {
    v1::InitProducerResponse producer;
    const grpc::Status status = Init(id % 3 + 1, "", &producer);
    ASSERT_TRUE(status.ok()) << FailureOf(status);
    EXPECT_TRUE(ids.insert(producer.producer_id()).second) << "an id is given out once";
    writers.push_back(std::make_unique<IdempotentWriter>(&cluster_, id, producer));
  }
  const auto await_some = [&] {
    std::vector<int> before;
    for (const auto& writer : writers) before.push_back(writer->committed());
    return Await("every writer goes on", [&]() -> std::string {
      for (size_t i = 0; i < writers.size(); ++i) {
        if (writers[i]->committed() < before[i] + 20) return absl::StrCat("writer ", i, " waits");
      }
      return "";
    });
  };
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(await_some());
    KillLeader();
  }
  ASSERT_TRUE(await_some());
  int retries = 0;
  int duplicates = 0;
  std::map<int64_t, std::string> acknowledged;
  for (const auto& writer : writers) {
    writer->Stop();
    retries += writer->retries();
    duplicates += writer->duplicates();
    for (const auto& [offset, payload] : writer->acknowledged()) acknowledged[offset] = payload;
  }
  EXPECT_GT(retries, 0);
  EXPECT_GT(duplicates, 0);
  std::set<std::string> seen;
  std::map<char, int> last;
  for (const LoggedRecord& record : ReadLog()) {
    EXPECT_TRUE(seen.insert(record.payload).second) << record.payload << " is in the log twice";
    const auto told = acknowledged.find(record.offset);
    if (told != acknowledged.end()) EXPECT_EQ(told->second, record.payload) << record.offset;
    int sequence = -1;
    ASSERT_TRUE(absl::SimpleAtoi(record.payload.substr(3), &sequence)) << record.payload;
    const auto before = last.emplace(record.payload[1], -1).first;
    EXPECT_EQ(sequence, before->second + 1) << record.payload << ": in order and without a gap";
    before->second = sequence;
  }
  for (const auto& [offset, payload] : acknowledged) {
    EXPECT_EQ(seen.count(payload), 1u) << payload << " was acknowledged and is not in the log";
  }
}

// A new process gives out other ids than the one that was killed.
TEST_F(ProducersTest, IdsAreNeverGivenOutAgain) {
  std::set<int64_t> ids;
  for (int round = 0; round < 3; ++round) {
    for (const int32_t node : cluster_.ids()) {
      v1::InitProducerResponse producer;
      const grpc::Status status = Init(node, "", &producer);
      ASSERT_TRUE(status.ok()) << FailureOf(status);
      EXPECT_TRUE(ids.insert(producer.producer_id()).second) << producer.producer_id();
    }
    cluster_.node(round % 3 + 1).Kill();
    ASSERT_TRUE(cluster_.Start());
  }
}

// --- conditions

struct ConditionalAppend {
  int64_t expected = 0;
  std::string payload;
  grpc::Status status;
  v1::AppendResponse response;
  bool returned = false;
};

// Appends at the end that it believes in, 16 at once, each on top of the one before.
class ConditionalWriter {
 public:
  static constexpr size_t kOutstanding = 16;

  ConditionalWriter(Cluster* cluster, int id)
      : cluster_(cluster), id_(id), thread_([this] { Run(); }) {}
  ~ConditionalWriter() { Stop(); }

  void Stop() {
    stopping_.store(true);
    if (thread_.joinable()) thread_.join();
  }

  int committed() const { return committed_.load(); }
  // After Stop.
  const std::vector<std::unique_ptr<ConditionalAppend>>& appends() const { return appends_; }

 private:
  void Run() {
    const std::vector<int32_t> nodes = cluster_->ids();
    size_t turn = static_cast<size_t>(id_);
    int64_t end = 0;
    while (!stopping_.load()) {
      std::vector<ConditionalAppend*> round = Launch(cluster_->stubs(nodes[turn % 3]), end);
      bool failed = false;
      for (const ConditionalAppend* append : round) {
        const Failure failure = FailureOf(append->status);
        int64_t log_end = 0;
        if (append->status.ok()) {
          end = std::max(end, append->response.base_offset() + 1);
          committed_.fetch_add(1);
        } else if (failure.reason == "OFFSET_MISMATCH") {
          EXPECT_EQ(failure.code, grpc::StatusCode::ABORTED);
          const auto named = failure.metadata.find("log_end");
          ASSERT_NE(named, failure.metadata.end());
          ASSERT_TRUE(absl::SimpleAtoi(named->second, &log_end));
          end = std::max(end, log_end);
        } else {
          failed = true;
        }
      }
      if (failed) ++turn;
    }
  }

  // Sends one round and waits for its end.
  std::vector<ConditionalAppend*> Launch(const Stubs& stubs, int64_t end) {
    struct InFlight {
      grpc::ClientContext context;
      v1::AppendRequest request;
    };
    std::vector<std::unique_ptr<InFlight>> calls;
    std::vector<ConditionalAppend*> round;
    for (size_t i = 0; i < kOutstanding; ++i) {
      appends_.push_back(std::make_unique<ConditionalAppend>());
      ConditionalAppend* append = appends_.back().get();
      append->expected = end + static_cast<int64_t>(i);
      append->payload = absl::StrCat("c", id_, "-", appends_.size());
      calls.push_back(std::make_unique<InFlight>());
      InFlight& call = *calls.back();
      call.request = AppendOf(kTopic, 0, {append->payload});
      call.request.set_expected_offset(append->expected);
      call.request.mutable_timeout()->set_seconds(2);
      SetDeadline(&call.context, std::chrono::seconds(3));
      round.push_back(append);
      stubs.log->async()->Append(&call.context, &call.request, &append->response,
                                 [this, append](grpc::Status status) {
                                   MutexLock lock(&mutex_);
                                   append->status = std::move(status);
                                   append->returned = true;
                                   changed_.NotifyAll();
                                 });
    }
    MutexLock lock(&mutex_);
    while (!std::all_of(round.begin(), round.end(),
                        [](const ConditionalAppend* append) { return append->returned; })) {
      (void)changed_.WaitFor(&mutex_, std::chrono::seconds(1));
    }
    return round;
  }

  Cluster* const cluster_;
  const int id_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> committed_{0};
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::unique_ptr<ConditionalAppend>> appends_;
  std::thread thread_;
};

TEST_F(ProducersTest, EverySuccessOfTwoConditionalWritersSawWhatItExpected) {
  ConditionalWriter first(&cluster_, 0);
  ConditionalWriter second(&cluster_, 1);
  const auto await_some = [&] {
    const int before = first.committed() + second.committed();
    return Await("conditional appends go on", [&]() -> std::string {
      const int now = first.committed() + second.committed();
      return now >= before + 60 ? "" : absl::StrCat(now - before, " succeeded");
    });
  };
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(await_some());
    KillLeader();
  }
  ASSERT_TRUE(await_some());
  first.Stop();
  second.Stop();
  std::map<std::string, int64_t> log;
  std::set<int64_t> data;
  for (const LoggedRecord& record : ReadLog()) {
    EXPECT_TRUE(log.emplace(record.payload, record.offset).second) << record.payload << " twice";
    data.insert(record.offset);
  }
  int committed = 0;
  int refused = 0;
  for (const ConditionalWriter* writer : {&first, &second}) {
    for (const auto& append : writer->appends()) {
      const auto found = log.find(append->payload);
      const Outcome outcome = OutcomeOf(append->status);
      if (outcome == Outcome::kCommitted) {
        ++committed;
        ASSERT_NE(found, log.end()) << append->payload;
        EXPECT_EQ(found->second, append->response.base_offset());
      } else if (outcome == Outcome::kRefused) {
        ++refused;
        EXPECT_EQ(found, log.end()) << append->payload << " was refused and is in the log";
      }
      if (found == log.end()) continue;
      // Also where nobody was told of the success.
      EXPECT_GE(found->second, append->expected);
      EXPECT_EQ(*data.lower_bound(append->expected), found->second)
          << append->payload << ": another record lies where none was expected";
    }
  }
  EXPECT_GT(committed, 100);
  EXPECT_GT(refused, 0);
}

// --- fencing

// Another process that writes under the name until it is refused.
TEST_F(ProducersTest, AWriterThatWasPausedIsRefusedWhenItWakes) {
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
TEST_F(ProducersTest, ALeaderThatWasPausedAppendsNothingOfAFencedEpoch) {
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

}  // namespace
}  // namespace quorum::integration
