#include "tests/integration/workload.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/base/prng.h"
#include "tests/integration/history_checker.h"

namespace quorum::integration {
namespace {

// Between two appends of a writer: enough appends for a history, and time left for the servers.
constexpr Duration kWriterPause = std::chrono::milliseconds(3);
constexpr Duration kPauseAfterFailure = std::chrono::milliseconds(30);
// A paused process answers nothing, so clients go elsewhere in the end.
constexpr Duration kCallLimit = std::chrono::seconds(5);

// A stub of each node, so that clients do not share connections' fate with the test.
std::vector<std::unique_ptr<Stubs>> StubsOf(Cluster* cluster, const std::vector<int32_t>& nodes) {
  std::vector<std::unique_ptr<Stubs>> stubs;
  for (const int32_t id : nodes) {
    stubs.push_back(std::make_unique<Stubs>(cluster->node(id).address()));
  }
  return stubs;
}

v1::TailRequest TailFrom(const std::string& topic, uint32_t partition, int64_t offset) {
  v1::TailRequest request;
  request.set_topic(topic);
  request.set_partition(partition);
  request.set_offset(offset);
  request.mutable_progress_interval()->set_nanos(200'000'000);
  return request;
}

}  // namespace

testing::AssertionResult ReadReplicas(Cluster* cluster, const std::string& topic,
                                      uint32_t partition, PartitionHistory* history) {
  PartitionQuorum quorum;
  if (auto known = cluster->AwaitQuorum(topic, partition, &quorum); !known) return known;
  const int64_t end = quorum.high_watermark();
  history->leaders.push_back(
      LeaderSighting{quorum.leader_epoch(), quorum.leader_id(), "DescribeQuorum"});
  for (const auto& voter : quorum.current_voters()) {
    v1::TailRequest request = TailFrom(topic, partition, 0);
    request.set_no_forward(true);
    TailRun run = RunTail(*cluster->stubs(voter.node_id()).log, request, kWaitMax,
                          [end](const TailRun& so_far) { return so_far.next_offset >= end; });
    if (!run.status.ok()) {
      return testing::AssertionFailure()
             << topic << ":" << partition << " at node " << voter.node_id() << ", up to "
             << run.next_offset.value_or(-1) << " of " << end << ": " << FailureOf(run.status);
    }
    history->replicas.push_back(ReplicaLog{absl::StrCat("node ", voter.node_id()), *run.next_offset,
                                           std::move(run.records)});
  }
  return testing::AssertionSuccess();
}

Workload::Workload(Cluster* cluster, WorkloadOptions options)
    : cluster_(cluster), options_(std::move(options)), nodes_(cluster->ids()) {
  {
    MutexLock lock(&mutex_);
    histories_.resize(options_.partitions);
    for (uint32_t partition = 0; partition < options_.partitions; ++partition) {
      histories_[partition].partition = absl::StrCat(options_.topic, ":", partition);
    }
  }
  for (int index = 0; index < options_.writers; ++index) {
    threads_.emplace_back([this, index] { Write(index); });
  }
  for (int index = 0; index < options_.readers; ++index) {
    threads_.emplace_back([this, index] { Read(index); });
  }
}

Workload::~Workload() { Stop(); }

void Workload::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    stopped_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Workload::Pause(Duration time) {
  MutexLock lock(&mutex_);
  if (!stopping_) stopped_.WaitFor(&mutex_, time);
  return !stopping_;
}

void Workload::Write(int writer) {
  const auto stubs = StubsOf(cluster_, nodes_);
  Prng prng(static_cast<uint64_t>(writer) + 1);
  size_t target = static_cast<size_t>(writer);
  int next_payload = 0;
  bool failed = false;
  while (Pause(failed ? kPauseAfterFailure : kWriterPause)) {
    const auto partition = static_cast<uint32_t>(prng.Below(options_.partitions));
    AppendOperation operation;
    operation.client = writer;
    for (int64_t count = prng.Between(1, 3); count > 0; --count) {
      operation.payloads.push_back(absl::StrCat("w", writer, "-", next_payload++));
    }
    const v1::AppendRequest request = AppendOf(options_.topic, partition, operation.payloads);
    v1::AppendResponse response;
    operation.invoked = Now();
    const grpc::Status status = Call(*stubs[target % stubs.size()]->log,
                                     &v1::LogService::Stub::Append, request, &response, kCallLimit);
    operation.returned = Now();
    operation.outcome = OutcomeOf(status);
    failed = operation.outcome != Outcome::kCommitted;
    if (failed) ++target;
    Note(partition, std::move(operation), response);
  }
}

void Workload::Note(uint32_t partition, AppendOperation operation,
                    const v1::AppendResponse& response) {
  MutexLock lock(&mutex_);
  PartitionHistory& history = histories_[partition];
  if (operation.outcome == Outcome::kCommitted) {
    operation.base_offset = response.has_base_offset() ? response.base_offset() : -1;
    operation.leader_epoch = response.leader_epoch();
    if (response.has_leader_id()) {
      history.leaders.push_back(
          LeaderSighting{response.leader_epoch(), response.leader_id(), "an acknowledgement"});
    }
  }
  history.appends.push_back(std::move(operation));
}

void Workload::Read(int reader) {
  const auto stubs = StubsOf(cluster_, nodes_);
  const auto partition = static_cast<uint32_t>(reader) % options_.partitions;
  ReadOperation read;
  read.reader = absl::StrCat("reader ", reader);
  for (size_t target = static_cast<size_t>(reader); Pause(kPauseAfterFailure); ++target) {
    ReadOn(*stubs[target % stubs.size()], partition, &read);
  }
  MutexLock lock(&mutex_);
  histories_[partition].reads.push_back(std::move(read));
}

void Workload::ReadOn(const Stubs& stubs, uint32_t partition, ReadOperation* read) {
  const auto enough = [this](const TailRun&) { return stopping_.load(); };
  TailRun run =
      RunTail(*stubs.log, TailFrom(options_.topic, partition, read->next), kCallLimit, enough);
  for (LoggedRecord& record : run.records) read->records.push_back(std::move(record));
  read->seen.insert(read->seen.end(), run.seen.begin(), run.seen.end());
  if (run.next_offset.has_value()) read->next = std::max(read->next, *run.next_offset);
  if (run.high_watermark.has_value()) {
    read->high_watermark = std::max(read->high_watermark.value_or(0), *run.high_watermark);
  }
}

testing::AssertionResult Workload::AwaitAcks(int count) {
  const MonoTime start = Now();
  return Await(
      absl::StrCat(count, " new acknowledgements of each partition"), [&]() -> std::string {
        MutexLock lock(&mutex_);
        for (const PartitionHistory& history : histories_) {
          int acks = 0;
          for (auto append = history.appends.rbegin(); append != history.appends.rend(); ++append) {
            if (append->returned < start) break;
            const bool counts = append->outcome == Outcome::kCommitted;
            acks += counts && append->invoked >= start ? 1 : 0;
          }
          if (acks < count) return absl::StrCat(history.partition, " has ", acks);
        }
        return "";
      });
}

void Workload::StopAndCheck() {
  Stop();
  for (uint32_t partition = 0; partition < options_.partitions; ++partition) {
    MutexLock lock(&mutex_);
    PartitionHistory& history = histories_[partition];
    ASSERT_TRUE(ReadReplicas(cluster_, options_.topic, partition, &history));
    EXPECT_THAT(CheckHistory(history), testing::IsEmpty());
  }
  const OutcomeCounts found = counts();
  EXPECT_GT(found.committed, 0);
  LOG(INFO) << "appends: " << found.committed << " committed, " << found.refused << " refused, "
            << found.unknown << " unknown";
}

OutcomeCounts Workload::counts() const {
  OutcomeCounts counts;
  MutexLock lock(&mutex_);
  for (const PartitionHistory& history : histories_) {
    for (const AppendOperation& append : history.appends) {
      switch (append.outcome) {
        case Outcome::kCommitted:
          ++counts.committed;
          break;
        case Outcome::kRefused:
          ++counts.refused;
          break;
        case Outcome::kUnknown:
          ++counts.unknown;
          break;
      }
    }
  }
  return counts;
}

}  // namespace quorum::integration
