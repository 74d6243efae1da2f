// Append and AppendBatch: three outcomes, told exactly; one hop; and nothing that may be in a log
// is sent again.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quorum/v1/log.grpc.pb.h"
#include "service/base/record_codec.h"
#include "service/transport/call_deadline.h"
#include "service/transport/call_error.h"
#include "tests/service/transport/client_node.h"

namespace quorum::transport {
namespace {

class AppendTest : public testing::Test {
 protected:
  AppendTest() {
    one_.Knows(two_);
    two_.Knows(one_);
  }

  static v1::AppendRequest Request(uint32_t partition = 0) {
    v1::AppendRequest request;
    request.set_topic("orders");
    request.set_partition(partition);
    v1::Record* record = request.add_records();
    record->set_key("k1");
    record->set_value("v1");
    return request;
  }

  static v1::ProducerStamp* Stamp(v1::AppendRequest* request, int64_t id, int32_t epoch,
                                  int64_t sequence) {
    v1::ProducerStamp* stamp = request->mutable_producer();
    stamp->set_producer_id(id);
    stamp->set_producer_epoch(epoch);
    stamp->set_base_sequence(sequence);
    return stamp;
  }
  static v1::AppendRequest StampedRequest() {
    v1::AppendRequest request = Request();
    Stamp(&request, 7, 1, 40);
    return request;
  }

  grpc::Status Append(const v1::AppendRequest& request) {
    grpc::ClientContext context;
    return one_.log().Append(&context, request, &response_);
  }

  // Every append at the node is answered by `answer`.
  static void OnAppend(ClientNode* node, std::function<void(shard::AppendCall)> answer) {
    node->shards.on_call = [answer = std::move(answer)](shard::ShardCall call) {
      answer(std::get<shard::AppendCall>(std::move(call)));
    };
  }

  // Makes node 1 know that node 2 leads, over a connection that stands.
  void LeadAtTwo(std::function<void(shard::AppendCall)> answer) {
    OnAppend(&one_, [](const shard::AppendCall& call) { call.done(NotLeaderResult(2)); });
    OnAppend(&two_, [](const shard::AppendCall& call) { call.done(Committed(1, 2)); });
    ASSERT_TRUE(Append(Request()).ok());
    OnAppend(&two_, std::move(answer));
  }

  static void ExpectRefused(const grpc::Status& status, v1::ErrorReason reason) {
    const google::rpc::Status rpc = RpcStatusOf(status);
    EXPECT_TRUE(HasReason(rpc, reason)) << rpc.ShortDebugString();
    const auto info = ErrorInfoOf(rpc);
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->metadata().count("outcome"), 1u);
    if (info->metadata().count("outcome") == 1) {
      EXPECT_EQ(info->metadata().at("outcome"), "refused");
    }
  }

  static void ExpectUnknown(const grpc::Status& status) {
    EXPECT_FALSE(status.ok());
    const auto info = ErrorInfoOf(RpcStatusOf(status));
    EXPECT_TRUE(!info.has_value() || info->metadata().count("outcome") == 0)
        << status.error_message();
  }

  ClientNode one_{1};
  ClientNode two_{2};
  v1::AppendResponse response_;
};

TEST_F(AppendTest, CommittedHere) {
  BatchDraft draft;
  PartitionId partition;
  OnAppend(&one_, [&](const shard::AppendCall& call) {
    draft = call.draft;
    partition = call.partition;
    call.done(Committed(17, 1));
  });
  v1::AppendRequest request = Request(2);
  v1::Record* tombstone = request.add_records();
  tombstone->set_key("");
  tombstone->add_headers()->set_name("h");
  tombstone->set_timestamp_ms(5);
  ASSERT_TRUE(Append(request).ok());
  EXPECT_EQ(response_.base_offset(), 17);
  EXPECT_EQ(response_.leader_epoch(), 3);
  EXPECT_EQ(response_.leader_id(), 1);
  EXPECT_EQ(partition, Orders(2));
  const auto records =
      DecodeRecords(RecordBatch::Seal(partition, Offset(17), Epoch(3), draft)).value();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].fields.key, "k1");
  EXPECT_EQ(records[0].fields.value, "v1");
  EXPECT_EQ(records[0].timestamp_ms, one_.clock.WallTimeMs());
  EXPECT_EQ(records[1].fields.key, "");
  EXPECT_FALSE(records[1].fields.value.has_value());
  EXPECT_EQ(records[1].fields.headers[0].name, "h");
  EXPECT_EQ(records[1].timestamp_ms, 5);
}

