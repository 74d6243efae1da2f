// Tail and ListOffsets over a real connection: served here, relayed or forwarded one hop.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quorum/v1/log.grpc.pb.h"
#include "service/base/overloaded.h"
#include "service/transport/call_error.h"
#include "tests/service/transport/client_node.h"
#include "tests/service/transport/random_messages.h"

namespace quorum::transport {
namespace {

// A log of batches of two records, as a replica shows it.
class FakeLog {
 public:
  explicit FakeLog(PartitionId partition, int64_t batches, size_t value_size = 10) {
    for (int64_t i = 0; i < batches; ++i) {
      batches_.push_back(MakeBatch(partition, Offset(2 * i), value_size));
    }
    description_.role = raft::RoleKind::kLeader;
    description_.ready_leader = true;
    description_.hint = {KeyOf(1), Epoch(3)};
    description_.high_watermark = Offset(2 * batches);
    description_.exposed = Offset(2 * batches);
    description_.log_end = Offset(2 * batches);
  }

  // Answers reads and questions; what would wait is held.
  void Serve(shard::ShardCall call) {
    std::visit(Overloaded{
                   [this](shard::DescribeCall& describe) {
                     shard::PartitionDescription answer = description_;
                     answer.partition = describe.partition;
                     describe.done(answer);
                   },
                   [this](shard::ReadCall& read) { Read(std::move(read)); },
                   [](auto& /*other*/) { ADD_FAILURE() << "not a call of a reader"; },
               },
               call);
  }

  shard::PartitionDescription& description() { return description_; }
  std::vector<shard::ReadCall> held;
  // Answers the next reads with this error.
  raft::RaftError error = raft::RaftError::kNone;

 private:
  void Read(shard::ReadCall read) {
    shard::ReadResult result;
    result.error = error;
    result.next = read.from;
    result.exposed = description_.exposed;
    result.high_watermark = description_.high_watermark;
    result.log_start = description_.log_start;
    result.hint = description_.hint;
    result.below_log_start = read.from < description_.log_start;
    if (!result.below_log_start) {
      for (const RecordBatch& batch : batches_) {
        if (batch.next_offset() <= read.from || result.batches.size() >= 2) continue;
        result.batches.push_back(batch);
        result.next = batch.next_offset();
      }
    }
    const bool news = read.seen_epoch != result.hint.epoch;
    if (result.batches.empty() && !result.below_log_start && !news &&
        error == raft::RaftError::kNone) {
      held.push_back(std::move(read));
      return;
    }
    read.done(result);
  }

  std::vector<RecordBatch> batches_;
  shard::PartitionDescription description_;
};

class ReadTest : public testing::Test {
 protected:
  ReadTest() {
    one_.Knows(two_);
    two_.Knows(one_);
  }

  static v1::TailRequest Request() {
    v1::TailRequest request;
    request.set_topic("orders");
    request.set_partition(0);
    request.set_earliest(true);
    return request;
  }

  static void Serve(ClientNode* node, FakeLog* log) {
    node->shards.on_call = [log](shard::ShardCall call) { log->Serve(std::move(call)); };
  }

  // The node has no replica.
  static void ServeNothing(ClientNode* node) {
    node->shards.on_call = [](shard::ShardCall call) {
      shard::PartitionDescription answer;
      answer.error = raft::RaftError::kUnknownTopicOrPartition;
      std::get<shard::DescribeCall>(call).done(answer);
    };
  }

  // Reads to the end, or until `messages` have come.
  struct Stream {
    std::vector<v1::TailResponse> messages;
    std::vector<int64_t> offsets;
    grpc::Status status;
  };
  static Stream Tail(ClientNode* node, const v1::TailRequest& request, size_t messages = 1000) {
    Stream stream;
    grpc::ClientContext context;
    const auto reader = node->log().Tail(&context, request);
    v1::TailResponse message;
    while (stream.messages.size() < messages && reader->Read(&message)) {
      for (const v1::RecordBatch& batch : message.records().batches()) {
        for (const v1::Record& record : batch.records()) {
          stream.offsets.push_back(batch.base_offset() + record.offset_delta());
        }
      }
      stream.messages.push_back(message);
    }
    if (stream.messages.size() == messages) context.TryCancel();
    stream.status = reader->Finish();
    return stream;
  }

