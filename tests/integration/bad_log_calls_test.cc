// Bad input of LogService.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/bad_call.h"

namespace quorum::integration {
namespace {

using grpc::StatusCode;

// Of a Duration in protobuf: ten thousand years.
constexpr int64_t kLongestSeconds = 315'576'000'000;

TEST_P(BadCallTest, IsAnswered) { Check(GetParam()); }

// --- Append ---

using AppendChange = std::function<void(v1::AppendRequest&)>;

// An append that is right but for `change`. A refusal must say so.
BadCall OfAppend(const std::string& name, const AppendChange& change, StatusCode code,
                 const std::string& reason, const std::string& field = "") {
  const auto call = [change](const Stubs& stubs) {
    v1::AppendRequest request = AppendOf(kOrders, 0, {"x"});
    change(request);
    v1::AppendResponse response;
    const grpc::Status status = Call(*stubs.log, &v1::LogService::Stub::Append, request, &response);
    Failure failure = FailureOf(status);
    if (!failure.reason.empty() && failure.reason != "COMMIT_UNKNOWN") {
      EXPECT_EQ(OutcomeOf(status), Outcome::kRefused) << failure;
    }
    return failure;
  };
  return BadCall{absl::StrCat("Append: ", name), call, code, reason, field};
}

std::vector<BadCall> AppendNames() {
  const StatusCode invalid = StatusCode::INVALID_ARGUMENT;
  const StatusCode not_found = StatusCode::NOT_FOUND;
  const std::string unknown = "UNKNOWN_TOPIC_OR_PARTITION";
  return {
      OfAppend(
          "unknown topic", [](auto& r) { r.set_topic("nowhere"); }, not_found, unknown),
      OfAppend(
          "topic \"../orders\"", [](auto& r) { r.set_topic("../orders"); }, not_found, unknown),
      OfAppend(
          "topic with a NUL", [](auto& r) { r.set_topic(std::string("orders\0", 7)); }, not_found,
          unknown),
      OfAppend(
          "topic of 100,000 bytes", [](auto& r) { r.set_topic(std::string(100'000, 'x')); },
          not_found, unknown),
      OfAppend(
          "no topic", [](auto& r) { r.clear_topic(); }, invalid, "INVALID_REQUEST", "topic"),
      OfAppend(
          "unknown partition 2", [](auto& r) { r.set_partition(2); }, not_found, unknown),
      OfAppend(
          "partition 2^32 - 1", [](auto& r) { r.set_partition(UINT32_MAX); }, not_found, unknown),
      OfAppend(
          "no partition", [](auto& r) { r.clear_partition(); }, invalid, "INVALID_REQUEST",
          "partition"),
      OfAppend(
          "another cluster id", [](auto& r) { r.set_cluster_id("other"); },
          StatusCode::FAILED_PRECONDITION, "INCONSISTENT_CLUSTER_ID"),
      OfAppend(
          "the catalog's own topic", [](auto& r) { r.set_topic("__metadata"); },
          StatusCode::FAILED_PRECONDITION, "INTERNAL_TOPIC"),
  };
}

std::vector<BadCall> AppendSizes() {
  const StatusCode invalid = StatusCode::INVALID_ARGUMENT;
  const auto value_of = [](size_t size) {
    return [size](auto& r) { r.mutable_records(0)->set_value(std::string(size, 'v')); };
  };
  return {
      OfAppend(
          "no records", [](auto& r) { r.clear_records(); }, invalid, "INVALID_REQUEST", "records"),
      OfAppend(
          "a record without key and value", [](auto& r) { r.mutable_records(0)->clear_value(); },
          StatusCode::OK, ""),
      OfAppend("a record of 1,000,000 bytes", value_of(1'000'000), StatusCode::OK, ""),
      OfAppend("a record of 1 MiB and its frame", value_of(1 << 20), invalid, "RECORD_TOO_LARGE",
               "records"),
      OfAppend(
          "a batch of 5 records of 1,000,000 bytes",
          [](auto& r) {
            for (int i = 0; i < 4; ++i) r.add_records();
            for (auto& record : *r.mutable_records()) record.set_value(std::string(1'000'000, 'v'));
          },
          invalid, "RECORD_TOO_LARGE", "records"),
      OfAppend(
          "a batch of 100,001 records",
          [](auto& r) {
            for (int i = 0; i < 100'000; ++i) r.add_records();
          },
          invalid, "INVALID_REQUEST", "records"),
      // gRPC itself refuses the message, so our ErrorInfo is not there: unknown, by the rule.
      OfAppend("a message of 17 MiB", value_of(17 << 20), StatusCode::RESOURCE_EXHAUSTED, ""),
      OfAppend(
          "a header without a name", [](auto& r) { r.mutable_records(0)->add_headers(); }, invalid,
          "INVALID_REQUEST", "records.headers.name"),
  };
}

std::vector<BadCall> AppendNumbers() {
  const StatusCode invalid = StatusCode::INVALID_ARGUMENT;
  const StatusCode fenced = StatusCode::FAILED_PRECONDITION;
  const auto epoch = [](int64_t value) { return [value](auto& r) { r.set_leader_epoch(value); }; };
  const auto timeout = [](int64_t seconds) {
    return [seconds](auto& r) { r.mutable_timeout()->set_seconds(seconds); };
  };
  return {
      OfAppend("leader epoch -1", epoch(-1), invalid, "INVALID_REQUEST", "leader_epoch"),
      OfAppend("leader epoch 0", epoch(0), invalid, "INVALID_REQUEST", "leader_epoch"),
      OfAppend("leader epoch 2^62", epoch(kLimit), invalid, "INVALID_REQUEST", "leader_epoch"),
      OfAppend("leader epoch -2^63", epoch(kLowest), invalid, "INVALID_REQUEST", "leader_epoch"),
      OfAppend("leader epoch 2^62 - 1", epoch(kLimit - 1), fenced, "FENCED_LEADER_EPOCH"),
      OfAppend("leader epoch 2^32 + 1", epoch((int64_t{1} << 32) + 1), fenced,
               "FENCED_LEADER_EPOCH"),
      OfAppend("timeout -1 s", timeout(-1), invalid, "INVALID_REQUEST", "timeout"),
      OfAppend("timeout of ten thousand years", timeout(kLongestSeconds), StatusCode::OK, ""),
      OfAppend("timeout beyond protobuf's range", timeout(kHighest), invalid, "INVALID_REQUEST",
               "timeout"),
      OfAppend(
          "timestamp -2^63", [](auto& r) { r.mutable_records(0)->set_timestamp_ms(kLowest); },
          StatusCode::OK, ""),
      OfAppend(
          "timestamp 2^63 - 1", [](auto& r) { r.mutable_records(0)->set_timestamp_ms(kHighest); },
          StatusCode::OK, ""),
  };
}

INSTANTIATE_TEST_SUITE_P(AppendNames, BadCallTest, testing::ValuesIn(AppendNames()));
INSTANTIATE_TEST_SUITE_P(AppendSizes, BadCallTest, testing::ValuesIn(AppendSizes()));
INSTANTIATE_TEST_SUITE_P(AppendNumbers, BadCallTest, testing::ValuesIn(AppendNumbers()));

// --- AppendBatch ---

BadCall OfBatch(const std::string& name, const std::function<void(v1::AppendBatchRequest&)>& change,
                StatusCode code, const std::string& reason) {
  const auto call = [change](const Stubs& stubs) {
    v1::AppendBatchRequest request;
    change(request);
    v1::AppendBatchResponse response;
    const grpc::Status status =
        Call(*stubs.log, &v1::LogService::Stub::AppendBatch, request, &response);
    if (!status.ok()) return FailureOf(status);
    // Then every entry fails alike.
    Failure failure;
    for (const auto& topic : response.topics()) {
      for (const auto& partition : topic.partitions()) {
        failure = FailureOf(partition.refused());
        EXPECT_EQ(failure.metadata["outcome"], "refused") << response.ShortDebugString();
      }
    }
    return failure;
  };
  return BadCall{absl::StrCat("AppendBatch: ", name), call, code, reason, ""};
}

v1::AppendBatchRequest::Partition* AddEntry(v1::AppendBatchRequest& request, uint32_t index) {
  if (request.topics_size() == 0) request.add_topics()->set_topic(kOrders);
  auto* partition = request.mutable_topics(0)->add_partitions();
  partition->set_partition(index);
  partition->add_records()->set_value("x");
  return partition;
}

std::vector<BadCall> Batches() {
  const StatusCode invalid = StatusCode::INVALID_ARGUMENT;
  return {
      OfBatch(
          "a partition twice",
          [](auto& r) {
            AddEntry(r, 0);
            AddEntry(r, 0);
          },
          invalid, "INVALID_REQUEST"),
      OfBatch(
          "an entry without records", [](auto& r) { AddEntry(r, 0)->clear_records(); }, invalid,
          "INVALID_REQUEST"),
      OfBatch(
          "an entry without a partition", [](auto& r) { AddEntry(r, 0)->clear_partition(); },
          invalid, "INVALID_REQUEST"),
      OfBatch(
          "an unknown partition", [](auto& r) { AddEntry(r, 77); }, StatusCode::NOT_FOUND,
          "UNKNOWN_TOPIC_OR_PARTITION"),
      OfBatch(
          "another cluster id",
          [](auto& r) {
            AddEntry(r, 0);
            r.set_cluster_id("other");
          },
          StatusCode::FAILED_PRECONDITION, "INCONSISTENT_CLUSTER_ID"),
      OfBatch(
          "no topics", [](auto&) {}, invalid, "INVALID_REQUEST"),
      OfBatch(
          "timeout -1 s",
          [](auto& r) {
            AddEntry(r, 0);
            r.mutable_timeout()->set_seconds(-1);
          },
          invalid, "INVALID_REQUEST"),
      OfBatch(
          "20,001 entries",
          [](auto& r) {
            for (uint32_t index = 0; index <= 20'000; ++index) AddEntry(r, index);
          },
          invalid, "INVALID_REQUEST"),
  };
}

INSTANTIATE_TEST_SUITE_P(Batches, BadCallTest, testing::ValuesIn(Batches()));

// --- Tail ---

BadCall OfTail(const std::string& name, const std::function<void(v1::TailRequest&)>& change,
               StatusCode code, const std::string& reason, const std::string& field = "") {
  const auto call = [change](const Stubs& stubs) {
    v1::TailRequest request;
    request.set_topic(kOrders);
    request.set_partition(0);
    request.set_earliest(true);
    request.set_until_high_watermark(true);
    change(request);
    return FailureOf(RunTail(*stubs.log, request, kWaitMax).status);
  };
  return BadCall{absl::StrCat("Tail: ", name), call, code, reason, field};
}

std::vector<BadCall> TailStarts() {
  const StatusCode invalid = StatusCode::INVALID_ARGUMENT;
  const std::string reason = "INVALID_REQUEST";
  const auto offset = [](int64_t value) { return [value](auto& r) { r.set_offset(value); }; };
  return {
      OfTail(
          "unknown topic", [](auto& r) { r.set_topic("nowhere"); }, StatusCode::NOT_FOUND,
          "UNKNOWN_TOPIC_OR_PARTITION"),
      OfTail(
          "unknown partition", [](auto& r) { r.set_partition(2); }, StatusCode::NOT_FOUND,
          "UNKNOWN_TOPIC_OR_PARTITION"),
      OfTail(
          "no partition", [](auto& r) { r.clear_partition(); }, invalid, reason, "partition"),
      OfTail(
          "another cluster id", [](auto& r) { r.set_cluster_id("other"); },
          StatusCode::FAILED_PRECONDITION, "INCONSISTENT_CLUSTER_ID"),
      OfTail("offset -1", offset(-1), invalid, reason, "offset"),
      OfTail("offset -2^63", offset(kLowest), invalid, reason, "offset"),
      OfTail("offset 2^62", offset(kLimit), invalid, reason, "offset"),
      OfTail("offset 2^63 - 1", offset(kHighest), invalid, reason, "offset"),
      // Behind the end: nothing to send up to the watermark.
      OfTail("offset 2^62 - 1, up to the watermark", offset(kLimit - 1), StatusCode::OK, ""),
      OfTail(
          "no start", [](auto& r) { r.clear_start(); }, invalid, reason, "start"),
      OfTail(
          "earliest = false", [](auto& r) { r.set_earliest(false); }, invalid, reason, "earliest"),
      OfTail(
          "latest = false", [](auto& r) { r.set_latest(false); }, invalid, reason, "latest"),
  };
}

std::vector<BadCall> TailEnds() {
  const StatusCode invalid = StatusCode::INVALID_ARGUMENT;
  const std::string reason = "INVALID_REQUEST";
  const auto interval = [](int64_t seconds, int32_t nanos) {
    return [seconds, nanos](auto& r) {
      r.mutable_progress_interval()->set_seconds(seconds);
      r.mutable_progress_interval()->set_nanos(nanos);
    };
  };
  return {
      OfTail(
          "max_records 0", [](auto& r) { r.set_max_records(0); }, invalid, reason, "max_records"),
      OfTail(
          "max_records -1", [](auto& r) { r.set_max_records(-1); }, invalid, reason, "max_records"),
      OfTail(
          "until_high_watermark = false", [](auto& r) { r.set_until_high_watermark(false); },
          invalid, reason, "until_high_watermark"),
      OfTail("progress interval 0 s", interval(0, 0), invalid, reason, "progress_interval"),
      OfTail("progress interval -1 s", interval(-1, 0), invalid, reason, "progress_interval"),
      OfTail("progress interval 99 ms", interval(0, 99'000'000), invalid, reason,
             "progress_interval"),
      OfTail("progress interval of mixed signs", interval(1, -1), invalid, reason,
             "progress_interval"),
      OfTail("progress interval of ten thousand years", interval(kLongestSeconds, 0),
             StatusCode::OK, ""),
  };
}

INSTANTIATE_TEST_SUITE_P(TailStarts, BadCallTest, testing::ValuesIn(TailStarts()));
INSTANTIATE_TEST_SUITE_P(TailEnds, BadCallTest, testing::ValuesIn(TailEnds()));

// --- ListOffsets, InitProducer ---

BadCall OfOffsets(const std::string& name,
                  const std::function<void(v1::ListOffsetsRequest&)>& change, StatusCode code,
                  const std::string& reason) {
  const auto call = [change](const Stubs& stubs) {
    v1::ListOffsetsRequest request;
    change(request);
    v1::ListOffsetsResponse response;
    const grpc::Status status =
        Call(*stubs.log, &v1::LogService::Stub::ListOffsets, request, &response);
    if (!status.ok() || response.topics_size() == 0) return FailureOf(status);
    const auto& topic = response.topics(0);
    return FailureOf(topic.has_error() ? topic.error() : topic.partitions(0).error());
  };
  return BadCall{absl::StrCat("ListOffsets: ", name), call, code, reason, ""};
}

std::vector<BadCall> Offsets() {
  const StatusCode invalid = StatusCode::INVALID_ARGUMENT;
  return {
      OfOffsets(
          "no topics", [](auto&) {}, invalid, "INVALID_REQUEST"),
      OfOffsets(
          "unknown topic", [](auto& r) { r.add_topics()->set_topic("nowhere"); },
          StatusCode::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION"),
      OfOffsets(
          "unknown partition",
          [](auto& r) {
            r.add_topics()->set_topic(kOrders);
            r.mutable_topics(0)->add_partitions(2);
          },
          StatusCode::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION"),
      OfOffsets(
          "another cluster id",
          [](auto& r) {
            r.add_topics()->set_topic(kOrders);
            r.set_cluster_id("other");
          },
          StatusCode::FAILED_PRECONDITION, "INCONSISTENT_CLUSTER_ID"),
  };
}

INSTANTIATE_TEST_SUITE_P(Offsets, BadCallTest, testing::ValuesIn(Offsets()));

}  // namespace
}  // namespace quorum::integration