struct BadInput {
  const char* what;
  std::function<void(v1::AppendRequest*)> spoil;
  v1::ErrorReason reason = v1::ERROR_REASON_INVALID_REQUEST;
};

TEST_F(AppendTest, BadInputIsRefusedBeforeAnythingIsDone) {
  OnAppend(&one_, [](const shard::AppendCall& call) {
    ADD_FAILURE() << "the shard was asked";
    call.done(Committed(0, 1));
  });
  const std::vector<BadInput> cases = {
      {"no topic", [](auto* r) { r->clear_topic(); }},
      {"no partition", [](auto* r) { r->clear_partition(); }},
      {"no records", [](auto* r) { r->clear_records(); }},
      {"header without name", [](auto* r) { r->mutable_records(0)->add_headers(); }},
      {"epoch 0", [](auto* r) { r->set_leader_epoch(0); }},
      {"epoch -1", [](auto* r) { r->set_leader_epoch(-1); }},
      {"epoch 2^62", [](auto* r) { r->set_leader_epoch(int64_t{1} << 62); }},
      {"timeout -1 s", [](auto* r) { r->mutable_timeout()->set_seconds(-1); }},
      {"timeout 2^62 s", [](auto* r) { r->mutable_timeout()->set_seconds(int64_t{1} << 62); }},
      {"large record", [](auto* r) { r->mutable_records(0)->set_value(std::string(2 << 20, 'x')); },
       v1::ERROR_REASON_RECORD_TOO_LARGE},
      {"large batch",
       [](auto* r) {
         for (int i = 0; i < 5; ++i) r->add_records()->set_value(std::string(1'000'000, 'x'));
       },
       v1::ERROR_REASON_RECORD_TOO_LARGE},
      {"other cluster", [](auto* r) { r->set_cluster_id("c-2"); },
       v1::ERROR_REASON_INCONSISTENT_CLUSTER_ID},
      {"unknown topic", [](auto* r) { r->set_topic("../etc"); },
       v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION},
      {"unknown partition", [](auto* r) { r->set_partition(3); },
       v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION},
      {"partition 2^32-1", [](auto* r) { r->set_partition(UINT32_MAX); },
       v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION},
      {"catalog", [](auto* r) { r->set_topic("__metadata"); }, v1::ERROR_REASON_INTERNAL_TOPIC},
      {"condition -1", [](auto* r) { r->set_expected_offset(-1); }},
      {"condition above 2^62", [](auto* r) { r->set_expected_offset((int64_t{1} << 62) + 1); }},
      {"empty stamp", [](auto* r) { r->mutable_producer(); }},
      {"no id", [](auto* r) { Stamp(r, 1, 1, 1)->clear_producer_id(); }},
      {"no epoch", [](auto* r) { Stamp(r, 1, 1, 1)->clear_producer_epoch(); }},
      {"no sequence", [](auto* r) { Stamp(r, 1, 1, 1)->clear_base_sequence(); }},
      {"id -1", [](auto* r) { Stamp(r, -1, 1, 1); }},
      {"producer epoch -1", [](auto* r) { Stamp(r, 1, -1, 1); }},
      {"sequence -1", [](auto* r) { Stamp(r, 1, 1, -1); }},
      {"sequence 2^62", [](auto* r) { Stamp(r, 1, 1, int64_t{1} << 62); }},
      {"last sequence 2^62",
       [](auto* r) {
         Stamp(r, 1, 1, (int64_t{1} << 62) - 1);
         r->add_records()->set_value("v");
       }},
  };
  for (const BadInput& bad : cases) {
    SCOPED_TRACE(bad.what);
    v1::AppendRequest request = Request();
    bad.spoil(&request);
    ExpectRefused(Append(request), bad.reason);
  }
}

