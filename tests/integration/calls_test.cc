// What any node answers to a client that means well: forwarding, descriptions, offsets, health and
// reflection.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "tests/integration/shared_cluster.h"

namespace quorum::integration {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

class CallsTest : public SharedClusterTest {};

TEST_F(CallsTest, EveryNodeTakesAnAppend) {
  int64_t last = -1;
  for (const int32_t id : cluster().ids()) {
    v1::AppendRequest request = AppendOf(kOrders, 0, {"a", "b"});
    request.mutable_records(0)->set_key("k");
    request.set_cluster_id("test");
    v1::AppendResponse response;
    const grpc::Status status =
        Call(*cluster().stubs(id).log, &v1::LogService::Stub::Append, request, &response);
    ASSERT_TRUE(status.ok()) << FailureOf(status);
    EXPECT_GT(response.base_offset(), last);
    last = response.base_offset() + 1;
    EXPECT_GE(response.leader_epoch(), 1);
    EXPECT_EQ(response.leader_id(), LeaderOfOrders().leader);
    EXPECT_FALSE(response.duplicate());
  }
}

TEST_F(CallsTest, NodeToldNotToForwardNamesTheLeader) {
  const Leadership leadership = LeaderOfOrders();
  const int32_t other = leadership.leader % 3 + 1;
  v1::AppendRequest request = AppendOf(kOrders, 0, {"a"});
  request.set_no_forward(true);
  v1::AppendResponse response;
  const grpc::Status status =
      Call(*cluster().stubs(other).log, &v1::LogService::Stub::Append, request, &response);
  Failure failure = FailureOf(status);
  EXPECT_EQ(failure.code, grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(failure.reason, "NOT_LEADER") << failure;
  EXPECT_EQ(OutcomeOf(status), Outcome::kRefused);
  EXPECT_EQ(failure.metadata["leader_id"], absl::StrCat(leadership.leader));
  EXPECT_EQ(failure.metadata["leader_epoch"], absl::StrCat(leadership.epoch));
  EXPECT_EQ(failure.metadata["leader_endpoint"], cluster().node(leadership.leader).address());
}

TEST_F(CallsTest, RecordsComeBackAsTheyWereSent) {
  v1::AppendRequest request;
  request.set_topic(kOrders);
  request.set_partition(1);
  v1::Record* full = request.add_records();
  full->set_key(std::string("\0\xff", 2));
  full->set_value("");
  full->set_timestamp_ms(12345);
  full->add_headers()->set_name("h");
  full->add_headers()->set_name("h");
  full->mutable_headers(1)->set_value("2");
  request.add_records()->set_key("");
  request.add_records();
  v1::AppendResponse response;
  const grpc::Status status = Call(*any().log, &v1::LogService::Stub::Append, request, &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  for (const int32_t id : cluster().ids()) {
    v1::TailRequest tail;
    tail.set_topic(kOrders);
    tail.set_partition(1);
    tail.set_offset(response.base_offset());
    tail.set_max_records(3);
    grpc::ClientContext context;
    SetDeadline(&context, kWaitMax);
    const auto stream = cluster().stubs(id).log->Tail(&context, tail);
    std::vector<v1::Record> records;
    v1::TailResponse message;
    while (stream->Read(&message)) {
      for (const v1::RecordBatch& batch : message.records().batches()) {
        EXPECT_EQ(batch.base_offset(), response.base_offset());
        EXPECT_EQ(batch.leader_epoch(), response.leader_epoch());
        EXPECT_TRUE(batch.has_crc());
        records.insert(records.end(), batch.records().begin(), batch.records().end());
      }
    }
    EXPECT_TRUE(stream->Finish().ok());
    ASSERT_EQ(records.size(), 3u) << "node " << id;
    EXPECT_EQ(records[0].key(), std::string("\0\xff", 2));
    EXPECT_TRUE(records[0].has_value());
    EXPECT_EQ(records[0].timestamp_ms(), 12345);
    ASSERT_EQ(records[0].headers_size(), 2);
    EXPECT_FALSE(records[0].headers(0).has_value());
    EXPECT_EQ(records[0].headers(1).value(), "2");
    EXPECT_TRUE(records[1].has_key());
    EXPECT_FALSE(records[1].has_value());
    EXPECT_FALSE(records[2].has_key());
    for (uint32_t delta = 0; delta < 3; ++delta) {
      EXPECT_TRUE(records[delta].has_offset_delta());
      EXPECT_EQ(records[delta].offset_delta(), delta);
    }
  }
}

TEST_F(CallsTest, BatchOfPartitionsHasAnOutcomeEach) {
  v1::AppendBatchRequest request;
  auto* topic = request.add_topics();
  topic->set_topic(kOrders);
  for (const uint32_t index : {0u, 1u, 7u}) {
    auto* partition = topic->add_partitions();
    partition->set_partition(index);
    partition->add_records()->set_value("x");
  }
  auto* unknown = request.add_topics();
  unknown->set_topic("nowhere");
  unknown->add_partitions()->set_partition(0);
  unknown->mutable_partitions(0)->add_records()->set_value("x");
  v1::AppendBatchResponse response;
  const grpc::Status status =
      Call(*any().log, &v1::LogService::Stub::AppendBatch, request, &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  ASSERT_EQ(response.topics_size(), 2);
  ASSERT_EQ(response.topics(0).partitions_size(), 3);
  EXPECT_TRUE(response.topics(0).partitions(0).has_committed());
  EXPECT_TRUE(response.topics(0).partitions(1).has_committed());
  for (const auto& refused : {response.topics(0).partitions(2), response.topics(1).partitions(0)}) {
    ASSERT_TRUE(refused.has_refused()) << refused.ShortDebugString();
    Failure failure = FailureOf(refused.refused());
    EXPECT_EQ(failure.reason, "UNKNOWN_TOPIC_OR_PARTITION");
    EXPECT_EQ(failure.metadata["outcome"], "refused");
  }
}

TEST_F(CallsTest, OffsetsOfAllPartitions) {
  v1::AppendResponse appended;
  ASSERT_TRUE(
      Call(*any().log, &v1::LogService::Stub::Append, AppendOf(kOrders, 1, {"a"}), &appended).ok());
  for (const int32_t id : cluster().ids()) {
    v1::ListOffsetsRequest request;
    request.add_topics()->set_topic(kOrders);
    v1::ListOffsetsResponse response;
    const grpc::Status status =
        Call(*cluster().stubs(id).log, &v1::LogService::Stub::ListOffsets, request, &response);
    ASSERT_TRUE(status.ok()) << FailureOf(status);
    ASSERT_EQ(response.topics_size(), 1);
    ASSERT_EQ(response.topics(0).partitions_size(), 2);
    const auto& partition = response.topics(0).partitions(1);
    EXPECT_FALSE(partition.has_error()) << partition.ShortDebugString();
    EXPECT_TRUE(partition.has_earliest_offset());
    EXPECT_EQ(partition.earliest_offset(), 0);
    EXPECT_EQ(partition.latest_offset(), appended.base_offset() + 1);
    EXPECT_FALSE(partition.stale());
  }
}

TEST_F(CallsTest, QuorumIsDescribedAlikeByAllNodes) {
  const Leadership leadership = LeaderOfOrders();
  for (const int32_t id : cluster().ids()) {
    v1::DescribeQuorumRequest request;
    request.add_topics()->set_topic(kOrders);
    v1::DescribeQuorumResponse response;
    const grpc::Status status = Call(*cluster().stubs(id).admin,
                                     &v1::AdminService::Stub::DescribeQuorum, request, &response);
    ASSERT_TRUE(status.ok()) << FailureOf(status);
    ASSERT_EQ(response.topics(0).partitions_size(), 2);
    const PartitionQuorum& quorum = response.topics(0).partitions(0);
    EXPECT_EQ(quorum.leader_id(), leadership.leader);
    EXPECT_EQ(quorum.leader_directory_id(), cluster().node(leadership.leader).directory_id());
    EXPECT_EQ(quorum.observers_size(), 0);
    std::vector<int32_t> voters;
    int leaders = 0;
    for (const auto& voter : quorum.current_voters()) {
      voters.push_back(voter.node_id());
      EXPECT_EQ(voter.directory_id(), cluster().node(voter.node_id()).directory_id());
      leaders += voter.role() == v1::REPLICA_ROLE_LEADER ? 1 : 0;
    }
    EXPECT_THAT(voters, UnorderedElementsAre(1, 2, 3));
    EXPECT_EQ(leaders, 1);
    EXPECT_EQ(quorum.target_replicas_size(), 3);
    EXPECT_EQ(response.nodes_size(), 3);
  }
}

TEST_F(CallsTest, LeaderHandsOverWhenAsked) {
  const Leadership before = LeaderOfOrders();
  const int32_t wanted = before.leader % 3 + 1;
  v1::ElectLeaderRequest request;
  auto* topic = request.add_topics();
  topic->set_topic(kOrders);
  topic->add_partitions()->set_partition(0);
  topic->mutable_partitions(0)->set_node_id(wanted);
  v1::ElectLeaderResponse response;
  const grpc::Status status = Call(*cluster().stubs(before.leader % 3 + 1).admin,
                                   &v1::AdminService::Stub::ElectLeader, request, &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  const auto& outcome = response.topics(0).partitions(0);
  EXPECT_FALSE(outcome.has_error()) << outcome.ShortDebugString();
  EXPECT_EQ(outcome.leader_id(), wanted);
  EXPECT_GT(outcome.leader_epoch(), before.epoch);
}

TEST_F(CallsTest, HealthIsAnsweredOverallAndPerService) {
  for (const std::string service :
       {"", "readiness", "quorum.v1.LogService", "quorum.v1.AdminService", "quorum.v1.VoterService",
        "quorum.v1.ObserverService"}) {
    HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    const grpc::Status status = Call(*any().health, &Health::Stub::Check, request, &response);
    ASSERT_TRUE(status.ok()) << service << ": " << status.error_message();
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING) << service;
  }
  HealthCheckRequest unknown;
  unknown.set_service("no.such.Service");
  HealthCheckResponse response;
  EXPECT_EQ(Call(*any().health, &Health::Stub::Check, unknown, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(CallsTest, HealthIsStreamed) {
  grpc::ClientContext context;
  SetDeadline(&context, kWaitMax);
  const auto stream = any().health->Watch(&context, HealthCheckRequest());
  HealthCheckResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  context.TryCancel();
  EXPECT_FALSE(stream->Read(&response));
}

// Both versions of reflection, by their own stubs.
template <typename Service, typename Request, typename Response>
void CheckReflection(const Stubs& stubs) {
  const auto stub = Service::NewStub(stubs.channel);
  grpc::ClientContext context;
  SetDeadline(&context, kWaitMax);
  const auto stream = stub->ServerReflectionInfo(&context);
  Request request;
  Response response;
  request.set_list_services("");
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&response));
  std::set<std::string> names;
  for (const auto& service : response.list_services_response().service()) {
    names.insert(service.name());
  }
  EXPECT_THAT(names, IsSupersetOf({"quorum.v1.LogService", "quorum.v1.AdminService",
                                   "quorum.v1.VoterService", "quorum.v1.ObserverService",
                                   "grpc.health.v1.Health"}));
  for (const std::string symbol : {"quorum.v1.LogService", "quorum.v1.AppendRequest",
                                   "grpc.health.v1.Health", "google.rpc.ErrorInfo"}) {
    request.set_file_containing_symbol(symbol);
    ASSERT_TRUE(stream->Write(request));
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_GT(response.file_descriptor_response().file_descriptor_proto_size(), 0) << symbol;
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(response.file_descriptor_response().file_descriptor_proto(0)));
    // Old tools print the name that is given here, and camelCase is what JSON has.
    for (const auto& message : file.message_type()) {
      for (const auto& field : message.field()) EXPECT_TRUE(field.has_json_name());
    }
  }
  request.set_file_containing_symbol("no.such.Symbol");
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.error_response().error_code(), static_cast<int>(grpc::StatusCode::NOT_FOUND));
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(CallsTest, ReflectionV1) {
  CheckReflection<grpc::reflection::v1::ServerReflection,
                  grpc::reflection::v1::ServerReflectionRequest,
                  grpc::reflection::v1::ServerReflectionResponse>(any());
}

TEST_F(CallsTest, ReflectionV1Alpha) {
  CheckReflection<grpc::reflection::v1alpha::ServerReflection,
                  grpc::reflection::v1alpha::ServerReflectionRequest,
                  grpc::reflection::v1alpha::ServerReflectionResponse>(any());
}

}  // namespace
}  // namespace quorum::integration