  ClientNode one_{1};
  ClientNode two_{2};
};

TEST_F(ReadTest, ATailIsServedFromTheOwnReplica) {
  FakeLog log(Orders(0), 3);
  Serve(&one_, &log);
  v1::TailRequest request = Request();
  request.set_offset(1);
  request.set_max_records(4);
  const Stream stream = Tail(&one_, request);
  EXPECT_TRUE(stream.status.ok()) << stream.status.error_message();
  EXPECT_EQ(stream.offsets, (std::vector<int64_t>{1, 2, 3, 4}));
  ASSERT_GE(stream.messages.size(), 2u);
  EXPECT_TRUE(stream.messages[0].has_progress());
  EXPECT_EQ(stream.messages[0].progress().high_watermark(), 6);
  EXPECT_EQ(stream.messages[0].progress().leader_epoch(), 3);
  EXPECT_EQ(stream.messages.back().records().next_offset(), 5);
}

TEST_F(ReadTest, ATailToTheWatermarkEnds) {
  FakeLog log(Orders(0), 5, 100'000);
  Serve(&one_, &log);
  v1::TailRequest request = Request();
  request.set_until_high_watermark(true);
  const Stream stream = Tail(&one_, request);
  EXPECT_TRUE(stream.status.ok());
  EXPECT_EQ(stream.offsets.size(), 10u);
}

TEST_F(ReadTest, ATailThatHasCaughtUpSaysSoAndWaits) {
  FakeLog log(Orders(0), 1);
  Serve(&one_, &log);
  const Stream stream = Tail(&one_, Request(), 3);
  ASSERT_EQ(stream.messages.size(), 3u);
  EXPECT_FALSE(stream.messages[0].progress().caught_up());
  EXPECT_TRUE(stream.messages[1].has_records());
  EXPECT_TRUE(stream.messages[2].progress().caught_up());
  EXPECT_EQ(stream.messages[2].progress().next_offset(), 2);
}

TEST_F(ReadTest, APositionBelowTheLogIsResetToItsStart) {
  FakeLog log(Orders(0), 3);
  log.description().log_start = Offset(4);
  Serve(&one_, &log);
  v1::TailRequest request = Request();
  request.set_offset(0);
  request.set_max_records(2);
  const Stream stream = Tail(&one_, request);
  EXPECT_TRUE(stream.status.ok());
  EXPECT_EQ(stream.offsets, (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(stream.messages[0].reset().start_offset(), 4);
}

TEST_F(ReadTest, AReadThatComesTooLateFindsTheStreamGone) {
  FakeLog log(Orders(0), 1);
  Serve(&one_, &log);
  (void)Tail(&one_, Request(), 3);
  one_.Stop();
  for (const shard::ReadCall& read : log.held) read.done(shard::ReadResult{});
}

TEST_F(ReadTest, ANodeWithoutReplicaRelays) {
  FakeLog log(Orders(0), 3);
  ServeNothing(&one_);
  Serve(&two_, &log);
  v1::TailRequest request = Request();
  request.set_max_records(5);
  const Stream stream = Tail(&one_, request);
  EXPECT_TRUE(stream.status.ok()) << stream.status.error_message();
  EXPECT_EQ(stream.offsets, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST_F(ReadTest, ARelayEndsUnavailableWithTheNodeThatServes) {
  FakeLog log(Orders(0), 1);
  ServeNothing(&one_);
  Serve(&two_, &log);
  grpc::ClientContext context;
  const auto reader = one_.log().Tail(&context, Request());
  v1::TailResponse message;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader->Read(&message));
  two_.Stop();
  EXPECT_FALSE(reader->Read(&message));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ReadTest, ARelayThatIsCancelledEndsAtBothNodes) {
  FakeLog log(Orders(0), 1);
  ServeNothing(&one_);
  Serve(&two_, &log);
  const Stream stream = Tail(&one_, Request(), 3);
  EXPECT_EQ(stream.status.error_code(), grpc::StatusCode::CANCELLED);
  one_.Stop();
  two_.Stop();
}

TEST_F(ReadTest, ARelayIsOneHopOnly) {
  ServeNothing(&one_);
  ServeNothing(&two_);
  v1::TailRequest request = Request();
  request.set_forwarded_by(2);
  const google::rpc::Status without = RpcStatusOf(Tail(&one_, request).status);
  EXPECT_TRUE(HasReason(without, v1::ERROR_REASON_NOT_LEADER));
  EXPECT_FALSE(MetadataNumber(without, "leader_id").has_value());
  one_.hints.Note(Orders(0), {KeyOf(2), Epoch(3)});
  const google::rpc::Status with = RpcStatusOf(Tail(&one_, request).status);
  EXPECT_TRUE(HasReason(with, v1::ERROR_REASON_NOT_LEADER));
  EXPECT_EQ(MetadataNumber(with, "leader_id"), 2);
}

TEST_F(ReadTest, ATailOfWhatDoesNotExistIsRefused) {
  v1::TailRequest request = Request();
  request.set_topic("nothing");
  EXPECT_EQ(Tail(&one_, request).status.error_code(), grpc::StatusCode::NOT_FOUND);
  request = Request();
  request.set_partition(3);
  EXPECT_EQ(Tail(&one_, request).status.error_code(), grpc::StatusCode::NOT_FOUND);
  request = Request();
  request.set_offset(-1);
  EXPECT_EQ(Tail(&one_, request).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request = Request();
  request.set_cluster_id("c-2");
  EXPECT_EQ(Tail(&one_, request).status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(ReadTest, AQuarantinedReplicaIsNotRead) {
  FakeLog log(Orders(0), 3);
  log.error = raft::RaftError::kBrokerNotAvailable;
  Serve(&one_, &log);
  EXPECT_TRUE(
      HasReason(RpcStatusOf(Tail(&one_, Request()).status), v1::ERROR_REASON_STORAGE_FAILED));
}

v1::ListOffsetsResponse ListOffsets(ClientNode* node, const v1::ListOffsetsRequest& request) {
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_millis(3'000, GPR_TIMESPAN));
  v1::ListOffsetsResponse response;
  const grpc::Status status = node->log().ListOffsets(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

TEST_F(ReadTest, OffsetsComeFromTheLeadersWhereverTheyAre) {
  FakeLog log(Orders(0), 3);
  FakeLog other(Orders(1), 4);
  other.description().hint.leader = KeyOf(2);
  // Node 1 leads partition 0 and follows in the others.
  one_.shards.on_call = [&](shard::ShardCall call) {
    shard::DescribeCall& describe = std::get<shard::DescribeCall>(call);
    shard::PartitionDescription answer = log.description();
    if (describe.partition != Orders(0)) {
      answer = other.description();
      answer.role = raft::RoleKind::kFollower;
    }
    describe.done(answer);
  };
  Serve(&two_, &other);
  v1::ListOffsetsRequest request;
  request.add_topics()->set_topic("orders");
  request.add_topics()->set_topic("nothing");
  request.add_topics()->set_topic("orders");
  request.mutable_topics(2)->add_partitions(7);
  const v1::ListOffsetsResponse response = ListOffsets(&one_, request);
  ASSERT_EQ(response.topics_size(), 3);
  ASSERT_EQ(response.topics(0).partitions_size(), 3);
  EXPECT_EQ(response.topics(0).partitions(0).latest_offset(), 6);
  EXPECT_EQ(response.topics(0).partitions(0).leader_id(), 1);
  EXPECT_EQ(response.topics(0).partitions(1).latest_offset(), 8);
  EXPECT_EQ(response.topics(0).partitions(2).leader_id(), 2);
  EXPECT_FALSE(response.topics(0).partitions(2).stale());
  EXPECT_TRUE(HasReason(response.topics(1).error(), v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION));
  EXPECT_TRUE(HasReason(response.topics(2).partitions(0).error(),
                        v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION));

  request.set_stale_ok(true);
  const v1::ListOffsetsResponse stale = ListOffsets(&one_, request);
  EXPECT_TRUE(stale.topics(0).partitions(1).stale());

  request.set_stale_ok(false);
  request.set_no_forward(true);
  const v1::ListOffsetsResponse stays = ListOffsets(&one_, request);
  EXPECT_FALSE(stays.topics(0).partitions(0).has_error());
  EXPECT_TRUE(HasReason(stays.topics(0).partitions(1).error(), v1::ERROR_REASON_NOT_LEADER));
  EXPECT_EQ(stays.topics(0).partitions(1).leader_id(), 2);
}

TEST_F(ReadTest, OffsetsThatNobodyKnowsAreAnErrorInTime) {
  FakeLog log(Orders(0), 3);
  log.description().role = raft::RoleKind::kFollower;
  log.description().hint.leader.reset();
  Serve(&one_, &log);
  Serve(&two_, &log);
  v1::ListOffsetsRequest request;
  request.add_topics()->set_topic("orders");
  const v1::ListOffsetsResponse response = ListOffsets(&one_, request);
  EXPECT_TRUE(
      HasReason(response.topics(0).partitions(0).error(), v1::ERROR_REASON_LEADER_NOT_AVAILABLE));
}

TEST_F(ReadTest, TooManyOffsetsAtOnceAreRefused) {
  v1::ListOffsetsRequest request;
  for (int i = 0; i < 6'000; ++i) request.add_topics()->set_topic("orders");
  grpc::ClientContext context;
  v1::ListOffsetsResponse response;
  EXPECT_EQ(one_.log().ListOffsets(&context, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace quorum::transport
