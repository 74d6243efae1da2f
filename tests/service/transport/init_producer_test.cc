// InitProducer: ids are given out once, and names are bound where the partition is led.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "quorum/v1/admin.grpc.pb.h"
#include "quorum/v1/log.grpc.pb.h"
#include "service/base/control_record.h"
#include "service/transport/call_error.h"
#include "tests/service/transport/client_node.h"

namespace quorum::transport {
namespace {

using Outcome = shard::AppendResult::Outcome;

class InitProducerTest : public testing::Test {
 protected:
  InitProducerTest() {
    one_.Knows(two_);
    two_.Knows(one_);
  }

  static v1::InitProducerRequest Named(const std::string& name = "writer") {
    v1::InitProducerRequest request;
    request.set_name(name);
    request.set_topic("orders");
    request.set_partition(0);
    return request;
  }

  grpc::Status Init(const v1::InitProducerRequest& request) {
    grpc::ClientContext context;
    response_.Clear();
    return one_.log().InitProducer(&context, request, &response_);
  }

  static void OnBind(ClientNode* node, std::function<void(shard::BindProducerCall)> answer) {
    node->shards.on_call = [answer = std::move(answer)](shard::ShardCall call) {
      answer(std::get<shard::BindProducerCall>(std::move(call)));
    };
  }
  static shard::BindProducerResult Bound(int32_t leader) {
    shard::BindProducerResult result;
    result.outcome = Outcome::kCommitted;
    result.producer_id = kNamedProducerIds + 5;
    result.producer_epoch = 4;
    result.hint = {KeyOf(leader), Epoch(3)};
    return result;
  }
  static shard::BindProducerResult NotLeader(int32_t leader) {
    shard::BindProducerResult result;
    result.error = raft::RaftError::kNotLeaderOrFollower;
    result.hint = {KeyOf(leader), Epoch(3)};
    return result;
  }