TEST_F(AppendTest, AFullMailboxIsRefused) {
  const grpc::Status status = Append(Request());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ExpectRefused(status, v1::ERROR_REASON_THROTTLED);
}

TEST_F(AppendTest, ARefusalOfTheReplicaIsRefused) {
  OnAppend(&one_, [](const shard::AppendCall& call) {
    EXPECT_EQ(call.leader_epoch, Epoch(2));
    shard::AppendResult result = NotLeaderResult(1);
    result.error = raft::RaftError::kFencedLeaderEpoch;
    call.done(result);
  });
  v1::AppendRequest request = Request();
  request.set_leader_epoch(2);
  ExpectRefused(Append(request), v1::ERROR_REASON_FENCED_LEADER_EPOCH);
}

TEST_F(AppendTest, WhatIsNotKnownToBeCommittedIsUnknown) {
  OnAppend(&one_, [](const shard::AppendCall& call) {
    shard::AppendResult result = Committed(8, 1);
    result.outcome = shard::AppendResult::Outcome::kUnknown;
    call.done(result);
  });
  const grpc::Status status = Append(Request());
  // The deadline is far away, so leadership was lost.
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(HasReason(RpcStatusOf(status), v1::ERROR_REASON_COMMIT_UNKNOWN));
  EXPECT_EQ(MetadataNumber(RpcStatusOf(status), "offset"), 8);
  ExpectUnknown(status);
}

TEST_F(AppendTest, TheShardIsGivenTheShortestOfAllWaits) {
  Duration left{};
  OnAppend(&one_, [&](const shard::AppendCall& call) {
    left = call.deadline - one_.clock.Now();
    call.done(Committed(0, 1));
  });
  ASSERT_TRUE(Append(Request()).ok());
  EXPECT_LE(left, std::chrono::seconds(30));
  EXPECT_GT(left, std::chrono::seconds(20));
  v1::AppendRequest request = Request();
  request.mutable_timeout()->set_seconds(2);
  ASSERT_TRUE(Append(request).ok());
  EXPECT_LE(left, std::chrono::seconds(2));
}

TEST_F(AppendTest, ForwardedToTheLeader) {
  OnAppend(&one_, [](const shard::AppendCall& call) { call.done(NotLeaderResult(2)); });
  OnAppend(&two_, [](const shard::AppendCall& call) {
    EXPECT_EQ(call.partition, Orders(1));
    call.done(Committed(23, 2));
  });
  ASSERT_TRUE(Append(Request(1)).ok());
  EXPECT_EQ(response_.base_offset(), 23);
  EXPECT_EQ(response_.leader_id(), 2);
}

