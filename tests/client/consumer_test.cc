// Reading through failovers, against scripted nodes.

#include "client/consumer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/admin.h"
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
  spec.tell_replayed = false;
  return spec;
}

// A consumer of one partition.
std::unique_ptr<Consumer> Reading(const QuorumClient& client, const TailSpec& spec,
                                  ConsumerOptions options = {}) {
  auto consumer = std::make_unique<Consumer>(client, std::move(options));
  consumer->Add(spec);
  return consumer;
}

// What a consumer delivered.
struct Heard {
  std::vector<int64_t> offsets;
  std::vector<std::string> values;
  bool ended = false;
  std::optional<Error> failure;
};

// Reads until the end, a failure, or `records` records; an event must come within 20 s.
Heard Hear(Consumer& consumer, size_t records = SIZE_MAX) {
  Heard heard;
  while (heard.offsets.size() < records && !heard.ended && !heard.failure.has_value()) {
    const std::optional<ConsumerEvent> next = consumer.Next(seconds(20));
    if (!next.has_value()) {
      ADD_FAILURE() << "no event after " << heard.offsets.size() << " records";
      break;
    }
    const TailEvent& event = next->event;
    if (const auto* delivered = std::get_if<TailRecords>(&event)) {
      for (const TailRecord& record : delivered->records) {
        heard.offsets.push_back(record.offset.value());
        heard.values.push_back(record.record.value());
      }
    }
    heard.ended = std::holds_alternative<TailEnd>(event);
    if (const auto* failure = std::get_if<TailFailure>(&event)) heard.failure = failure->error;
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

TEST(ConsumerTest, StreamThatBreaks_IsResumedWithoutGapOrRepeat) {
  FakeNode node;
  node.tail.Then(Send({RecordsMessage(0, 2, 9)}, kBroken));
  node.tail.Then(Send({}, kBroken));
  // A node that repeats what was delivered.
  node.tail.Then(Send({RecordsMessage(1, 4, 9)}, kBroken));
  node.tail.Then(SendAndHang({RecordsMessage(5, 6, 9)}));
  const auto client = ClientOf({node.address()});
  const auto consumer = Reading(*client, SpecFrom(TailFromEarliest()));
  const Heard heard = Hear(*consumer, 7);
  EXPECT_THAT(heard.offsets, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(heard.values, ElementsAre("v0", "v1", "v2", "v3", "v4", "v5", "v6"));
  const auto requests = node.tail.requests();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_TRUE(requests[0].earliest());
  EXPECT_EQ(requests[1].offset(), 3);
  EXPECT_EQ(requests[2].offset(), 3);
  EXPECT_EQ(requests[3].offset(), 5);
}

TEST(ConsumerTest, NodeThatDies_IsReplaced) {
  FakeNode first;
  FakeNode second;
  first.tail.Always(SendAndHang({RecordsMessage(0, 2, 9)}));
  second.tail.Always(SendAndHang({RecordsMessage(3, 5, 9)}));
  const auto client = ClientOf({first.address(), second.address()});
  const auto consumer = Reading(*client, SpecFrom(Offset(0)));
  EXPECT_THAT(Hear(*consumer, 3).offsets, ElementsAre(0, 1, 2));
  first.Kill();
  EXPECT_THAT(Hear(*consumer, 3).offsets, ElementsAre(3, 4, 5));
  ASSERT_EQ(second.tail.requests().size(), 1u);
  EXPECT_EQ(second.tail.requests()[0].offset(), 3);
}

TEST(ConsumerTest, SilentNode_IsReplaced) {
  FakeNode silent;
  FakeNode node;
  silent.tail.Always(SendAndHang({}));
  node.tail.Always(SendAndHang({RecordsMessage(0, 0, 1)}));
  TailSpec spec = SpecFrom(Offset(0));
  spec.progress_interval = milliseconds(100);
  const auto client = ClientOf({silent.address(), node.address()});
  const auto consumer = Reading(*client, spec);
  EXPECT_THAT(Hear(*consumer, 1).offsets, ElementsAre(0));
}

TEST(ConsumerTest, MaxRecords_EndsOverTwoStreams) {
  FakeNode node;
  node.tail.Then(Send({RecordsMessage(0, 2, 9)}, kBroken));
  node.tail.Then(Send({RecordsMessage(3, 4, 9)}, grpc::Status::OK));
  TailSpec spec = SpecFrom(Offset(0));
  spec.max_records = 5;
  const auto client = ClientOf({node.address()});
  const auto consumer = Reading(*client, spec);
  const Heard heard = Hear(*consumer);
  EXPECT_TRUE(heard.ended);
  EXPECT_THAT(heard.offsets, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(node.tail.requests()[1].max_records(), 2);
  EXPECT_FALSE(consumer->Next(Duration(0)).has_value()) << "the end is the last event";
}

TEST(ConsumerTest, CleanEndBeforeTheEnd_IsResumed) {
  FakeNode node;
  node.tail.Then(Send({RecordsMessage(0, 0, 9)}, grpc::Status::OK));
  node.tail.Always(SendAndHang({RecordsMessage(1, 1, 9)}));
  const auto client = ClientOf({node.address()});
  const auto consumer = Reading(*client, SpecFrom(Offset(0)));
  EXPECT_THAT(Hear(*consumer, 2).offsets, ElementsAre(0, 1));
}

TEST(ConsumerTest, UntilHighWatermark_Ends) {
  FakeNode node;
  node.tail.Always(Send({RecordsMessage(0, 1, 2)}, grpc::Status::OK));
  TailSpec spec = SpecFrom(Offset(0));
  spec.until_high_watermark = true;
  const auto client = ClientOf({node.address()});
  const auto consumer = Reading(*client, spec);
  const Heard heard = Hear(*consumer);
  EXPECT_TRUE(heard.ended);
  EXPECT_THAT(heard.offsets, ElementsAre(0, 1));
}

TEST(ConsumerTest, NotLeaderWithHint_IsFollowed) {
  FakeNode other;
  FakeNode node;
  FakeError error{google::rpc::UNAVAILABLE, "NOT_LEADER"};
  error.metadata = {{"leader_id", "2"}, {"leader_endpoint", node.address()}};
  other.tail.Always(Send({}, ToStatus(error)));
  node.tail.Always(SendAndHang({RecordsMessage(0, 0, 1)}));
  const auto client = ClientOf({other.address()});
  const auto consumer = Reading(*client, SpecFrom(Offset(0)));
  EXPECT_THAT(Hear(*consumer, 1).offsets, ElementsAre(0));
}

TEST(ConsumerTest, UnknownTopic_Fails) {
  FakeNode node;
  node.tail.Always(Send({}, ToStatus({google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION"})));
  const auto client = ClientOf({node.address()});
  const auto consumer = Reading(*client, SpecFrom(Offset(0)));
  const Heard heard = Hear(*consumer);
  ASSERT_TRUE(heard.failure.has_value());
  EXPECT_EQ(heard.failure->reason, v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(node.tail.requests().size(), 1u);
}

TEST(ConsumerTest, NobodyServes_FailsAfterTheTimeout) {
  FakeNode dead;
  dead.Kill();
  ConsumerOptions options;
  options.timeout = milliseconds(300);
  const auto client = ClientOf({dead.address()});
  const auto consumer = Reading(*client, SpecFrom(Offset(0)), options);
  const Heard heard = Hear(*consumer);
  ASSERT_TRUE(heard.failure.has_value());
  EXPECT_EQ(heard.failure->origin, Error::Origin::kNotSent);
}

TEST(ConsumerTest, SlowApplication_GetsEverythingInOrder) {
  constexpr int64_t kMessages = 400;
  FakeNode node;
  node.tail.Always([](grpc::ServerContext* context, const v1::TailRequest&, TailWriter writer) {
    for (int64_t i = 0; i < kMessages; ++i) writer->Write(RecordsMessage(i, i, kMessages));
    return HangUntilCancelled(context);
  });
  const auto client = ClientOf({node.address()});
  const auto consumer = Reading(*client, SpecFrom(Offset(0)));
  const Heard heard = Hear(*consumer, kMessages);
  ASSERT_EQ(heard.offsets.size(), static_cast<size_t>(kMessages));
  for (int64_t i = 0; i < kMessages; ++i) EXPECT_EQ(heard.offsets[static_cast<size_t>(i)], i);
}

TEST(ConsumerTest, ThatReadsNothing_CanBeDestroyed) {
  FakeNode node;
  node.tail.Always([](grpc::ServerContext* context, const v1::TailRequest&, TailWriter writer) {
    int64_t offset = 0;
    while (!context->IsCancelled() && writer->Write(RecordsMessage(offset, offset, offset + 1))) {
      ++offset;
    }
    return grpc::Status::CANCELLED;
  });
  const auto client = ClientOf({node.address()});
  auto consumer = Reading(*client, SpecFrom(Offset(0)));
  ASSERT_TRUE(node.tail.Await(1));
  ASSERT_TRUE(consumer->Next(seconds(10)).has_value());
  consumer.reset();
}

TEST(ConsumerTest, ThatReadsNothing_DoesNotHoldUpTheClientsEnd) {
  FakeNode node;
  std::atomic<int> written{0};
  node.tail.Always(
      [&written](grpc::ServerContext* context, const v1::TailRequest&, TailWriter writer) {
        v1::TailResponse message = RecordsMessage(0, 0, 2000);
        auto* batch = message.mutable_records()->mutable_batches(0);
        batch->mutable_records(0)->set_value(std::string(10'000, 'v'));
        for (int i = 0; i < 2000 && writer->Write(message); ++i) {
          batch->set_base_offset(i + 1);
          message.mutable_records()->set_next_offset(i + 2);
          ++written;
        }
        return HangUntilCancelled(context);
      });
  // The end comes at another moment each time: before, between and behind what is received.
  for (int round = 0; round < 60; ++round) {
    auto client = ClientOf({node.address()});
    ConsumerOptions options;
    options.buffer_bytes_max = 1;
    const auto consumer = Reading(*client, SpecFrom(Offset(0)), options);
    const int until = written + 1 + round % 6;
    while (written < until) std::this_thread::yield();
    client.reset();
  }
}

TEST(ConsumerTest, Destructor_WaitsForACallbackThatRuns) {
  FakeNode node;
  node.tail.Always([](auto...) { return grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone"); });
  const auto client = ClientOf({node.address()});
  std::atomic<bool> runs{false};
  std::atomic<bool> ending{false};
  ConsumerOptions options;
  options.on_retry = [&](const RetryNotice&) {
    runs = true;
    // Long enough for a destructor that does not wait.
    for (int i = 0; !ending || i < 100'000; ++i) std::this_thread::yield();
    runs = false;
  };
  auto consumer = Reading(*client, SpecFrom(Offset(0)), options);
  while (!runs) std::this_thread::yield();
  ending = true;
  consumer.reset();
  EXPECT_FALSE(runs);
}

TEST(ConsumerTest, AfterTheClient_HearsItsEnd) {
  FakeNode node;
  node.tail.Always(SendAndHang({}));
  auto client = ClientOf({node.address()});
  const auto consumer = Reading(*client, SpecFrom(Offset(0)));
  ASSERT_TRUE(node.tail.Await(1));
  client.reset();
  const Heard heard = Hear(*consumer);
  ASSERT_TRUE(heard.failure.has_value());
  EXPECT_EQ(heard.failure->code, google::rpc::CANCELLED);
}

TEST(ConsumerTest, ProgressAndReset_AreDelivered) {
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
  const auto consumer = Reading(*client, SpecFrom(TailFromLatest()));
  const auto first = consumer->Next(seconds(20));
  ASSERT_TRUE(first.has_value());
  const auto* told = std::get_if<TailProgress>(&first->event);
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->high_watermark, Offset(4));
  EXPECT_EQ(told->leader_epoch, Epoch(3));
  EXPECT_TRUE(told->caught_up);
  EXPECT_EQ(told->stalled, "LEADER_NOT_AVAILABLE");
  const auto second = consumer->Next(seconds(20));
  ASSERT_TRUE(second.has_value());
  const auto* moved = std::get_if<TailReset>(&second->event);
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(moved->offset, Offset(6));
}

// Answers ListOffsets with this high watermark.
auto LatestIs(int64_t offset) {
  return [offset](grpc::ServerContext*, const v1::ListOffsetsRequest&,
                  v1::ListOffsetsResponse* answer) {
    answer->add_topics()->add_partitions()->set_latest_offset(offset);
    return grpc::Status::OK;
  };
}

TailSpec ReplayFrom(TailStart start) {
  TailSpec spec = SpecFrom(start);
  spec.tell_replayed = true;
  return spec;
}

// The kinds of the next events, of at most `count`, until the replay is complete.
std::string KindsUntilReplayed(Consumer& consumer, int count) {
  std::string kinds;
  for (int i = 0; i < count; ++i) {
    const auto next = consumer.Next(seconds(20));
    if (!next.has_value()) return kinds + "?";
    if (const auto* records = std::get_if<TailRecords>(&next->event)) {
      kinds += "r" + std::to_string(records->records.size());
    }
    if (const auto* replayed = std::get_if<TailReplayed>(&next->event)) {
      return kinds + "|" + std::to_string(replayed->end.value());
    }
  }
  return kinds;
}

TEST(ConsumerReplayTest, Complete_AfterWhatTheLeaderHadCommitted) {
  FakeNode node;
  node.list_offsets.Always(LatestIs(5));
  // The serving node knows less than the leader at first; the replay is not complete there.
  v1::TailResponse behind;
  behind.mutable_progress()->set_high_watermark(3);
  behind.mutable_progress()->set_caught_up(true);
  behind.mutable_progress()->set_next_offset(3);
  node.tail.Always(SendAndHang({RecordsMessage(0, 2, 3), behind, RecordsMessage(3, 4, 5)}));
  const auto client = ClientOf({node.address()});
  const auto consumer = Reading(*client, ReplayFrom(TailFromEarliest()));
  EXPECT_EQ(KindsUntilReplayed(*consumer, 10), "r3r2|5");
  EXPECT_FALSE(consumer->Next(Duration(0)).has_value()) << "told once";
}

TEST(ConsumerReplayTest, EmptyLog_IsCompleteAtOnce) {
  FakeNode node;
  node.list_offsets.Always(LatestIs(1));
  // A record of the system only: the position moves without records.
  v1::TailResponse progress;
  progress.mutable_progress()->set_high_watermark(1);
  progress.mutable_progress()->set_next_offset(1);
  node.tail.Always(SendAndHang({progress}));
  const auto client = ClientOf({node.address()});
  const auto consumer = Reading(*client, ReplayFrom(TailFromEarliest()));
  EXPECT_EQ(KindsUntilReplayed(*consumer, 10), "|1");
}

TEST(ConsumerReplayTest, WaitsForALeader_WhileRecordsFlow) {
  FakeNode node;
  node.list_offsets.Then([](auto...) {
    return ToStatus({google::rpc::UNAVAILABLE, "LEADER_NOT_AVAILABLE"});
  });
  // No word of a leader.
  node.list_offsets.Then(
      [](grpc::ServerContext*, const v1::ListOffsetsRequest&, v1::ListOffsetsResponse* answer) {
        auto* entry = answer->add_topics()->add_partitions();
        entry->set_latest_offset(1);
        entry->set_stale(true);
        return grpc::Status::OK;
      });
  node.list_offsets.Always(LatestIs(3));
  node.tail.Always(SendAndHang({RecordsMessage(0, 2, 3)}));
  const auto client = ClientOf({node.address()});
  const auto consumer = Reading(*client, ReplayFrom(TailFromEarliest()));
  EXPECT_EQ(KindsUntilReplayed(*consumer, 10), "r3|3");
  EXPECT_EQ(node.list_offsets.requests().size(), 3u);
}

TEST(ConsumerTest, SeveralPartitions_TakeTurnsAndFailAlone) {
  FakeNode node;
  node.tail.Always(
      [](grpc::ServerContext* context, const v1::TailRequest& request, TailWriter writer) {
        if (request.partition() == 2) {
          return ToStatus({google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION"});
        }
        for (int64_t i = 0; i < 3; ++i) writer->Write(RecordsMessage(i, i, 3));
        return HangUntilCancelled(context);
      });
  const auto client = ClientOf({node.address()});
  Consumer consumer(*client);
  for (const uint32_t partition : {0u, 1u, 2u}) {
    TailSpec spec = SpecFrom(Offset(0));
    spec.partition.index = partition;
    consumer.Add(spec);
  }
  std::map<uint32_t, std::vector<int64_t>> offsets;
  std::vector<uint32_t> failed;
  for (size_t events = 0; events < 7; ++events) {
    const auto next = consumer.Next(seconds(20));
    ASSERT_TRUE(next.has_value());
    if (const auto* records = std::get_if<TailRecords>(&next->event)) {
      for (const TailRecord& record : records->records) {
        offsets[next->partition.index].push_back(record.offset.value());
      }
    }
    if (std::holds_alternative<TailFailure>(next->event)) failed.push_back(next->partition.index);
  }
  EXPECT_THAT(offsets[0], ElementsAre(0, 1, 2));
  EXPECT_THAT(offsets[1], ElementsAre(0, 1, 2));
  EXPECT_THAT(failed, ElementsAre(2u));
}

TEST(ConsumerTest, RemovedPartition_IsSilentAndCanBeAddedAnew) {
  FakeNode node;
  node.tail.Then(SendAndHang({RecordsMessage(0, 2, 9)}));
  node.tail.Always(SendAndHang({RecordsMessage(5, 5, 9)}));
  const auto client = ClientOf({node.address()});
  Consumer consumer(*client);
  consumer.Add(SpecFrom(Offset(0)));
  ASSERT_TRUE(node.tail.Await(1));
  consumer.Remove({"orders", 0});
  EXPECT_FALSE(consumer.Next(Duration(0)).has_value());
  consumer.Add(SpecFrom(Offset(5)));
  EXPECT_THAT(Hear(consumer, 1).offsets, ElementsAre(5));
  // Without a Remove before it.
  consumer.Add(SpecFrom(Offset(5)));
  EXPECT_THAT(Hear(consumer, 1).offsets, ElementsAre(5));
}

TEST(ConsumerTest, SlowApplication_StopsTheServer) {
  constexpr int kMessages = 2000;
  FakeNode node;
  std::atomic<int> written{0};
  node.tail.Always(
      [&written](grpc::ServerContext* context, const v1::TailRequest&, TailWriter writer) {
        v1::TailResponse message = RecordsMessage(0, 0, kMessages);
        auto* batch = message.mutable_records()->mutable_batches(0);
        batch->mutable_records(0)->set_value(std::string(100'000, 'v'));
        for (int i = 0; i < kMessages && writer->Write(message); ++i) {
          batch->set_base_offset(i + 1);
          message.mutable_records()->set_next_offset(i + 2);
          ++written;
        }
        return HangUntilCancelled(context);
      });
  const auto client = ClientOf({node.address()});
  ConsumerOptions options;
  options.buffer_bytes_max = 1 << 20;
  const auto consumer = Reading(*client, SpecFrom(Offset(0)), options);
  // Takes one record at a time: what the server has written stays ahead by the two buffers, of
  // which gRPC's is a few MiB, not by the 200 MB that there are.
  EXPECT_EQ(Hear(*consumer, 20).offsets.size(), 20u);
  EXPECT_LT(written, kMessages / 2);
  EXPECT_EQ(Hear(*consumer, kMessages - 20).offsets.size(), static_cast<size_t>(kMessages - 20));
}

}  // namespace
}  // namespace quorum::client
