// Appends that are made exactly once, under a condition, or by one writer at a time, while leaders
// are killed and paused: what clients were told, against the log.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
#include "tests/integration/producers_fixture.h"
#include "tests/integration/stubs.h"
#include "tests/integration/workload.h"

namespace quorum::integration {
namespace {

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

}  // namespace
}  // namespace quorum::integration
