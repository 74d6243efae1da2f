// The peer transport and the peer services over a real connection: what one node sends, the shard
// of another gets, and its answer comes back.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "quorum/v1/observer.grpc.pb.h"
#include "quorum/v1/voter.grpc.pb.h"
#include "service/base/prng.h"
#include "service/transport/address_book.h"
#include "service/transport/call_error.h"
#include "service/transport/error_counts.h"
#include "service/transport/grpc_controller_link.h"
#include "service/transport/grpc_peer_transport.h"
#include "service/transport/grpc_server.h"
#include "service/transport/leader_hints.h"
#include "service/transport/observer_service.h"
#include "service/transport/peer_channels.h"
#include "service/transport/request_codec.h"
#include "service/transport/voter_service.h"
#include "tests/service/transport/fakes.h"
#include "tests/service/transport/random_messages.h"

namespace quorum::transport {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(20);

// Node 2 with its services; node 1 sends.
class PeerLoopbackTest : public testing::Test {
 protected:
  void SetUp() override {
    voter_ = std::make_unique<VoterService>(TestReceiver(), shards_, catalog_);
    observer_ = std::make_unique<ObserverService>(
        TestReceiver(), Incarnation(5),
        ObserverService::Parts{shards_, catalog_, controller_, hints_, clock_});
    GrpcServerOptions options;
    options.address = "127.0.0.1:0";
    options.errors = &errors_;
    auto server = GrpcServer::Start(options, {voter_.get(), observer_.get()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    addresses_.Set(NodeId(2), Address());
  }

  std::string Address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

  std::shared_ptr<grpc::Channel> Channel() const {
    return grpc::CreateChannel(Address(), grpc::InsecureChannelCredentials());
  }

  // Sends and waits for the outcome.
  std::optional<shard::LaneResponse> Send(shard::LaneRequest request, Duration timeout = kTimeout) {
    Latch answered;
    std::optional<shard::LaneResponse> answer;
    transport_.Send(std::move(request), timeout, [&](std::optional<shard::LaneResponse> response) {
      answer = std::move(response);
      answered.Set();
    });
    EXPECT_TRUE(answered.Wait());
    return answer;
  }

  shard::LaneRequest RequestToNode2(Prng* prng) {
    shard::LaneRequest request = RandomRequest(prng);
    request.envelope.to.key = TestReceiver().self;
    return request;
  }

  FakeShards shards_;
  FakeCatalog catalog_;
  FakeController controller_;
  LeaderHints hints_;
  FixedClock clock_;
  uint64_t ErrorsOf(const std::string& reason) const {
    for (const auto& [name, count] : errors_.Counts()) {
      if (name == reason) return count;
    }
    ADD_FAILURE() << reason << " is not counted";
    return 0;
  }

  ErrorCounts errors_;
  std::unique_ptr<VoterService> voter_;
  std::unique_ptr<ObserverService> observer_;
  std::unique_ptr<GrpcServer> server_;
  AddressBook addresses_;
  PeerChannels channels_{addresses_};
  std::vector<std::string> fenced_;
  GrpcPeerTransport transport_{channels_,
                               [this](const std::string& reason) { fenced_.push_back(reason); }};
};

TEST_F(PeerLoopbackTest, EachKindReachesTheShardAndItsAnswerComesBack) {
  Prng prng(31);
  std::string received;
  shard::LaneResponse answer{{TestReceiver().self, Incarnation(5)}, shard::HeaderAnswer{}};
  shards_.on_request = [&](const shard::LaneRequest& request, const shard::PeerReply& reply) {
    received = Print(request);
    reply(answer);
  };
  for (int round = 0; round < 40; ++round) {
    const shard::LaneRequest request = RequestToNode2(&prng);
    if (std::holds_alternative<shard::FetchBatch>(request.body)) {
      answer.body = RandomFetchAnswer(&prng);
    } else {
      answer.body =
          RandomHeaderAnswer(&prng, std::holds_alternative<shard::VoteBatch>(request.body));
    }
    const std::optional<shard::LaneResponse> response = Send(request);
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(received, Print(request));
    EXPECT_EQ(Print(*response), Print(answer));
  }
}

TEST_F(PeerLoopbackTest, AProcessThatTheCatalogKnowsANewerOneOfIsToldSo) {
  Prng prng(33);
  int reached = 0;
  shards_.on_request = [&](const shard::LaneRequest& request, const shard::PeerReply& reply) {
    ++reached;
    shard::LaneResponse answer{{TestReceiver().self, Incarnation(5)}, shard::HeaderAnswer{}};
    if (std::holds_alternative<shard::FetchBatch>(request.body)) answer.body = shard::FetchAnswer{};
    reply(answer);
  };
  controller::NodeView sender;
  sender.key = ReplicaKey{NodeId(1), DirectoryId{1, 1}};
  sender.incarnation = Incarnation(7);
  catalog_.nodes = {sender};
  const auto send = [&](const ReplicaKey& from, uint64_t incarnation, shard::LaneRequestBody body) {
    shard::LaneRequest request{RandomEnvelope(&prng), std::move(body)};
    request.envelope.from = shard::PeerIdentity{from, Incarnation(incarnation)};
    request.envelope.to.key = TestReceiver().self;
    return Send(std::move(request)).has_value();
  };
  const std::vector<shard::LaneRequestBody> kinds = {shard::VoteBatch{}, shard::BeginBatch{},
                                                     shard::EndBatch{}, shard::FetchBatch{}};
  for (const shard::LaneRequestBody& kind : kinds) {
    fenced_.clear();
    EXPECT_FALSE(send(sender.key, 6, kind));
    EXPECT_EQ(fenced_.size(), 1u) << kind.index();
    EXPECT_TRUE(send(sender.key, 7, kind)) << "the one that has registered";
    EXPECT_TRUE(send(sender.key, 8, kind)) << "one that is about to";
    EXPECT_TRUE(send(ReplicaKey{NodeId(1), DirectoryId{9, 9}}, 1, kind)) << "another directory";
    EXPECT_EQ(fenced_.size(), 1u);
  }
  EXPECT_EQ(reached, 12);
  EXPECT_EQ(ErrorsOf("FENCED_INCARNATION"), 4u);
}

TEST_F(PeerLoopbackTest, CallsThatFailAreCountedByReason) {
  Prng prng(34);
  for (const auto& [reason, count] : errors_.Counts()) EXPECT_EQ(count, 0u) << reason;
  shards_.on_request = [&](const shard::LaneRequest&, const shard::PeerReply& reply) {
    reply({{TestReceiver().self, Incarnation(5)},
           shard::RefusedRequest{shard::EnvelopeError::kThrottled}});
  };
  EXPECT_FALSE(Send(RequestToNode2(&prng)).has_value());
  EXPECT_FALSE(Send(RequestToNode2(&prng)).has_value());
  EXPECT_EQ(ErrorsOf("THROTTLED"), 2u);
  errors_.Note(grpc::Status(grpc::StatusCode::UNAVAILABLE, "without a reason"));
  EXPECT_EQ(ErrorsOf("GRPC_UNAVAILABLE"), 1u);
  errors_.Note(grpc::Status::OK);
  EXPECT_EQ(ErrorsOf("THROTTLED"), 2u);
}

TEST_F(PeerLoopbackTest, MegabytesOfRecordsArriveAsTheyAre) {
  Prng prng(32);
  const PartitionId partition{TopicId(2), 0};
  shard::FetchAnswer answer;
  answer.entries.emplace_back().partition = partition;
  for (int64_t i = 0; i < 8; ++i) {
    answer.entries[0].batches.push_back(MakeBatch(partition, Offset(2 * i), 1 << 20));
  }
  const shard::LaneResponse sent{{TestReceiver().self, Incarnation(5)}, answer};
  shards_.on_request = [&](const shard::LaneRequest&, const shard::PeerReply& reply) {
    reply(sent);
  };
  shard::LaneRequest request{RandomEnvelope(&prng), shard::FetchBatch{}};
  request.envelope.to.key = TestReceiver().self;
  const std::optional<shard::LaneResponse> response = Send(request);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(Print(*response), Print(sent));
}

TEST_F(PeerLoopbackTest, NoAnswerIsAFailure) {
  Prng prng(33);
  std::vector<shard::PeerReply> held;
  shards_.on_request = [&](const shard::LaneRequest&, shard::PeerReply reply) {
    held.push_back(std::move(reply));
  };
  EXPECT_FALSE(Send(RequestToNode2(&prng), std::chrono::milliseconds(50)).has_value());
  for (const shard::PeerReply& reply : held) {
    reply({{TestReceiver().self, Incarnation(5)},
           shard::RefusedRequest{shard::EnvelopeError::kThrottled}});
  }
}

TEST_F(PeerLoopbackTest, AFullMailboxIsAFailure) {
  Prng prng(34);
  EXPECT_FALSE(Send(RequestToNode2(&prng)).has_value());
}

TEST_F(PeerLoopbackTest, ANodeWithoutAddressIsAFailureAtOnce) {
  Prng prng(35);
  shard::LaneRequest request = RandomRequest(&prng);
  request.envelope.to.key = KeyOf(9);
  EXPECT_FALSE(Send(request).has_value());
}

// A node that answers every vote with the same status, or with what nobody understands.
class OddVoter : public v1::VoterService::Service {
 public:
  grpc::Status Vote(grpc::ServerContext*, const v1::VoteRequest*, v1::VoteResponse*) override {
    return status;
  }

  grpc::Status status;
};

// There are no certificates and no versions to negotiate, so every call that fails is one kind of
// failure, which the replica tries again. Only FENCED_INCARNATION ends the process, as
// AProcessThatTheCatalogKnowsANewerOneOfIsToldSo shows.
TEST_F(PeerLoopbackTest, C143_WhateverFailsACallIsAFailureAndNothingElse) {
  Prng prng(39);
  OddVoter odd;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&odd);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  addresses_.Set(NodeId(3), absl::StrCat("127.0.0.1:", port));
  const auto vote = [&] {
    shard::LaneRequest request{RandomEnvelope(&prng), shard::VoteBatch{}};
    request.envelope.to.key = KeyOf(3);
    return Send(std::move(request)).has_value();
  };
  EXPECT_FALSE(vote()) << "OK, with an answer that names no responder";
  for (int code = 1; code <= grpc::StatusCode::UNAUTHENTICATED; ++code) {
    odd.status = grpc::Status(static_cast<grpc::StatusCode>(code), "odd");
    EXPECT_FALSE(vote()) << code;
  }
  for (const v1::ErrorReason reason :
       {v1::ERROR_REASON_INCONSISTENT_CLUSTER_ID, v1::ERROR_REASON_INVALID_REQUEST,
        v1::ERROR_REASON_NOT_IMPLEMENTED, v1::ERROR_REASON_THROTTLED,
        v1::ERROR_REASON_SHUTTING_DOWN}) {
    odd.status = CallError(reason, "odd").ToGrpc();
    EXPECT_FALSE(vote()) << reason;
  }
  EXPECT_TRUE(fenced_.empty());
  odd.status = CallError(v1::ERROR_REASON_FENCED_INCARNATION, "odd").ToGrpc();
  EXPECT_FALSE(vote());
  EXPECT_EQ(fenced_.size(), 1u);
  server->Shutdown();
  EXPECT_FALSE(vote()) << "disconnected";
  EXPECT_EQ(fenced_.size(), 1u);
}

TEST_F(PeerLoopbackTest, ANodeThatIsDownIsAFailure) {
  Prng prng(36);
  const std::string address = Address();
  server_->Shutdown(Duration::zero());
  addresses_.Set(NodeId(3), address);
  shard::LaneRequest request = RandomRequest(&prng);
  request.envelope.to.key = KeyOf(3);
  EXPECT_FALSE(Send(request).has_value());
}

TEST_F(PeerLoopbackTest, ShutdownEndsWhatIsOutstanding) {
  Prng prng(37);
  Latch arrived;
  Latch answered;
  std::vector<shard::PeerReply> held;
  shards_.on_request = [&](const shard::LaneRequest&, shard::PeerReply reply) {
    held.push_back(std::move(reply));
    arrived.Set();
  };
  std::optional<shard::LaneResponse> answer;
  transport_.Send(RequestToNode2(&prng), kTimeout, [&](std::optional<shard::LaneResponse> got) {
    answer = std::move(got);
    answered.Set();
  });
  ASSERT_TRUE(arrived.Wait());
  transport_.Shutdown();
  ASSERT_TRUE(answered.Wait());
  EXPECT_FALSE(answer.has_value());
  EXPECT_FALSE(Send(RequestToNode2(&prng)).has_value());
  for (const shard::PeerReply& reply : held) {
    reply({{TestReceiver().self, Incarnation(5)},
           shard::RefusedRequest{shard::EnvelopeError::kThrottled}});
  }
}

TEST_F(PeerLoopbackTest, AnotherClusterIsRefusedWithAReason) {
  Prng prng(38);
  shards_.on_request = [](const shard::LaneRequest&, const shard::PeerReply&) { FAIL(); };
  shard::Envelope envelope = RandomEnvelope(&prng);
  envelope.cluster_id = "c-2";
  const auto stub = v1::VoterService::NewStub(Channel());
  grpc::ClientContext context;
  v1::VoteResponse response;
  const grpc::Status status = stub->Vote(&context, EncodeVote(envelope, {}), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(HasReason(RpcStatusOf(status), v1::ERROR_REASON_INCONSISTENT_CLUSTER_ID));
  EXPECT_EQ(ErrorInfoOf(RpcStatusOf(status))->metadata().at("cluster_id"), "c-1");
}

TEST_F(PeerLoopbackTest, AReaderWithoutEnvelopeIsServed) {
  const PartitionId partition{TopicId(2), 1};
  shards_.on_request = [&](const shard::LaneRequest& request, const shard::PeerReply& reply) {
    EXPECT_TRUE(std::get<shard::FetchBatch>(request.body).anonymous);
    shard::FetchAnswer answer;
    answer.entries.emplace_back().partition = partition;
    answer.entries[0].batches.push_back(MakeBatch(partition, Offset(0), 3));
    reply({{TestReceiver().self, Incarnation(5)}, std::move(answer)});
  };
  const auto stub = v1::ObserverService::NewStub(Channel());
  grpc::ClientContext context;
  v1::FetchRequest request;
  request.set_max_bytes(1000);
  request.add_topics()->set_topic_id(2);
  request.mutable_topics(0)->add_partitions()->set_partition(1);
  v1::FetchResponse response;
  const grpc::Status status = stub->Fetch(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.topics(0).partitions(0).records(0).records(0).value(), "vvv");
}

TEST_F(PeerLoopbackTest, BytesThatAreNoFetchAreRefused) {
  grpc::GenericStub stub(Channel());
  grpc::ClientContext context;
  const grpc::Slice junk("\xff\xff\xff");
  const grpc::ByteBuffer request(&junk, 1);
  grpc::ByteBuffer response;
  Latch answered;
  grpc::Status status;
  stub.UnaryCall(&context, "/quorum.v1.ObserverService/Fetch", {}, &request, &response,
                 [&](const grpc::Status& got) {
                   status = got;
                   answered.Set();
                 });
  ASSERT_TRUE(answered.Wait());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(PeerLoopbackTest, WhatThisVersionDoesNotDoSaysSo) {
  const auto voter = v1::VoterService::NewStub(Channel());
  const auto observer = v1::ObserverService::NewStub(Channel());
  std::vector<grpc::Status> statuses;
  {
    grpc::ClientContext context;
    v1::UpdateVoterResponse response;
    statuses.push_back(voter->UpdateVoter(&context, {}, &response));
  }
  {
    grpc::ClientContext context;
    v1::FetchSnapshotResponse response;
    statuses.push_back(observer->FetchSnapshot(&context, {}, &response));
  }
  {
    grpc::ClientContext context;
    v1::DiscoverBrokersResponse response;
    statuses.push_back(observer->DiscoverBrokers(&context, {}, &response));
  }
  for (const grpc::Status& status : statuses) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_TRUE(HasReason(RpcStatusOf(status), v1::ERROR_REASON_NOT_IMPLEMENTED));
    EXPECT_EQ(status.error_message().back(), '.');
  }
}

TEST_F(PeerLoopbackTest, MetadataSaysWhatTheCatalogAndTheHintsSay) {
  catalog_.Add(2, "orders", 2, {1, 2, 3});
  hints_.Note(PartitionId{TopicId(2), 1}, {KeyOf(3), Epoch(4)});
  hints_.Note(kMetadataPartition, {KeyOf(1), Epoch(9)});
  const auto stub = v1::ObserverService::NewStub(Channel());
  grpc::ClientContext context;
  v1::MetadataRequest request;
  request.add_topics()->set_name("orders");
  request.add_topics()->set_name("nothing");
  v1::MetadataResponse response;
  ASSERT_TRUE(stub->Metadata(&context, request, &response).ok());
  EXPECT_EQ(response.controller_id(), 1);
  EXPECT_EQ(response.controller_epoch(), 9);
  ASSERT_EQ(response.topics_size(), 2);
  EXPECT_EQ(response.topics(0).partitions(0).error(), v1::ERROR_CODE_LEADER_NOT_AVAILABLE);
  EXPECT_EQ(response.topics(0).partitions(1).leader_id(), 3);
  EXPECT_EQ(response.topics(0).partitions(1).replicas_size(), 3);
  EXPECT_EQ(response.topics(1).error(), v1::ERROR_CODE_UNKNOWN_TOPIC_OR_PARTITION);
}

TEST_F(PeerLoopbackTest, ARegistrationReachesTheControllerAndItsResultComesBack) {
  controller_.result.catalog_offset = Offset(77);
  controller_.result.hint = {KeyOf(2), Epoch(3)};
  std::string failure;
  GrpcControllerLink link(TestReceiver(),
                          {channels_, addresses_, [&](const std::string& why) { failure = why; },
                           [&](const std::string& why) { failure = why; }});
  controller::BrokerRegistration registration;
  registration.key = KeyOf(1);
  registration.incarnation = Incarnation(6);
  registration.endpoints = {{"peer", "host:1"}, {"client", "host:2"}};
  registration.lane_count = 16;
  registration.software_version = "v";
  Latch answered;
  std::optional<controller::ControllerResult> result;
  link.Register(KeyOf(2), registration, kTimeout, [&](auto got) {
    result = std::move(got);
    answered.Set();
  });
  ASSERT_TRUE(answered.Wait());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->error, controller::ControllerError::kNone);
  EXPECT_EQ(result->catalog_offset, Offset(77));
  EXPECT_EQ(result->hint.leader, KeyOf(2));
  ASSERT_EQ(controller_.registrations.size(), 1u);
  EXPECT_EQ(controller_.registrations[0].key, KeyOf(1));
  EXPECT_EQ(controller_.registrations[0].incarnation, Incarnation(6));
  EXPECT_EQ(controller_.registrations[0].endpoints[1].address, "host:2");

  controller::NodeView node;
  node.key = KeyOf(1);
  node.endpoints = registration.endpoints;
  link.OnNode(node);
  EXPECT_EQ(addresses_.Find(NodeId(1)), "host:1");
}

TEST_F(PeerLoopbackTest, APortIsNotShared) {
  VoterService second(TestReceiver(), shards_, catalog_);
  const auto server = GrpcServer::Start({Address()}, {&second});
  ASSERT_FALSE(server.ok());
  EXPECT_NE(server.status().message().find(Address()), absl::string_view::npos);
}

}  // namespace
}  // namespace quorum::transport
