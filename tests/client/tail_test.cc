// Tails through failovers, against scripted nodes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/quorum_client.h"
#include "tests/client/fake_node.h"

namespace quorum::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

std::unique_ptr<QuorumClient> ClientOf(std::vector<std::string> bootstrap) {
  ClientOptions options;
  options.bootstrap = std::move(bootstrap);
  options.spread = false;
  options.seed = 1;
  return std::make_unique<QuorumClient>(options);
}

TailSpec SpecFrom(TailStart start) {
  TailSpec spec;
  spec.partition = {"orders", 0};
  spec.start = start;
  return spec;
}

// What a tail delivered.
struct Heard {
  std::vector<int64_t> offsets;
  std::vector<std::string> values;
  bool ended = false;
  std::optional<Error> failure;
};

// Reads until the end, a failure, or `records` records; an event must come within 20 s.
Heard Hear(TailReader& reader, size_t records = SIZE_MAX) {
  Heard heard;
  while (heard.offsets.size() < records && !heard.ended && !heard.failure.has_value()) {
    const std::optional<TailEvent> event = reader.Next(seconds(20));
    if (!event.has_value()) {
      ADD_FAILURE() << "no event after " << heard.offsets.size() << " records";
      break;
    }
    if (const auto* delivered = std::get_if<TailRecords>(&*event)) {
      for (const TailRecord& record : delivered->records) {
        heard.offsets.push_back(record.offset.value());
        heard.values.push_back(record.record.value());
      }
    }
    heard.ended = std::holds_alternative<TailEnd>(*event);
    if (const auto* failure = std::get_if<TailFailure>(&*event)) heard.failure = failure->error;
  }
  return heard;
}

auto Send(std::vector<v1::TailResponse> messages, grpc::Status status) {
  return [messages, status](grpc::ServerContext*, const v1::TailRequest&, TailWriter writer) {
    for (const v1::TailResponse& message : messages) writer->Write(message);
    return status;
  };
}

auto SendAndHang(std::vector<v1::TailResponse> messages) {
  return [messages](grpc::ServerContext* context, const v1::TailRequest&, TailWriter writer) {
    for (const v1::TailResponse& message : messages) writer->Write(message);
    return HangUntilCancelled(context);
  };
}

const grpc::Status kBroken(grpc::StatusCode::UNAVAILABLE, "the relay ended");

