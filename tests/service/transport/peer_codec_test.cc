// The codec of the peer messages: what is encoded decodes to the same, for any value; what is
// malformed is refused.

#include <google/protobuf/text_format.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quorum/v1/observer.pb.h"
#include "quorum/v1/voter.pb.h"
#include "service/base/overloaded.h"
#include "service/base/prng.h"
#include "service/shard/shard_api.h"
#include "service/transport/answer_codec.h"
#include "service/transport/error_code.h"
#include "service/transport/fetch_answer_codec.h"
#include "service/transport/request_codec.h"
#include "tests/service/transport/random_messages.h"

namespace quorum::transport {
namespace {

constexpr int kRounds = 1000;

// Through the bytes, as over a wire.
template <typename Message>
Message Sent(const Message& message) {
  Message received;
  EXPECT_TRUE(received.ParseFromString(message.SerializeAsString()));
  return received;
}

absl::StatusOr<shard::LaneRequest> RoundTrip(const shard::LaneRequest& request) {
  const shard::Envelope& envelope = request.envelope;
  return std::visit(Overloaded{
                        [&](const shard::VoteBatch& batch) {
                          return Decode(Sent(EncodeVote(envelope, batch)), TestReceiver());
                        },
                        [&](const shard::BeginBatch& batch) {
                          return Decode(Sent(EncodeBegin(envelope, batch)), TestReceiver());
                        },
                        [&](const shard::EndBatch& batch) {
                          return Decode(Sent(EncodeEnd(envelope, batch)), TestReceiver());
                        },
                        [&](const shard::FetchBatch& batch) {
                          return Decode(Sent(EncodeFetch(envelope, batch)), TestReceiver());
                        },
                    },
                    request.body);
}

std::string Flatten(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

TEST(PeerCodecTest, EveryRequestSurvivesTheWire) {
  Prng prng(17);
  for (int round = 0; round < kRounds; ++round) {
    const shard::LaneRequest request = RandomRequest(&prng);
    absl::StatusOr<shard::LaneRequest> received = RoundTrip(request);
    ASSERT_TRUE(received.ok()) << received.status();
    EXPECT_EQ(Print(*received), Print(request));
  }
}

TEST(PeerCodecTest, EveryHeaderAnswerSurvivesTheWire) {
  Prng prng(18);
  for (int round = 0; round < kRounds; ++round) {
    const bool vote = round % 3 == 0;
    const shard::LaneResponse sent{{RandomKey(&prng), Incarnation(prng.Next())},
                                   RandomHeaderAnswer(&prng, vote)};
    const auto& answer = std::get<shard::HeaderAnswer>(sent.body);
    const auto through = [&](auto message) {
      Encode(sent.responder, answer, &message);
      return Decode(Sent(message));
    };
    const absl::StatusOr<shard::LaneResponse> received =
        vote             ? through(v1::VoteResponse())
        : round % 3 == 1 ? through(v1::BeginQuorumEpochResponse())
                         : through(v1::EndQuorumEpochResponse());
    ASSERT_TRUE(received.ok()) << received.status();
    EXPECT_EQ(Print(*received), Print(sent));
  }
}

TEST(PeerCodecTest, EveryFetchAnswerSurvivesTheWire) {
  Prng prng(19);
  for (int round = 0; round < kRounds; ++round) {
    const shard::LaneResponse sent{{RandomKey(&prng), Incarnation(prng.Next())},
                                   RandomFetchAnswer(&prng)};
    const grpc::ByteBuffer buffer =
        EncodeFetchAnswer(sent.responder, std::get<shard::FetchAnswer>(sent.body));
    const absl::StatusOr<shard::LaneResponse> received = DecodeFetchAnswer(buffer);
    ASSERT_TRUE(received.ok()) << received.status();
    EXPECT_EQ(Print(*received), Print(sent));
  }
}

// The bytes that are written by hand are those that the generated class would write, and a
// generated client reads structured batches out of them.
TEST(PeerCodecTest, AFetchAnswerIsAFetchResponse) {
  Prng prng(20);
  for (int round = 0; round < 200; ++round) {
    const shard::FetchAnswer answer = RandomFetchAnswer(&prng);
    const std::string bytes =
        Flatten(EncodeFetchAnswer({RandomKey(&prng), Incarnation(7)}, answer));
    v1::FetchResponse message;
    ASSERT_TRUE(message.ParseFromString(bytes));
    size_t batches = 0;
    for (const shard::FetchAnswerEntry& entry : answer.entries) batches += entry.batches.size();
    for (const auto& topic : message.topics()) {
      for (const auto& partition : topic.partitions()) {
        batches -= static_cast<size_t>(partition.records_size());
        for (const v1::RecordBatch& batch : partition.records()) {
          EXPECT_EQ(batch.records_size(), 2);
          EXPECT_EQ(batch.leader_epoch(), 3);
        }
      }
    }
    EXPECT_EQ(batches, 0u);
    EXPECT_EQ(message.SerializeAsString(), bytes);
  }
}

TEST(PeerCodecTest, ADamagedBatchEndsItsEntryOnly) {
  const PartitionId first{TopicId(2), 0};
  const PartitionId second{TopicId(2), 1};
  shard::FetchAnswer answer;
  answer.entries.resize(2);
  answer.entries[0].partition = first;
  for (int64_t offset : {0, 2, 4}) {
    answer.entries[0].batches.push_back(MakeBatch(first, Offset(offset), 20));
  }
  answer.entries[1].partition = second;
  answer.entries[1].batches.push_back(MakeBatch(second, Offset(0), 20));
  const shard::PeerIdentity responder{TestReceiver().self, Incarnation(1)};
  std::string bytes = Flatten(EncodeFetchAnswer(responder, answer));
  const std::string middle(answer.entries[0].batches[1].bytes());
  bytes[bytes.find(middle) + middle.size() - 1] ^= 1;
  const absl::StatusOr<shard::LaneResponse> received = DecodeFetchAnswer(bytes);
  ASSERT_TRUE(received.ok()) << received.status();
  const auto& decoded = std::get<shard::FetchAnswer>(received->body);
  ASSERT_EQ(decoded.entries.size(), 2u);
  EXPECT_EQ(decoded.entries[0].batches.size(), 1u);
  EXPECT_TRUE(decoded.entries[0].damaged) << "not the same as nothing new";
  EXPECT_EQ(decoded.entries[1].batches.size(), 1u);
  EXPECT_FALSE(decoded.entries[1].damaged);
}

TEST(PeerCodecTest, ABatchOfAnotherPartitionIsNotTaken) {
  shard::FetchAnswer answer;
  answer.entries.resize(1);
  answer.entries[0].partition = PartitionId{TopicId(2), 0};
  answer.entries[0].batches.push_back(MakeBatch(PartitionId{TopicId(2), 1}, Offset(0), 20));
  const absl::StatusOr<shard::LaneResponse> received =
      DecodeFetchAnswer(EncodeFetchAnswer({TestReceiver().self, Incarnation(1)}, answer));
  ASSERT_TRUE(received.ok());
  EXPECT_TRUE(std::get<shard::FetchAnswer>(received->body).entries[0].batches.empty());
}

TEST(PeerCodecTest, RandomBytesNeverBreakTheFetchAnswerDecoder) {
  Prng prng(21);
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = Flatten(
        EncodeFetchAnswer({RandomKey(&prng), Incarnation(prng.Next())}, RandomFetchAnswer(&prng)));
    for (uint64_t flips = prng.Below(4); flips > 0; --flips) {
      bytes[prng.Below(bytes.size())] = static_cast<char>(prng.Next());
    }
    bytes.resize(prng.Below(bytes.size() + 1));
    // What is still taken has batches that are intact.
    const absl::StatusOr<shard::LaneResponse> received = DecodeFetchAnswer(bytes);
    if (!received.ok()) continue;
    for (const auto& entry : std::get<shard::FetchAnswer>(received->body).entries) {
      for (const RecordBatch& batch : entry.batches) {
        EXPECT_TRUE(RecordBatch::Parse(entry.partition, batch.bytes()).ok());
      }
    }
  }
}

TEST(PeerCodecTest, WhatTheSenderDoesNotKnowOfTheReceiverIsFilledIn) {
  Prng prng(22);
  v1::VoteRequest message = EncodeVote(RandomEnvelope(&prng), {});
  message.mutable_envelope()->clear_to();
  const absl::StatusOr<shard::LaneRequest> request = Decode(message, TestReceiver());
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->envelope.to.key, TestReceiver().self);
  EXPECT_FALSE(request->envelope.to.incarnation.has_value());
}

TEST(PeerCodecTest, AReaderNeedsNoEnvelope) {
  v1::FetchRequest message;
  message.set_max_bytes(1000);
  auto* topic = message.add_topics();
  topic->set_topic_id(2);
  topic->add_partitions()->set_partition(3);
  const absl::StatusOr<shard::LaneRequest> request = Decode(message, TestReceiver());
  ASSERT_TRUE(request.ok()) << request.status();
  const auto& batch = std::get<shard::FetchBatch>(request->body);
  EXPECT_TRUE(batch.anonymous);
  EXPECT_EQ(request->envelope.lane, shard::LaneOf(PartitionId{TopicId(2), 3}, kLaneCount));
  ASSERT_EQ(batch.entries.size(), 1u);
  EXPECT_EQ(batch.entries[0].known_high_watermark, raft::KnownHighWatermark::kNotAsked);
}

struct Malformed {
  const char* what;
  std::function<void(v1::FetchRequest*)> spoil;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

TEST(PeerCodecTest, AMalformedFetchIsRefused) {
  const std::vector<Malformed> cases = {
      {"cluster", [](auto* m) { m->mutable_envelope()->set_cluster_id("c-2"); },
       absl::StatusCode::kFailedPrecondition},
      {"no cluster", [](auto* m) { m->mutable_envelope()->clear_cluster_id(); },
       absl::StatusCode::kFailedPrecondition},
      {"no sender in a session", [](auto* m) { m->mutable_envelope()->clear_from(); }},
      {"sender 0", [](auto* m) { m->mutable_envelope()->mutable_from()->set_node_id(0); }},
      {"sender -1", [](auto* m) { m->mutable_envelope()->mutable_from()->set_node_id(-1); }},
      {"directory of 15 bytes",
       [](auto* m) {
         m->mutable_envelope()->mutable_from()->set_directory_id(std::string(15, 'd'));
       }},
      {"directory of zeros",
       [](auto* m) {
         m->mutable_envelope()->mutable_from()->set_directory_id(std::string(16, '\0'));
       }},
      {"no incarnation",
       [](auto* m) { m->mutable_envelope()->mutable_from()->clear_incarnation(); }},
      {"incarnation 0", [](auto* m) { m->mutable_envelope()->mutable_from()->set_incarnation(0); }},
      {"incarnation 2^62",
       [](auto* m) { m->mutable_envelope()->mutable_from()->set_incarnation(uint64_t{1} << 62); }},
      {"receiver -1", [](auto* m) { m->mutable_envelope()->mutable_to()->set_node_id(-1); }},
      {"receiver's directory",
       [](auto* m) { m->mutable_envelope()->mutable_to()->set_directory_id("short"); }},
      {"no lane in a session", [](auto* m) { m->mutable_envelope()->clear_lane(); }},
      {"lane 16", [](auto* m) { m->mutable_envelope()->set_lane(16); }},
      {"wait -1", [](auto* m) { m->set_max_wait_ms(-1); }},
      {"bytes -1", [](auto* m) { m->set_max_bytes(-1); }},
      {"topic 0", [](auto* m) { m->mutable_topics(0)->set_topic_id(0); }},
      {"no index", [](auto* m) { m->mutable_topics(0)->mutable_partitions(0)->clear_partition(); }},
      {"unknown watermark that is false",
       [](auto* m) {
         m->mutable_topics(0)->mutable_partitions(0)->set_high_watermark_unknown(false);
       }},
  };
  Prng prng(23);
  shard::FetchBatch batch;
  batch.session = shard::SessionRequestPlace{1, 1, 0, kLaneCount};
  batch.entries.emplace_back().partition = PartitionId{TopicId(2), 0};
  const v1::FetchRequest sound = EncodeFetch(RandomEnvelope(&prng), batch);
  ASSERT_TRUE(Decode(sound, TestReceiver()).ok());
  for (const Malformed& malformed : cases) {
    v1::FetchRequest message = sound;
    malformed.spoil(&message);
    EXPECT_EQ(Decode(message, TestReceiver()).status().code(), malformed.code) << malformed.what;
  }
}

TEST(PeerCodecTest, AMalformedCandidateIsRefused) {
  Prng prng(24);
  shard::EndBatch batch;
  batch.entries.push_back({PartitionId{TopicId(2), 0}, Epoch(1), {RandomKey(&prng)}});
  v1::EndQuorumEpochRequest message = EncodeEnd(RandomEnvelope(&prng), batch);
  ASSERT_TRUE(Decode(message, TestReceiver()).ok());
  auto* candidate =
      message.mutable_topics(0)->mutable_partitions(0)->mutable_preferred_candidates(0);
  candidate->set_directory_id("x");
  EXPECT_EQ(Decode(message, TestReceiver()).status().code(), absl::StatusCode::kInvalidArgument);
}

// Extreme epochs and offsets are the core's to judge; nothing overflows on the way.
TEST(PeerCodecTest, ExtremeNumbersReachTheCoreAsTheyAre) {
  Prng prng(25);
  for (const int64_t extreme :
       {INT64_MIN, int64_t{-1}, (int64_t{1} << 62) - 1, int64_t{1} << 62, INT64_MAX}) {
    shard::VoteBatch batch;
    batch.entries.push_back({PartitionId{TopicId(UINT64_MAX), UINT32_MAX},
                             Epoch(extreme),
                             {Offset(extreme), Epoch(extreme)},
                             false});
    const absl::StatusOr<shard::LaneRequest> request =
        Decode(Sent(EncodeVote(RandomEnvelope(&prng), batch)), TestReceiver());
    ASSERT_TRUE(request.ok());
    const shard::VoteEntry& entry = std::get<shard::VoteBatch>(request->body).entries[0];
    EXPECT_EQ(entry.epoch, Epoch(extreme));
    EXPECT_EQ(entry.log_end.offset, Offset(extreme));
    EXPECT_EQ(entry.partition.index, UINT32_MAX);
  }
}

TEST(PeerCodecTest, AnAnswerOutOfRangeIsRefused) {
  const std::vector<std::function<void(v1::FetchResponse::Partition*)>> cases = {
      [](auto* p) { p->clear_partition(); },
      [](auto* p) { p->set_high_watermark(-1); },
      [](auto* p) { p->set_high_watermark(INT64_MAX); },
      [](auto* p) { p->set_log_start_offset(-1); },
      [](auto* p) { p->mutable_diverging_epoch()->set_end_offset(3); },
      [](auto* p) {
        p->mutable_diverging_epoch()->set_end_offset(-3);
        p->mutable_diverging_epoch()->set_epoch(1);
      },
      [](auto* p) { p->set_leader_id(3); },
      [](auto* p) { p->set_leader_directory_id(std::string(16, 'd')); },
  };
  v1::FetchResponse sound;
  EncodeIdentity({TestReceiver().self, Incarnation(1)}, sound.mutable_responder());
  sound.add_topics()->set_topic_id(2);
  sound.mutable_topics(0)->add_partitions()->set_partition(0);
  ASSERT_TRUE(DecodeFetchAnswer(sound.SerializeAsString()).ok());
  for (size_t i = 0; i < cases.size(); ++i) {
    v1::FetchResponse message = sound;
    cases[i](message.mutable_topics(0)->mutable_partitions(0));
    EXPECT_FALSE(DecodeFetchAnswer(message.SerializeAsString()).ok()) << "case " << i;
  }
}

TEST(PeerCodecTest, AnErrorOfALaterVersionMeansThatThePeerCannotAnswer) {
  EXPECT_EQ(ToRaftError(static_cast<v1::ErrorCode>(4711)), raft::RaftError::kBrokerNotAvailable);
  EXPECT_EQ(ToSessionError(static_cast<v1::ErrorCode>(4711)), shard::SessionError::kInvalidRequest);
}

}  // namespace
}  // namespace quorum::transport
