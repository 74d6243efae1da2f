// Bad producers and conditions, against real processes: what is answered, and that the cluster goes
// on.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "quorum/v1/log.grpc.pb.h"
#include "tests/integration/bad_call.h"

namespace quorum::integration {
namespace {

using grpc::StatusCode;

TEST_P(BadCallTest, IsAnswered) { Check(GetParam()); }

// An append that is right but for `change`, refused for good.
BadCall OfAppend(const std::string& name, const std::function<void(v1::AppendRequest&)>& change,
                 StatusCode code, const std::string& reason, const std::string& field = "") {
  const auto call = [change](const Stubs& stubs) {
    v1::AppendRequest request = AppendOf(kOrders, 0, {"x"});
    change(request);
    v1::AppendResponse response;
    const grpc::Status status = Call(*stubs.log, &v1::LogService::Stub::Append, request, &response);
    EXPECT_EQ(OutcomeOf(status), Outcome::kRefused) << FailureOf(status);
    return FailureOf(status);
  };
  return BadCall{absl::StrCat("Append: ", name), call, code, reason, field};
}

// What is wrong with a producer or a condition in itself, and what the log says of it.
std::vector<BadCall> AppendProducers() {
  const auto stamp = [](int64_t id, int32_t epoch, int64_t sequence) {
    return [=](v1::AppendRequest& r) {
      r.mutable_producer()->set_producer_id(id);
      r.mutable_producer()->set_producer_epoch(epoch);
      r.mutable_producer()->set_base_sequence(sequence);
    };
  };
  const auto expected = [](int64_t offset) {
    return [=](v1::AppendRequest& r) { r.set_expected_offset(offset); };
  };
  const StatusCode invalid = StatusCode::INVALID_ARGUMENT;
  const StatusCode failed = StatusCode::FAILED_PRECONDITION;
  const std::string id = "producer.producer_id";
  const std::string epoch = "producer.producer_epoch";
  const std::string sequence = "producer.base_sequence";
  return {
      OfAppend(
          "an empty producer", [](auto& r) { r.mutable_producer(); }, invalid, "INVALID_REQUEST",
          id),
      OfAppend(
          "a producer with an id only", [](auto& r) { r.mutable_producer()->set_producer_id(1); },
          invalid, "INVALID_REQUEST", epoch),
      OfAppend("producer id -1", stamp(-1, 0, 0), invalid, "INVALID_REQUEST", id),
      OfAppend("producer epoch -1", stamp(1, -1, 0), invalid, "INVALID_REQUEST", epoch),
      OfAppend("sequence -1", stamp(1, 0, -1), invalid, "INVALID_REQUEST", sequence),
      OfAppend("sequence 2^62", stamp(1, 0, kLimit), invalid, "INVALID_REQUEST", sequence),
      OfAppend("sequence 2^63 - 1", stamp(1, 0, kHighest), invalid, "INVALID_REQUEST", sequence),
      OfAppend("an unknown producer", stamp(77, 0, 5), failed, "UNKNOWN_PRODUCER"),
      OfAppend("the id of a name that nobody has bound", stamp(kHighest, 0, 0), failed,
               "UNKNOWN_PRODUCER"),
      OfAppend("expected offset -1", expected(-1), invalid, "INVALID_REQUEST", "expected_offset"),
      OfAppend("expected offset 2^63 - 1", expected(kHighest), invalid, "INVALID_REQUEST",
               "expected_offset"),
      OfAppend("expected offset far above the end", expected(kLimit), StatusCode::ABORTED,
               "OFFSET_MISMATCH"),
  };
}

INSTANTIATE_TEST_SUITE_P(AppendProducers, BadCallTest, testing::ValuesIn(AppendProducers()));

BadCall OfInit(const std::string& name, const std::function<void(v1::InitProducerRequest&)>& change,
               StatusCode code, const std::string& reason) {
  return MakeBadCall<v1::LogService::Stub, v1::InitProducerRequest, v1::InitProducerResponse>(
      absl::StrCat("InitProducer: ", name), &Stubs::log, &v1::LogService::Stub::InitProducer,
      [change](v1::InitProducerRequest& request) {
        request.set_name("name");
        request.set_topic(kOrders);
        request.set_partition(0);
        change(request);
      },
      code, reason);
}

std::vector<BadCall> Inits() {
  const StatusCode invalid = StatusCode::INVALID_ARGUMENT;
  const StatusCode unknown = StatusCode::NOT_FOUND;
  return {
      OfInit(
          "a partition without a name", [](auto& r) { r.clear_name(); }, invalid,
          "INVALID_REQUEST"),
      OfInit(
          "a name without a topic", [](auto& r) { r.clear_topic(); }, invalid, "INVALID_REQUEST"),
      OfInit(
          "a name without a partition", [](auto& r) { r.clear_partition(); }, invalid,
          "INVALID_REQUEST"),
      OfInit(
          "a name of 256 bytes", [](auto& r) { r.set_name(std::string(256, 'x')); }, invalid,
          "INVALID_REQUEST"),
      OfInit(
          "timeout -1 s", [](auto& r) { r.mutable_timeout()->set_seconds(-1); }, invalid,
          "INVALID_REQUEST"),
      OfInit(
          "an unknown topic", [](auto& r) { r.set_topic("nothing"); }, unknown,
          "UNKNOWN_TOPIC_OR_PARTITION"),
      OfInit(
          "partition 2^32 - 1", [](auto& r) { r.set_partition(UINT32_MAX); }, unknown,
          "UNKNOWN_TOPIC_OR_PARTITION"),
      OfInit(
          "the catalog", [](auto& r) { r.set_topic("__metadata"); },
          StatusCode::FAILED_PRECONDITION, "INTERNAL_TOPIC"),
      OfInit(
          "another cluster id", [](auto& r) { r.set_cluster_id("other"); },
          StatusCode::FAILED_PRECONDITION, "INCONSISTENT_CLUSTER_ID"),
  };
}

INSTANTIATE_TEST_SUITE_P(Inits, BadCallTest, testing::ValuesIn(Inits()));

}  // namespace
}  // namespace quorum::integration
