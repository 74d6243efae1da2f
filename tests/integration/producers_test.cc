// Appends that are made exactly once, under a condition, or by one writer at a time, while leaders
// are killed and paused: what clients were told, against the log.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
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
#include "tests/integration/history_checker.h"
#include "tests/integration/node.h"
#include "tests/integration/process.h"
#include "tests/integration/stubs.h"
#include "tests/integration/workload.h"

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

  // Pauses the leader until another one is elected and the writers have gone on. It wakes with
  // what it had in its hands.
  void PauseLeader(const std::function<testing::AssertionResult()>& await_some) {
    const Leadership before = leadership_;
    cluster_.node(before.leader).Pause();
    testing::AssertionResult went_on = cluster_.AwaitLeader(kTopic, 0, &leadership_, before.epoch);
    if (went_on) went_on = await_some();
    cluster_.node(before.leader).Resume();
    ASSERT_TRUE(went_on);
    ASSERT_TRUE(cluster_.AwaitServing());
  }

  // Kills and pauses leaders by turns, with time for the writers in between.
  void HarmLeaders(const std::function<testing::AssertionResult()>& await_some) {
    for (int round = 0; round < 4; ++round) {
      ASSERT_TRUE(await_some());
      if (round % 2 == 0) {
        ASSERT_NO_FATAL_FAILURE(KillLeader());
      } else {
        ASSERT_NO_FATAL_FAILURE(PauseLeader(await_some));
      }
    }
    ASSERT_TRUE(await_some());
  }

  // Whether the partition kept its promises to all who appended.
  void CheckPromises(std::vector<AppendOperation> appends, std::vector<LeaderSighting> leaders) {
    PartitionHistory history;
    history.partition = absl::StrCat(kTopic, ":0");
    history.appends = std::move(appends);
    history.leaders = std::move(leaders);
    ASSERT_TRUE(ReadReplicas(&cluster_, kTopic, 0, &history));
    EXPECT_THAT(CheckHistory(history), testing::IsEmpty());
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

// What an answer says of who led. A duplicate's epoch is an older one than its leader's.
void NoteLeader(const v1::AppendResponse& response, std::vector<LeaderSighting>* leaders) {
  if (!response.has_leader_id() || response.duplicate()) return;
  leaders->push_back(
      LeaderSighting{response.leader_epoch(), response.leader_id(), "an acknowledgement"});
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
  const std::vector<AppendOperation>& appends() const { return appends_; }
  const std::vector<LeaderSighting>& leaders() const { return leaders_; }
  int retries() const { return retries_; }
  int duplicates() const { return duplicates_; }

 private:
  void Run() {
    const std::vector<int32_t> nodes = cluster_->ids();
    size_t turn = static_cast<size_t>(id_);
    for (int64_t sequence = 0; !stopping_.load(); ++sequence) {
      const std::string payload = absl::StrCat("w", id_, "-", sequence);
      AppendOperation append;
      append.client = id_;
      append.payloads = {payload};
      append.invoked = Now();
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
        NoteLeader(response, &leaders_);
        const bool once_more = !offset.has_value() && sequence % 5 == 0;
        if (!offset.has_value()) append.returned = Now();
        offset = response.base_offset();
        append.leader_epoch = response.leader_epoch();
        if (!once_more) break;
      }
      append.outcome = Outcome::kCommitted;
      append.base_offset = *offset;
      appends_.push_back(std::move(append));
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
  std::vector<AppendOperation> appends_;
  std::vector<LeaderSighting> leaders_;
  int retries_ = 0;
  int duplicates_ = 0;
  // Last, so that it starts when all else is there.
  std::thread thread_;
};

TEST_F(ProducersTest, RetriesThroughKillsAndPausesOfTheLeaderAppendOnce) {
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
  ASSERT_NO_FATAL_FAILURE(HarmLeaders(await_some));
  int retries = 0;
  int duplicates = 0;
  std::vector<AppendOperation> appends;
  std::vector<LeaderSighting> leaders;
  for (const auto& writer : writers) {
    writer->Stop();
    retries += writer->retries();
    duplicates += writer->duplicates();
    appends.insert(appends.end(), writer->appends().begin(), writer->appends().end());
    leaders.insert(leaders.end(), writer->leaders().begin(), writer->leaders().end());
  }
  EXPECT_GT(retries, 0);
  EXPECT_GT(duplicates, 0);
  std::map<char, int> last;
  for (const LoggedRecord& record : ReadLog()) {
    int sequence = -1;
    ASSERT_TRUE(absl::SimpleAtoi(record.payload.substr(3), &sequence)) << record.payload;
    const auto before = last.emplace(record.payload[1], -1).first;
    EXPECT_EQ(sequence, before->second + 1) << record.payload << ": in order, once, without a gap";
    before->second = sequence;
  }
  CheckPromises(std::move(appends), std::move(leaders));
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

enum class Condition {
  // Each at the end of the log that it believes in, on top of the one before.
  kOffset,
  // In the leader epoch that was seen last.
  kEpoch,
};

struct ConditionalAppend {
  // Of either kind, the one that was asked for.
  int64_t expected = 0;
  std::string payload;
  MonoTime invoked;
  // Empty while it is under way.
  std::optional<MonoTime> returned;
  grpc::Status status;
  v1::AppendResponse response;
};

// Appends under one condition, 16 at once.
class ConditionalWriter {
 public:
  static constexpr size_t kOutstanding = 16;

  // `start`: the end of the log, or the epoch, to begin with.
  ConditionalWriter(Cluster* cluster, int id, Condition condition, int64_t start)
      : cluster_(cluster), id_(id), condition_(condition), next_(start), thread_([this] {
          Run();
        }) {}
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
    while (!stopping_.load()) {
      std::vector<ConditionalAppend*> round = Launch(cluster_->stubs(nodes[turn % 3]));
      bool failed = false;
      for (const ConditionalAppend* append : round) failed |= !Learn(*append);
      if (failed) ++turn;
    }
  }

  // What an answer says about the next condition. False when it is none.
  bool Learn(const ConditionalAppend& append) {
    const bool of_offset = condition_ == Condition::kOffset;
    if (append.status.ok()) {
      committed_.fetch_add(1);
      const int64_t seen =
          of_offset ? append.response.base_offset() + 1 : append.response.leader_epoch();
      next_ = std::max(next_, seen);
      return true;
    }
    const Failure failure = FailureOf(append.status);
    if (failure.reason != (of_offset ? "OFFSET_MISMATCH" : "FENCED_LEADER_EPOCH")) return false;
    EXPECT_EQ(failure.code,
              of_offset ? grpc::StatusCode::ABORTED : grpc::StatusCode::FAILED_PRECONDITION);
    const auto named = failure.metadata.find(of_offset ? "log_end" : "leader_epoch");
    int64_t seen = 0;
    if (named == failure.metadata.end() || !absl::SimpleAtoi(named->second, &seen)) {
      ADD_FAILURE() << "names nothing to go on with: " << failure;
      return false;
    }
    // Who names the same epoch again does not lead yet, or any more.
    const bool news = of_offset || seen > next_;
    next_ = std::max(next_, seen);
    return news;
  }

  // Sends one round and waits for its end.
  std::vector<ConditionalAppend*> Launch(const Stubs& stubs) {
    struct InFlight {
      grpc::ClientContext context;
      v1::AppendRequest request;
    };
    std::vector<std::unique_ptr<InFlight>> calls;
    std::vector<ConditionalAppend*> round;
    for (size_t i = 0; i < kOutstanding; ++i) {
      appends_.push_back(std::make_unique<ConditionalAppend>());
      ConditionalAppend* append = appends_.back().get();
      append->expected = next_ + (condition_ == Condition::kOffset ? static_cast<int64_t>(i) : 0);
      append->payload = absl::StrCat("c", id_, "-", appends_.size());
      calls.push_back(std::make_unique<InFlight>());
      InFlight& call = *calls.back();
      call.request = AppendOf(kTopic, 0, {append->payload});
      if (condition_ == Condition::kOffset) {
        call.request.set_expected_offset(append->expected);
      } else {
        call.request.set_leader_epoch(append->expected);
      }
      call.request.mutable_timeout()->set_seconds(2);
      SetDeadline(&call.context, std::chrono::seconds(3));
      round.push_back(append);
      append->invoked = Now();
      stubs.log->async()->Append(&call.context, &call.request, &append->response,
                                 [this, append](grpc::Status status) {
                                   MutexLock lock(&mutex_);
                                   append->status = std::move(status);
                                   append->returned = Now();
                                   changed_.NotifyAll();
                                 });
    }
    MutexLock lock(&mutex_);
    while (!std::all_of(round.begin(), round.end(), [](const ConditionalAppend* append) {
      return append->returned.has_value();
    })) {
      (void)changed_.WaitFor(&mutex_, std::chrono::seconds(1));
    }
    return round;
  }

  Cluster* const cluster_;
  const int id_;
  const Condition condition_;
  // The end of the log, or the epoch, as far as it knows.
  int64_t next_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> committed_{0};
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::unique_ptr<ConditionalAppend>> appends_;
  std::thread thread_;
};

class ConditionsTest : public ProducersTest {
 protected:
  // Two writers while leaders are killed and paused. Afterwards everything they were told is
  // checked against the log, and `log_` and `appends_` are filled.
  void RunWriters(Condition condition, int64_t start) {
    ConditionalWriter first(&cluster_, 0, condition, start);
    ConditionalWriter second(&cluster_, 1, condition, start);
    const auto await_some = [&] {
      const int before = first.committed() + second.committed();
      return Await("conditional appends go on", [&]() -> std::string {
        const int now = first.committed() + second.committed();
        return now >= before + 60 ? "" : absl::StrCat(now - before, " succeeded");
      });
    };
    HarmLeaders(await_some);
    first.Stop();
    second.Stop();
    if (HasFatalFailure()) return;
    std::vector<AppendOperation> operations;
    std::vector<LeaderSighting> leaders;
    for (ConditionalWriter* writer : {&first, &second}) {
      for (const auto& append : writer->appends()) {
        operations.push_back(OperationOf(*append));
        counts_[operations.back().outcome] += 1;
        NoteLeader(append->response, &leaders);
        appends_.push_back(*append);
      }
    }
    CheckPromises(std::move(operations), std::move(leaders));
    for (const LoggedRecord& record : ReadLog()) log_[record.payload] = record;
    EXPECT_GT(counts_[Outcome::kCommitted], 100);
    EXPECT_GT(counts_[Outcome::kRefused], 0);
  }

  static AppendOperation OperationOf(const ConditionalAppend& append) {
    AppendOperation operation;
    operation.client = append.payload[1] - '0';
    operation.invoked = append.invoked;
    operation.returned = append.returned;
    operation.outcome = OutcomeOf(append.status);
    operation.payloads = {append.payload};
    if (append.status.ok()) {
      operation.base_offset = append.response.base_offset();
      operation.leader_epoch = append.response.leader_epoch();
    }
    return operation;
  }

  std::vector<ConditionalAppend> appends_;
  std::map<std::string, LoggedRecord> log_;
  std::map<Outcome, int> counts_;
};

TEST_F(ConditionsTest, EverySuccessOfTwoConditionalWritersSawWhatItExpected) {
  ASSERT_NO_FATAL_FAILURE(RunWriters(Condition::kOffset, 0));
  std::set<int64_t> data;
  for (const auto& [payload, record] : log_) data.insert(record.offset);
  for (const ConditionalAppend& append : appends_) {
    const auto found = log_.find(append.payload);
    if (found == log_.end()) continue;
    // Also where nobody was told of the success.
    EXPECT_GE(found->second.offset, append.expected);
    EXPECT_EQ(*data.lower_bound(append.expected), found->second.offset)
        << append.payload << ": another record lies where none was expected";
  }
}

TEST_F(ConditionsTest, EverySuccessIsInTheEpochThatTheWriterNamed) {
  ASSERT_NO_FATAL_FAILURE(RunWriters(Condition::kEpoch, leadership_.epoch));
  std::set<int64_t> epochs;
  int fenced = 0;
  for (const ConditionalAppend& append : appends_) {
    if (append.status.ok()) {
      epochs.insert(append.expected);
      EXPECT_EQ(append.response.leader_epoch(), append.expected) << append.payload;
    }
    const bool refused = FailureOf(append.status).reason == "FENCED_LEADER_EPOCH";
    const auto found = log_.find(append.payload);
    if (refused) {
      ++fenced;
      EXPECT_EQ(found, log_.end()) << append.payload << " was refused and is in the log";
    }
    if (found == log_.end()) continue;
    // Also where nobody was told of the success.
    EXPECT_EQ(found->second.leader_epoch, append.expected) << append.payload;
  }
  EXPECT_GE(epochs.size(), 5u) << "one before the first failover, and one after each";
  EXPECT_GT(fenced, 0);
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

// It wakes with appends in its hand that follow what its successor has, and not what it has itself.
TEST_F(ProducersTest, ALeaderThatWasPausedRefusesNothingByWhatItHas) {
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