  ClientNode one_{1};
  ClientNode two_{2};
  v1::InitProducerResponse response_;
};

TEST_F(InitProducerTest, AnonymousIdsAreGivenOutOnceAndABlockLasts) {
  std::set<int64_t> ids;
  for (int i = 0; i < 1500; ++i) {
    ASSERT_TRUE(Init({}).ok());
    EXPECT_EQ(response_.producer_epoch(), 0);
    EXPECT_EQ(response_.expiry().seconds(), 24 * 3600);
    EXPECT_TRUE(ids.insert(response_.producer_id()).second) << response_.producer_id();
  }
  EXPECT_EQ(one_.controller.allocations.load(), 2);
}

TEST_F(InitProducerTest, ANewProcessAsksForANewBlock) {
  one_.controller.next_producer_id.store(5'000);
  ASSERT_TRUE(Init({}).ok());
  EXPECT_EQ(response_.producer_id(), 5'000);
  EXPECT_EQ(one_.controller.next_producer_id.load(), 6'000);
}

TEST_F(InitProducerTest, ABlockComesFromTheControllerOneHopAway) {
  one_.controller.result.error = controller::ControllerError::kNotController;
  one_.controller.result.hint = {KeyOf(2), Epoch(3)};
  two_.controller.next_producer_id.store(70);
  ASSERT_TRUE(Init({}).ok());
  EXPECT_EQ(response_.producer_id(), 70);
  ASSERT_TRUE(Init({}).ok());
  EXPECT_EQ(response_.producer_id(), 71);
  EXPECT_EQ(two_.controller.allocations.load(), 1);
}

TEST_F(InitProducerTest, ABlockOfAnUnknownOutcomeIsAskedForAgain) {
  one_.controller.result.error = controller::ControllerError::kOutcomeUnknown;
  two_.controller.result.error = controller::ControllerError::kOutcomeUnknown;
  v1::InitProducerRequest request;
  request.mutable_timeout()->set_nanos(300'000'000);
  EXPECT_FALSE(Init(request).ok());
  EXPECT_GT(one_.controller.allocations.load() + two_.controller.allocations.load(), 1);
}

TEST_F(InitProducerTest, ABlockIsGivenToWhoAsksForIt) {
  grpc::ClientContext context;
  v1::AllocateProducerIdsRequest request;
  request.set_count(17);
  v1::AllocateProducerIdsResponse response;
  one_.controller.next_producer_id.store(100);
  ASSERT_TRUE(one_.admin().AllocateProducerIds(&context, request, &response).ok());
  EXPECT_EQ(response.first_producer_id(), 100);
  EXPECT_EQ(response.count(), 17u);
}

TEST_F(InitProducerTest, ANameIsBoundHere) {
  OnBind(&one_, [](const shard::BindProducerCall& call) {
    EXPECT_EQ(call.partition, Orders(0));
    EXPECT_EQ(call.name, "writer");
    call.done(Bound(1));
  });
  ASSERT_TRUE(Init(Named()).ok());
  EXPECT_EQ(response_.producer_id(), kNamedProducerIds + 5);
  EXPECT_EQ(response_.producer_epoch(), 4);
  EXPECT_EQ(response_.expiry().seconds(), 24 * 3600);
  EXPECT_EQ(one_.controller.allocations.load(), 0) << "no controller is needed for a name";
}

TEST_F(InitProducerTest, ANameIsBoundOneHopAway) {
  OnBind(&one_, [](const shard::BindProducerCall& call) { call.done(NotLeader(2)); });
  OnBind(&two_, [](const shard::BindProducerCall& call) {
    EXPECT_EQ(call.name, "writer");
    call.done(Bound(2));
  });
  ASSERT_TRUE(Init(Named()).ok());
  EXPECT_EQ(response_.producer_epoch(), 4);
}

// An old attempt that is carried out late would fence whoever got the answer to a newer one.
TEST_F(InitProducerTest, ANameOfUnknownOutcomeIsNotBoundAgain) {
  std::atomic<int> calls{0};
  OnBind(&one_, [&](const shard::BindProducerCall& call) {
    ++calls;
    shard::BindProducerResult result = NotLeader(1);
    result.outcome = Outcome::kUnknown;
    call.done(result);
  });
  const grpc::Status status = Init(Named());
  EXPECT_TRUE(HasReason(RpcStatusOf(status), v1::ERROR_REASON_COMMIT_UNKNOWN));
  EXPECT_EQ(calls.load(), 1);
}

TEST_F(InitProducerTest, WhereForwardingIsForbiddenTheHintIsTheAnswer) {
  OnBind(&one_, [](const shard::BindProducerCall& call) { call.done(NotLeader(2)); });
  v1::InitProducerRequest request = Named();
  request.set_no_forward(true);
  const google::rpc::Status status = RpcStatusOf(Init(request));
  EXPECT_TRUE(HasReason(status, v1::ERROR_REASON_NOT_LEADER)) << status.ShortDebugString();
  EXPECT_EQ(MetadataNumber(status, "leader_id"), 2);
}

TEST_F(InitProducerTest, AFullMailboxIsRefused) {
  EXPECT_TRUE(HasReason(RpcStatusOf(Init(Named())), v1::ERROR_REASON_THROTTLED));
}

TEST_F(InitProducerTest, BadInputIsRefusedBeforeAnythingIsDone) {
  OnBind(&one_, [](const shard::BindProducerCall& call) {
    ADD_FAILURE() << "the shard was asked";
    call.done(Bound(1));
  });
  struct Case {
    const char* what;
    std::function<void(v1::InitProducerRequest*)> spoil;
    v1::ErrorReason reason = v1::ERROR_REASON_INVALID_REQUEST;
  };
  const Case cases[] = {
      {"a topic without a name", [](auto* r) { r->clear_name(); }},
      {"a partition without a name",
       [](auto* r) {
         r->clear_name();
         r->clear_topic();
       }},
      {"no topic", [](auto* r) { r->clear_topic(); }},
      {"no partition", [](auto* r) { r->clear_partition(); }},
      {"a long name", [](auto* r) { r->set_name(std::string(256, 'x')); }},
      {"timeout -1 s", [](auto* r) { r->mutable_timeout()->set_seconds(-1); }},
      {"other cluster", [](auto* r) { r->set_cluster_id("c-2"); },
       v1::ERROR_REASON_INCONSISTENT_CLUSTER_ID},
      {"unknown topic", [](auto* r) { r->set_topic("nothing"); },
       v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION},
      {"unknown partition", [](auto* r) { r->set_partition(3); },
       v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION},
      {"catalog", [](auto* r) { r->set_topic("__metadata"); }, v1::ERROR_REASON_INTERNAL_TOPIC},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.what);
    v1::InitProducerRequest request = Named();
    bad.spoil(&request);
    const google::rpc::Status status = RpcStatusOf(Init(request));
    EXPECT_TRUE(HasReason(status, bad.reason)) << status.ShortDebugString();
  }
}

}  // namespace
}  // namespace quorum::transport