TEST(TailTest, StreamThatBreaks_IsResumedWithoutGapOrRepeat) {
  FakeNode node;
  node.tail.Then(Send({RecordsMessage(0, 2, 9)}, kBroken));
  node.tail.Then(Send({}, kBroken));
  // A node that repeats what was delivered.
  node.tail.Then(Send({RecordsMessage(1, 4, 9)}, kBroken));
  node.tail.Then(SendAndHang({RecordsMessage(5, 6, 9)}));
  const auto client = ClientOf({node.address()});
  const auto reader = client->Tail(SpecFrom(TailFromEarliest()));
  const Heard heard = Hear(*reader, 7);
  EXPECT_THAT(heard.offsets, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(heard.values, ElementsAre("v0", "v1", "v2", "v3", "v4", "v5", "v6"));
  const auto requests = node.tail.requests();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_TRUE(requests[0].earliest());
  EXPECT_EQ(requests[1].offset(), 3);
  EXPECT_EQ(requests[2].offset(), 3);
  EXPECT_EQ(requests[3].offset(), 5);
}

TEST(TailTest, NodeThatDies_IsReplaced) {
  FakeNode first;
  FakeNode second;
  first.tail.Always(SendAndHang({RecordsMessage(0, 2, 9)}));
  second.tail.Always(SendAndHang({RecordsMessage(3, 5, 9)}));
  const auto client = ClientOf({first.address(), second.address()});
  const auto reader = client->Tail(SpecFrom(Offset(0)));
  EXPECT_THAT(Hear(*reader, 3).offsets, ElementsAre(0, 1, 2));
  first.Kill();
  EXPECT_THAT(Hear(*reader, 3).offsets, ElementsAre(3, 4, 5));
  ASSERT_EQ(second.tail.requests().size(), 1u);
  EXPECT_EQ(second.tail.requests()[0].offset(), 3);
}

TEST(TailTest, SilentNode_IsReplaced) {
  FakeNode silent;
  FakeNode node;
  silent.tail.Always(SendAndHang({}));
  node.tail.Always(SendAndHang({RecordsMessage(0, 0, 1)}));
  TailSpec spec = SpecFrom(Offset(0));
  spec.progress_interval = milliseconds(100);
  const auto client = ClientOf({silent.address(), node.address()});
  const auto reader = client->Tail(spec);
  EXPECT_THAT(Hear(*reader, 1).offsets, ElementsAre(0));
}

TEST(TailTest, MaxRecords_EndsOverTwoStreams) {
  FakeNode node;
  node.tail.Then(Send({RecordsMessage(0, 2, 9)}, kBroken));
  node.tail.Then(Send({RecordsMessage(3, 4, 9)}, grpc::Status::OK));
  TailSpec spec = SpecFrom(Offset(0));
  spec.max_records = 5;
  const auto client = ClientOf({node.address()});
  const auto reader = client->Tail(spec);
  const Heard heard = Hear(*reader);
  EXPECT_TRUE(heard.ended);
  EXPECT_THAT(heard.offsets, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(node.tail.requests()[1].max_records(), 2);
  EXPECT_FALSE(reader->Next(Duration(0)).has_value()) << "the end is the last event";
}

TEST(TailTest, CleanEndBeforeTheEnd_IsResumed) {
  FakeNode node;
  node.tail.Then(Send({RecordsMessage(0, 0, 9)}, grpc::Status::OK));
  node.tail.Always(SendAndHang({RecordsMessage(1, 1, 9)}));
  const auto client = ClientOf({node.address()});
  const auto reader = client->Tail(SpecFrom(Offset(0)));
  EXPECT_THAT(Hear(*reader, 2).offsets, ElementsAre(0, 1));
}

TEST(TailTest, UntilHighWatermark_Ends) {
  FakeNode node;
  node.tail.Always(Send({RecordsMessage(0, 1, 2)}, grpc::Status::OK));
  TailSpec spec = SpecFrom(Offset(0));
  spec.until_high_watermark = true;
  const auto client = ClientOf({node.address()});
  const auto reader = client->Tail(spec);
  const Heard heard = Hear(*reader);
  EXPECT_TRUE(heard.ended);
  EXPECT_THAT(heard.offsets, ElementsAre(0, 1));
}

TEST(TailTest, NotLeaderWithHint_IsFollowed) {
  FakeNode other;
  FakeNode node;
  FakeError error{google::rpc::UNAVAILABLE, "NOT_LEADER"};
  error.metadata = {{"leader_id", "2"}, {"leader_endpoint", node.address()}};
  other.tail.Always(Send({}, ToStatus(error)));
  node.tail.Always(SendAndHang({RecordsMessage(0, 0, 1)}));
  const auto client = ClientOf({other.address()});
  const auto reader = client->Tail(SpecFrom(Offset(0)));
  EXPECT_THAT(Hear(*reader, 1).offsets, ElementsAre(0));
}

TEST(TailTest, UnknownTopic_Fails) {
  FakeNode node;
  node.tail.Always(Send({}, ToStatus({google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION"})));
  const auto client = ClientOf({node.address()});
  const auto reader = client->Tail(SpecFrom(Offset(0)));
  const Heard heard = Hear(*reader);
  ASSERT_TRUE(heard.failure.has_value());
  EXPECT_EQ(heard.failure->reason, v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(node.tail.requests().size(), 1u);
}

TEST(TailTest, NobodyServes_FailsAfterTheTimeout) {
  FakeNode dead;
  dead.Kill();
  CallOptions options;
  options.timeout = milliseconds(300);
  const auto client = ClientOf({dead.address()});
  const auto reader = client->Tail(SpecFrom(Offset(0)), options);
  const Heard heard = Hear(*reader);
  ASSERT_TRUE(heard.failure.has_value());
  EXPECT_EQ(heard.failure->origin, Error::Origin::kNotSent);
}

TEST(TailTest, SlowReader_GetsEverythingInOrder) {
  constexpr int64_t kMessages = 400;
  FakeNode node;
  node.tail.Always([](grpc::ServerContext* context, const v1::TailRequest&, TailWriter writer) {
    for (int64_t i = 0; i < kMessages; ++i) writer->Write(RecordsMessage(i, i, kMessages));
    return HangUntilCancelled(context);
  });
  const auto client = ClientOf({node.address()});
  const auto reader = client->Tail(SpecFrom(Offset(0)));
  const Heard heard = Hear(*reader, kMessages);
  ASSERT_EQ(heard.offsets.size(), static_cast<size_t>(kMessages));
  for (int64_t i = 0; i < kMessages; ++i) EXPECT_EQ(heard.offsets[static_cast<size_t>(i)], i);
}

TEST(TailTest, ReaderThatReadsNothing_CanBeDestroyed) {
  FakeNode node;
  node.tail.Always([](grpc::ServerContext* context, const v1::TailRequest&, TailWriter writer) {
    int64_t offset = 0;
    while (!context->IsCancelled() && writer->Write(RecordsMessage(offset, offset, offset + 1))) {
      ++offset;
    }
    return grpc::Status::CANCELLED;
  });
  const auto client = ClientOf({node.address()});
  auto reader = client->Tail(SpecFrom(Offset(0)));
  ASSERT_TRUE(node.tail.Await(1));
  ASSERT_TRUE(reader->Next(seconds(10)).has_value());
  reader.reset();
}

TEST(TailTest, ReaderAfterTheClient_HearsItsEnd) {
  FakeNode node;
  node.tail.Always(SendAndHang({}));
  auto client = ClientOf({node.address()});
  const auto reader = client->Tail(SpecFrom(Offset(0)));
  ASSERT_TRUE(node.tail.Await(1));
  client.reset();
  const Heard heard = Hear(*reader);
  ASSERT_TRUE(heard.failure.has_value());
  EXPECT_EQ(heard.failure->code, google::rpc::CANCELLED);
}

TEST(TailTest, ProgressAndReset_AreDelivered) {
  FakeNode node;
  v1::TailResponse progress;
  progress.mutable_progress()->set_high_watermark(4);
  progress.mutable_progress()->set_leader_epoch(3);
  progress.mutable_progress()->set_caught_up(true);
  progress.mutable_progress()->set_next_offset(4);
  progress.mutable_progress()->mutable_stalled()->set_reason("LEADER_NOT_AVAILABLE");
  v1::TailResponse reset;
  reset.mutable_reset()->set_start_offset(6);
  node.tail.Always(SendAndHang({progress, reset}));
  const auto client = ClientOf({node.address()});
  const auto reader = client->Tail(SpecFrom(TailFromLatest()));
  const auto first = reader->Next(seconds(20));
  ASSERT_TRUE(first.has_value());
  const auto* told = std::get_if<TailProgress>(&*first);
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->high_watermark, Offset(4));
  EXPECT_EQ(told->leader_epoch, Epoch(3));
  EXPECT_TRUE(told->caught_up);
  EXPECT_EQ(told->stalled, "LEADER_NOT_AVAILABLE");
  const auto second = reader->Next(seconds(20));
  ASSERT_TRUE(second.has_value());
  const auto* moved = std::get_if<TailReset>(&*second);
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(moved->offset, Offset(6));
}

}  // namespace
}  // namespace quorum::client
