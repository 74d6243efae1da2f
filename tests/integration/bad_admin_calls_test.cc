// Bad input of AdminService, and of what clients ask of ObserverService.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/bad_call.h"

namespace quorum::integration {
namespace {

using grpc::StatusCode;
using Admin = v1::AdminService::Stub;
using Observer = v1::ObserverService::Stub;

constexpr StatusCode kInvalid = StatusCode::INVALID_ARGUMENT;
constexpr char kInvalidRequest[] = "INVALID_REQUEST";
constexpr char kUnknown[] = "UNKNOWN_TOPIC_OR_PARTITION";
constexpr char kOtherCluster[] = "INCONSISTENT_CLUSTER_ID";

TEST_P(BadCallTest, IsAnswered) { Check(GetParam()); }

BadCall Create(const std::string& name, const std::function<void(v1::CreateTopicRequest&)>& change,
               StatusCode code, const std::string& reason, const std::string& field = "") {
  const auto whole = [change](v1::CreateTopicRequest& request) {
    request.set_name("fresh");
    change(request);
  };
  return MakeBadCall<Admin, v1::CreateTopicRequest, v1::CreateTopicResponse>(
      absl::StrCat("CreateTopic: ", name), &Stubs::admin, &Admin::CreateTopic, whole, code, reason,
      field);
}

std::vector<BadCall> Names() {
  std::vector<BadCall> calls;
  const std::vector<std::string> names = {"",
                                          ".",
                                          "..",
                                          "a/b",
                                          "../../etc",
                                          "a b",
                                          "a\nb",
                                          std::string("a\0b", 3),
                                          "\xc3\xa4",
                                          "__system",
                                          std::string(250, 'x')};
  for (const std::string& name : names) {
    const std::string shown = name.size() > 20 ? absl::StrCat(name.size(), " characters") : name;
    calls.push_back(Create(
        absl::StrCat("name \"", shown, "\""), [name](auto& r) { r.set_name(name); }, kInvalid,
        kInvalidRequest, "name"));
  }
  return calls;
}

std::vector<BadCall> Creations() {
  return {
      Create(
          "name that exists", [](auto& r) { r.set_name(kOrders); }, StatusCode::ALREADY_EXISTS,
          "TOPIC_ALREADY_EXISTS"),
      Create(
          "0 partitions", [](auto& r) { r.set_partitions(0); }, kInvalid, kInvalidRequest,
          "partitions"),
      Create(
          "10,001 partitions", [](auto& r) { r.set_partitions(10'001); }, kInvalid, kInvalidRequest,
          "partitions"),
      Create(
          "2^32 - 1 partitions", [](auto& r) { r.set_partitions(UINT32_MAX); }, kInvalid,
          kInvalidRequest, "partitions"),
      Create(
          "0 replicas", [](auto& r) { r.set_replicas(0); }, kInvalid, kInvalidRequest, "replicas"),
      Create(
          "more replicas than live nodes", [](auto& r) { r.set_replicas(4); },
          StatusCode::FAILED_PRECONDITION, "NOT_ENOUGH_NODES"),
      Create(
          "2^32 - 1 replicas", [](auto& r) { r.set_replicas(UINT32_MAX); },
          StatusCode::FAILED_PRECONDITION, "NOT_ENOUGH_NODES"),
      Create(
          "timeout -1 s", [](auto& r) { r.mutable_timeout()->set_seconds(-1); }, kInvalid,
          kInvalidRequest, "timeout"),
      Create(
          "another cluster id", [](auto& r) { r.set_cluster_id("other"); },
          StatusCode::FAILED_PRECONDITION, kOtherCluster),
  };
}

INSTANTIATE_TEST_SUITE_P(Names, BadCallTest, testing::ValuesIn(Names()));
INSTANTIATE_TEST_SUITE_P(Creations, BadCallTest, testing::ValuesIn(Creations()));

BadCall Delete(const std::string& name, const std::function<void(v1::DeleteTopicRequest&)>& change,
               StatusCode code, const std::string& reason) {
  return MakeBadCall<Admin, v1::DeleteTopicRequest, v1::DeleteTopicResponse>(
      absl::StrCat("DeleteTopic: ", name), &Stubs::admin, &Admin::DeleteTopic, change, code,
      reason);
}

BadCall List(const std::string& name, const std::function<void(v1::ListTopicsRequest&)>& change,
             StatusCode code, const std::string& reason) {
  return MakeBadCall<Admin, v1::ListTopicsRequest, v1::ListTopicsResponse>(
      absl::StrCat("ListTopics: ", name), &Stubs::admin, &Admin::ListTopics, change, code, reason);
}

BadCall Describe(const std::string& name,
                 const std::function<void(v1::DescribeTopicRequest&)>& change, StatusCode code,
                 const std::string& reason) {
  return MakeBadCall<Admin, v1::DescribeTopicRequest, v1::DescribeTopicResponse>(
      absl::StrCat("DescribeTopic: ", name), &Stubs::admin, &Admin::DescribeTopic, change, code,
      reason);
}

std::vector<BadCall> Topics() {
  return {
      Delete(
          "unknown topic", [](auto& r) { r.set_name("nowhere"); }, StatusCode::NOT_FOUND, kUnknown),
      Delete(
          "no name", [](auto&) {}, StatusCode::NOT_FOUND, kUnknown),
      Delete(
          "another topic's id",
          [](auto& r) {
            r.set_name(kOrders);
            r.set_topic_id(UINT64_MAX);
          },
          StatusCode::NOT_FOUND, kUnknown),
      Delete(
          "the catalog", [](auto& r) { r.set_name("__metadata"); }, StatusCode::FAILED_PRECONDITION,
          "INTERNAL_TOPIC"),
      Delete(
          "another cluster id",
          [](auto& r) {
            r.set_name(kOrders);
            r.set_cluster_id("other");
          },
          StatusCode::FAILED_PRECONDITION, kOtherCluster),
      List(
          "page size -1", [](auto& r) { r.set_page_size(-1); }, kInvalid, kInvalidRequest),
      List(
          "page size 2^31 - 1", [](auto& r) { r.set_page_size(INT32_MAX); }, StatusCode::OK, ""),
      List(
          "another cluster id", [](auto& r) { r.set_cluster_id("other"); },
          StatusCode::FAILED_PRECONDITION, kOtherCluster),
      Describe(
          "unknown topic", [](auto& r) { r.set_name("nowhere"); }, StatusCode::NOT_FOUND, kUnknown),
      Describe(
          "no name", [](auto&) {}, StatusCode::NOT_FOUND, kUnknown),
      Describe(
          "another cluster id",
          [](auto& r) {
            r.set_name(kOrders);
            r.set_cluster_id("other");
          },
          StatusCode::FAILED_PRECONDITION, kOtherCluster),
      MakeBadCall<Admin, v1::DescribeClusterRequest, v1::DescribeClusterResponse>(
          "DescribeCluster: another cluster id", &Stubs::admin, &Admin::DescribeCluster,
          [](auto& r) { r.set_cluster_id("other"); }, StatusCode::FAILED_PRECONDITION,
          kOtherCluster),
  };
}

INSTANTIATE_TEST_SUITE_P(Topics, BadCallTest, testing::ValuesIn(Topics()));

// Of the call, or of its first entry.
template <typename Response>
Failure FirstFailure(const grpc::Status& status, const Response& response) {
  if (!status.ok() || response.topics_size() == 0) return FailureOf(status);
  if (response.topics(0).partitions_size() == 0) return Failure();
  return FailureOf(response.topics(0).partitions(0).error());
}

BadCall Quorum(const std::string& name,
               const std::function<void(v1::DescribeQuorumRequest&)>& change, StatusCode code,
               const std::string& reason) {
  const auto call = [change](const Stubs& stubs) {
    v1::DescribeQuorumRequest request;
    change(request);
    v1::DescribeQuorumResponse response;
    const grpc::Status status = Call(*stubs.admin, &Admin::DescribeQuorum, request, &response);
    const bool topic_failed = response.topics_size() > 0 && response.topics(0).has_error();
    return topic_failed ? FailureOf(response.topics(0).error()) : FirstFailure(status, response);
  };
  return BadCall{absl::StrCat("DescribeQuorum: ", name), call, code, reason, ""};
}

BadCall Elect(const std::string& name, const std::function<void(v1::ElectLeaderRequest&)>& change,
              StatusCode code, const std::string& reason) {
  const auto call = [change](const Stubs& stubs) {
    v1::ElectLeaderRequest request;
    request.add_topics()->set_topic(kOrders);
    request.mutable_topics(0)->add_partitions()->set_partition(0);
    change(request);
    v1::ElectLeaderResponse response;
    return FirstFailure(Call(*stubs.admin, &Admin::ElectLeader, request, &response), response);
  };
  return BadCall{absl::StrCat("ElectLeader: ", name), call, code, reason, ""};
}

v1::ElectLeaderRequest::Partition& Entry(v1::ElectLeaderRequest& request) {
  return *request.mutable_topics(0)->mutable_partitions(0);
}

std::vector<BadCall> Quorums() {
  return {
      Quorum(
          "no topics", [](auto&) {}, kInvalid, kInvalidRequest),
      Quorum(
          "unknown topic", [](auto& r) { r.add_topics()->set_topic("nowhere"); },
          StatusCode::NOT_FOUND, kUnknown),
      Quorum(
          "unknown partition",
          [](auto& r) {
            r.add_topics()->set_topic(kOrders);
            r.mutable_topics(0)->add_partitions(UINT32_MAX);
          },
          StatusCode::NOT_FOUND, kUnknown),
      Quorum(
          "another cluster id",
          [](auto& r) {
            r.add_topics()->set_topic(kOrders);
            r.set_cluster_id("other");
          },
          StatusCode::FAILED_PRECONDITION, kOtherCluster),
      Elect(
          "no topics", [](auto& r) { r.clear_topics(); }, kInvalid, kInvalidRequest),
      Elect(
          "unknown partition", [](auto& r) { Entry(r).set_partition(2); }, StatusCode::NOT_FOUND,
          kUnknown),
      Elect(
          "no partition", [](auto& r) { Entry(r).clear_partition(); }, kInvalid, kInvalidRequest),
      Elect(
          "a node that is no voter", [](auto& r) { Entry(r).set_node_id(9); },
          StatusCode::NOT_FOUND, "VOTER_NOT_FOUND"),
      Elect(
          "node 0", [](auto& r) { Entry(r).set_node_id(0); }, StatusCode::NOT_FOUND,
          "VOTER_NOT_FOUND"),
      Elect(
          "node -1", [](auto& r) { Entry(r).set_node_id(-1); }, StatusCode::NOT_FOUND,
          "VOTER_NOT_FOUND"),
      Elect(
          "another cluster id", [](auto& r) { r.set_cluster_id("other"); },
          StatusCode::FAILED_PRECONDITION, kOtherCluster),
      Elect(
          "timeout -1 s", [](auto& r) { r.mutable_timeout()->set_seconds(-1); }, kInvalid,
          kInvalidRequest),
  };
}

INSTANTIATE_TEST_SUITE_P(Quorums, BadCallTest, testing::ValuesIn(Quorums()));

BadCall Allocate(const std::string& name,
                 const std::function<void(v1::AllocateProducerIdsRequest&)>& change,
                 StatusCode code, const std::string& reason, const std::string& field) {
  const auto whole = [change](v1::AllocateProducerIdsRequest& request) {
    request.set_count(1);
    change(request);
  };
  return MakeBadCall<Admin, v1::AllocateProducerIdsRequest, v1::AllocateProducerIdsResponse>(
      absl::StrCat("AllocateProducerIds: ", name), &Stubs::admin, &Admin::AllocateProducerIds,
      whole, code, reason, field);
}

std::vector<BadCall> ProducerIds() {
  return {
      Allocate(
          "count 0", [](auto& r) { r.set_count(0); }, kInvalid, kInvalidRequest, "count"),
      Allocate(
          "count 1,000,001", [](auto& r) { r.set_count(1'000'001); }, kInvalid, kInvalidRequest,
          "count"),
      Allocate(
          "count 2^32 - 1", [](auto& r) { r.set_count(UINT32_MAX); }, kInvalid, kInvalidRequest,
          "count"),
      Allocate(
          "count 1,000,000", [](auto& r) { r.set_count(1'000'000); }, StatusCode::OK, "", ""),
      Allocate(
          "timeout -1 s", [](auto& r) { r.mutable_timeout()->set_seconds(-1); }, kInvalid,
          kInvalidRequest, "timeout"),
      Allocate(
          "another cluster id", [](auto& r) { r.set_cluster_id("other"); },
          StatusCode::FAILED_PRECONDITION, kOtherCluster, ""),
  };
}

INSTANTIATE_TEST_SUITE_P(ProducerIds, BadCallTest, testing::ValuesIn(ProducerIds()));

// What a later version will do says so, and pretends nothing.
std::vector<BadCall> NotYet() {
  const StatusCode unimplemented = StatusCode::UNIMPLEMENTED;
  const std::string reason = "NOT_IMPLEMENTED";
  return {
      MakeBadCall<Admin, v1::AlterQuorumRequest, v1::AlterQuorumResponse>(
          "AlterQuorum", &Stubs::admin, &Admin::AlterQuorum, [](auto&) {}, unimplemented, reason),
      MakeBadCall<Admin, v1::AddVoterRequest, v1::AddVoterResponse>(
          "AddVoter", &Stubs::admin, &Admin::AddVoter, [](auto&) {}, unimplemented, reason),
      MakeBadCall<Admin, v1::RemoveVoterRequest, v1::RemoveVoterResponse>(
          "RemoveVoter", &Stubs::admin, &Admin::RemoveVoter, [](auto&) {}, unimplemented, reason),
  };
}

// Of the call, or the error code of its first entry.
BadCall AskMetadata(const std::string& name,
                    const std::function<void(v1::MetadataRequest&)>& change, StatusCode code,
                    const std::string& reason) {
  const auto call = [change](const Stubs& stubs) {
    v1::MetadataRequest request;
    change(request);
    v1::MetadataResponse response;
    const grpc::Status status = Call(*stubs.observer, &Observer::Metadata, request, &response);
    Failure failure = FailureOf(status);
    if (response.topics_size() > 0) {
      failure.reason = v1::ErrorCode_Name(response.topics(0).error());
    }
    return failure;
  };
  return BadCall{absl::StrCat("Metadata: ", name), call, code, reason, ""};
}

std::vector<BadCall> Metadata() {
  const std::string unknown = "ERROR_CODE_UNKNOWN_TOPIC_OR_PARTITION";
  return {
      AskMetadata(
          "another cluster id", [](auto& r) { r.mutable_envelope()->set_cluster_id("other"); },
          StatusCode::FAILED_PRECONDITION, kOtherCluster),
      AskMetadata(
          "topic id 0", [](auto& r) { r.add_topics()->set_topic_id(0); }, StatusCode::OK, unknown),
      AskMetadata(
          "topic id 2^64 - 1", [](auto& r) { r.add_topics()->set_topic_id(UINT64_MAX); },
          StatusCode::OK, unknown),
      AskMetadata(
          "a topic without a name", [](auto& r) { r.add_topics(); }, StatusCode::OK, unknown),
  };
}

INSTANTIATE_TEST_SUITE_P(NotYet, BadCallTest, testing::ValuesIn(NotYet()));
INSTANTIATE_TEST_SUITE_P(Metadata, BadCallTest, testing::ValuesIn(Metadata()));

}  // namespace
}  // namespace quorum::integration