TEST_F(AppendTest, OneHopOnly) {
  std::atomic<int> at_two{0};
  OnAppend(&one_, [](const shard::AppendCall& call) { call.done(NotLeaderResult(2)); });
  OnAppend(&two_, [&](const shard::AppendCall& call) {
    ++at_two;
    call.done(NotLeaderResult(0));
  });
  v1::AppendRequest request = Request();
  request.mutable_timeout()->set_nanos(300'000'000);
  const grpc::Status status = Append(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  ExpectRefused(status, v1::ERROR_REASON_LEADER_NOT_AVAILABLE);
  EXPECT_GT(at_two.load(), 0);
}

TEST_F(AppendTest, WhatWasForwardedIsAnsweredWithAHintAtOnce) {
  OnAppend(&one_, [](const shard::AppendCall& call) { call.done(NotLeaderResult(2)); });
  OnAppend(&two_, [](const shard::AppendCall& call) {
    ADD_FAILURE() << "a second hop";
    call.done(Committed(0, 2));
  });
  v1::AppendRequest request = Request();
  request.set_forwarded_by(2);
  const grpc::Status status = Append(request);
  ExpectRefused(status, v1::ERROR_REASON_NOT_LEADER);
  const google::rpc::Status rpc = RpcStatusOf(status);
  EXPECT_EQ(MetadataNumber(rpc, "leader_id"), 2);
  EXPECT_EQ(MetadataNumber(rpc, "leader_epoch"), 3);
  EXPECT_EQ(ErrorInfoOf(rpc)->metadata().at("leader_endpoint"), "host-2:7101");
}

TEST_F(AppendTest, AClientThatForbidsForwardingGetsTheHint) {
  OnAppend(&one_, [](const shard::AppendCall& call) { call.done(NotLeaderResult(2)); });
  v1::AppendRequest request = Request();
  request.set_no_forward(true);
  ExpectRefused(Append(request), v1::ERROR_REASON_NOT_LEADER);
}

TEST_F(AppendTest, ALeaderThatAppearsInTimeIsFound) {
  std::atomic<int> asked{0};
  OnAppend(&one_, [&](const shard::AppendCall& call) {
    call.done(++asked < 4 ? NotLeaderResult(0) : Committed(9, 1));
  });
  OnAppend(&two_, [](const shard::AppendCall& call) { call.done(NotLeaderResult(0)); });
  ASSERT_TRUE(Append(Request()).ok());
  EXPECT_EQ(response_.base_offset(), 9);
}

TEST_F(AppendTest, ARefusalOfTheLeaderComesBackAsItIs) {
  LeadAtTwo([](const shard::AppendCall& call) {
    shard::AppendResult result = NotLeaderResult(2);
    result.error = raft::RaftError::kThrottled;
    call.done(result);
  });
  const grpc::Status status = Append(Request());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ExpectRefused(status, v1::ERROR_REASON_THROTTLED);
}

TEST_F(AppendTest, AnAppendThatComesTooLateToTheLogIsRefused) {
  LeadAtTwo([](const shard::AppendCall& call) {
    shard::AppendResult result = NotLeaderResult(2);
    result.error = raft::RaftError::kRequestTimedOut;
    call.done(result);
  });
  const grpc::Status status = Append(Request());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  ExpectRefused(status, v1::ERROR_REASON_REQUEST_TIMED_OUT);
}

TEST_F(AppendTest, ALostConnectionIsUnknownAndNothingIsRepeated) {
  std::atomic<int> appends{0};
  Latch arrived;
  std::vector<shard::AppendCall> held;
  LeadAtTwo([&](shard::AppendCall call) {
    ++appends;
    held.push_back(std::move(call));
    arrived.Set();
  });
  Latch answered;
  grpc::Status status;
  grpc::ClientContext context;
  const v1::AppendRequest request = Request();
  one_.log().async()->Append(&context, &request, &response_, [&](const grpc::Status& got) {
    status = got;
    answered.Set();
  });
  ASSERT_TRUE(arrived.Wait());
  // Node 1 has lost its way to node 2; nobody knows what node 2 does with the append.
  one_.calls.CancelAndWait();
  ASSERT_TRUE(answered.Wait());
  ExpectUnknown(status);
  EXPECT_EQ(appends.load(), 1);
  for (const shard::AppendCall& call : held) call.done(Committed(5, 2));
}

TEST_F(AppendTest, ATimeOutOnTheWayIsUnknownAndNothingIsRepeated) {
  std::atomic<int> appends{0};
  std::vector<shard::AppendCall> held;
  LeadAtTwo([&](shard::AppendCall call) {
    ++appends;
    held.push_back(std::move(call));
  });
  v1::AppendRequest request = Request();
  request.mutable_timeout()->set_nanos(200'000'000);
  ExpectUnknown(Append(request));
  EXPECT_EQ(appends.load(), 1);
  for (const shard::AppendCall& call : held) call.done(Committed(5, 2));
}

TEST_F(AppendTest, ALeaderThatIsDownIsAskedForElsewhere) {
  LeadAtTwo([](const shard::AppendCall& call) { call.done(Committed(1, 2)); });
  // Node 2 is gone, and this node's own replica becomes the leader.
  one_.addresses.Set(NodeId(2), "127.0.0.1:1");
  OnAppend(&one_, [](const shard::AppendCall& call) { call.done(Committed(30, 1)); });
  ASSERT_TRUE(Append(Request()).ok());
  EXPECT_EQ(response_.base_offset(), 30);
}

TEST_F(AppendTest, ANodeThatShutsDownRefuses) {
  one_.parts.shutting_down.store(true);
  const grpc::Status status = Append(Request());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  ExpectRefused(status, v1::ERROR_REASON_SHUTTING_DOWN);
}

TEST_F(AppendTest, ABatchHasEachOutcomeByItself) {
  OnAppend(&one_, [](const shard::AppendCall& call) {
    shard::AppendResult result = Committed(40, 1);
    if (call.partition == Orders(1)) result.outcome = shard::AppendResult::Outcome::kUnknown;
    call.done(result);
  });
  v1::AppendBatchRequest request;
  v1::AppendBatchRequest::Topic* topic = request.add_topics();
  topic->set_topic("orders");
  for (const uint32_t index : {0u, 1u, 2u, 2u, 9u}) {
    v1::AppendBatchRequest::Partition* partition = topic->add_partitions();
    partition->set_partition(index);
    partition->add_records()->set_value("v");
  }
  request.add_topics()->set_topic("nothing");
  request.mutable_topics(1)->add_partitions()->set_partition(0);
  request.mutable_topics(1)->mutable_partitions(0)->add_records()->set_value("v");
  topic->add_partitions()->add_records()->set_value("no index");

  grpc::ClientContext context;
  v1::AppendBatchResponse response;
  ASSERT_TRUE(one_.log().AppendBatch(&context, request, &response).ok());
  ASSERT_EQ(response.topics_size(), 2);
  const auto& entries = response.topics(0).partitions();
  ASSERT_EQ(entries.size(), 6);
  EXPECT_EQ(entries[0].committed().base_offset(), 40);
  EXPECT_TRUE(HasReason(entries[1].unknown(), v1::ERROR_REASON_COMMIT_UNKNOWN));
  EXPECT_TRUE(HasReason(entries[2].refused(), v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_TRUE(HasReason(entries[3].refused(), v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_TRUE(HasReason(entries[4].refused(), v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_TRUE(HasReason(entries[5].refused(), v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_FALSE(entries[5].has_partition());
  EXPECT_TRUE(HasReason(response.topics(1).partitions(0).refused(),
                        v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION));
}

// --- producers and conditions

shard::AppendResult RefusedFor(shard::AppendRefusal refusal) {
  shard::AppendResult result;
  result.refusal = refusal;
  result.producer_epoch = 9;
  result.expected_sequence = 41;
  result.committed_end = Offset(77);
  return result;
}

TEST_F(AppendTest, AStampAndAConditionGoToTheShard) {
  OnAppend(&one_, [](const shard::AppendCall& call) {
    EXPECT_EQ(call.draft.producer, (ProducerStamp{7, 1, 40}));
    EXPECT_EQ(call.expected_offset, Offset(5));
    shard::AppendResult result = Committed(5, 1);
    result.duplicate = true;
    call.done(result);
  });
  v1::AppendRequest request = StampedRequest();
  request.set_expected_offset(5);
  ASSERT_TRUE(Append(request).ok());
  EXPECT_TRUE(response_.duplicate());
  EXPECT_EQ(response_.base_offset(), 5);
}

TEST_F(AppendTest, AStampAndAConditionGoOverTheHop) {
  LeadAtTwo([](const shard::AppendCall& call) {
    EXPECT_EQ(call.draft.producer, (ProducerStamp{7, 1, 40}));
    EXPECT_EQ(call.expected_offset, Offset(5));
    shard::AppendResult result = Committed(5, 2);
    result.duplicate = true;
    call.done(result);
  });
  v1::AppendRequest request = StampedRequest();
  request.set_expected_offset(5);
  ASSERT_TRUE(Append(request).ok());
  EXPECT_TRUE(response_.duplicate());
}

TEST_F(AppendTest, WhyABatchDoesNotFollowTheLogIsTold) {
  struct Case {
    shard::AppendRefusal refusal;
    v1::ErrorReason reason;
    grpc::StatusCode code;
    const char* key;
    const char* value;
  };
  const Case cases[] = {
      {shard::AppendRefusal::kProducerFenced, v1::ERROR_REASON_PRODUCER_FENCED,
       grpc::StatusCode::FAILED_PRECONDITION, "producer_epoch", "9"},
      {shard::AppendRefusal::kOutOfOrderSequence, v1::ERROR_REASON_OUT_OF_ORDER_SEQUENCE,
       grpc::StatusCode::FAILED_PRECONDITION, "expected_sequence", "41"},
      {shard::AppendRefusal::kUnknownProducer, v1::ERROR_REASON_UNKNOWN_PRODUCER,
       grpc::StatusCode::FAILED_PRECONDITION, nullptr, nullptr},
      {shard::AppendRefusal::kOffsetMismatch, v1::ERROR_REASON_OFFSET_MISMATCH,
       grpc::StatusCode::ABORTED, "log_end", "77"},
  };
  for (const bool forwarded : {false, true}) {
    for (const Case& expected : cases) {
      const auto refuse = [&](const shard::AppendCall& call) {
        call.done(RefusedFor(expected.refusal));
      };
      if (forwarded) {
        LeadAtTwo(refuse);
      } else {
        OnAppend(&one_, refuse);
      }
      const grpc::Status status = Append(StampedRequest());
      EXPECT_EQ(status.error_code(), expected.code);
      ExpectRefused(status, expected.reason);
      if (expected.key == nullptr) continue;
      EXPECT_EQ(ErrorInfoOf(RpcStatusOf(status))->metadata().at(expected.key), expected.value);
    }
  }
}

TEST_F(AppendTest, ABatchOfAProducerIsSentAgainAfterAnUnknownOutcome) {
  std::atomic<int> appends{0};
  LeadAtTwo([&](const shard::AppendCall& call) {
    shard::AppendResult result = Committed(5, 2);
    if (++appends == 1) result.outcome = shard::AppendResult::Outcome::kUnknown;
    result.duplicate = true;
    call.done(result);
  });
  ASSERT_TRUE(Append(StampedRequest()).ok());
  EXPECT_EQ(appends.load(), 2);
  EXPECT_TRUE(response_.duplicate());
}

TEST_F(AppendTest, ABatchOfAProducerOfThisNodesOwnReplicaIsSentAgainToo) {
  std::atomic<int> appends{0};
  OnAppend(&one_, [&](const shard::AppendCall& call) {
    shard::AppendResult result = Committed(5, 1);
    if (++appends == 1) result.outcome = shard::AppendResult::Outcome::kUnknown;
    call.done(result);
  });
  ASSERT_TRUE(Append(StampedRequest()).ok());
  EXPECT_EQ(appends.load(), 2);
}

// The first attempt may be in the log, whatever the second one is told.
TEST_F(AppendTest, AfterAnUnknownOutcomeARefusalProvesNothing) {
  std::atomic<int> appends{0};
  LeadAtTwo([&](const shard::AppendCall& call) {
    shard::AppendResult result = Committed(5, 2);
    result.outcome = shard::AppendResult::Outcome::kUnknown;
    if (++appends > 1) result = RefusedFor(shard::AppendRefusal::kProducerFenced);
    call.done(result);
  });
  ExpectUnknown(Append(StampedRequest()));
  EXPECT_EQ(appends.load(), 2);
}

TEST_F(AppendTest, AfterAnUnknownOutcomeThereMayBeNoLeaderAnyMore) {
  std::atomic<int> appends{0};
  LeadAtTwo([&](const shard::AppendCall& call) {
    shard::AppendResult result = NotLeaderResult(0);
    if (++appends == 1) result.outcome = shard::AppendResult::Outcome::kUnknown;
    call.done(result);
  });
  v1::AppendRequest request = StampedRequest();
  request.mutable_timeout()->set_nanos(300'000'000);
  ExpectUnknown(Append(request));
  EXPECT_GT(appends.load(), 1);
}

TEST_F(AppendTest, WhereForwardingIsForbiddenNothingIsRepeated) {
  std::atomic<int> appends{0};
  OnAppend(&one_, [&](const shard::AppendCall& call) {
    shard::AppendResult result = Committed(5, 1);
    result.outcome = shard::AppendResult::Outcome::kUnknown;
    ++appends;
    call.done(result);
  });
  v1::AppendRequest request = StampedRequest();
  request.set_no_forward(true);
  ExpectUnknown(Append(request));
  request.set_no_forward(false);
  request.set_forwarded_by(2);
  ExpectUnknown(Append(request));
  EXPECT_EQ(appends.load(), 2);
}

}  // namespace
}  // namespace quorum::transport
