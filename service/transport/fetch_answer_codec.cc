#include "service/transport/fetch_answer_codec.h"

#include <grpcpp/support/slice.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quorum/v1/observer.pb.h"
#include "service/base/record_batch.h"
#include "service/base/wire.h"
#include "service/transport/envelope_codec.h"
#include "service/transport/error_code.h"
#include "service/transport/wire_rope.h"

namespace quorum::transport {
namespace {

using shard::FetchAnswer;
using shard::FetchAnswerEntry;
using shard::LaneResponse;

// The fields whose numbers this file must know, because it writes what holds the batches itself.
constexpr uint32_t kResponseTopics = v1::FetchResponse::kTopicsFieldNumber;
constexpr uint32_t kTopicPartitions = v1::FetchResponse::Topic::kPartitionsFieldNumber;
constexpr uint32_t kPartitionRecords = v1::FetchResponse::Partition::kRecordsFieldNumber;

v1::FetchResponse::Partition HeadOf(const FetchAnswerEntry& entry) {
  v1::FetchResponse::Partition head;
  head.set_partition(entry.partition.index);
  head.set_error(ToErrorCode(entry.header.error));
  EncodeLeader(entry.header.leader, &head);
  if (entry.has_epoch) head.set_leader_epoch(entry.header.epoch.value());
  if (entry.high_watermark.has_value()) head.set_high_watermark(entry.high_watermark->value());
  if (entry.header.error == raft::RaftError::kNone) {
    head.set_log_start_offset(entry.log_start.value());
  }
  if (entry.diverging.has_value()) {
    head.mutable_diverging_epoch()->set_epoch(entry.diverging->epoch.value());
    head.mutable_diverging_epoch()->set_end_offset(entry.diverging->offset.value());
  }
  return head;
}

struct EncodedEntry {
  const FetchAnswerEntry* entry;
  // Everything but the records, whose field has the highest number.
  std::string head;
  // Of the whole entry.
  size_t size;
};

// Neighbouring entries of one topic.
struct EncodedTopic {
  std::string head;
  std::vector<EncodedEntry> entries;
  size_t size;
};

std::vector<EncodedTopic> EncodeTopics(const FetchAnswer& answer) {
  std::vector<EncodedTopic> topics;
  for (const FetchAnswerEntry& entry : answer.entries) {
    if (topics.empty() ||
        topics.back().entries.back().entry->partition.topic != entry.partition.topic) {
      v1::FetchResponse::Topic head;
      head.set_topic_id(entry.partition.topic.value());
      topics.push_back({head.SerializeAsString(), {}, head.ByteSizeLong()});
    }
    EncodedEntry encoded{&entry, HeadOf(entry).SerializeAsString(), 0};
    encoded.size = encoded.head.size();
    for (const RecordBatch& batch : entry.batches) encoded.size += DelimitedSize(batch.size());
    topics.back().size += DelimitedSize(encoded.size);
    topics.back().entries.push_back(std::move(encoded));
  }
  return topics;
}

// Writes a field as it was read.
void CopyField(const wire::Field& field, std::string* out) {
  switch (field.type) {
    case wire::Type::kVarint:
      wire::AddVarint(field.number, field.value, out);
      return;
    case wire::Type::kFixed64:
      wire::AddFixed64(field.number, field.value, out);
      return;
    case wire::Type::kFixed32:
      wire::AddFixed32(field.number, static_cast<uint32_t>(field.value), out);
      return;
    case wire::Type::kLengthDelimited:
      wire::AddBytes(field.number, field.content, out);
      return;
  }
}

// Splits a message into the contents of its field `number` and a message without them.
template <typename Message>
absl::Status Split(absl::string_view bytes, uint32_t number,
                   std::vector<absl::string_view>* contents, Message* rest) {
  std::string others;
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number != number) {
      CopyField(field, &others);
      continue;
    }
    if (field.type != wire::Type::kLengthDelimited) {
      return absl::InvalidArgumentError("a fetch answer has a field of another type");
    }
    contents->push_back(field.content);
  }
  if (!reader.ok() || !rest->ParseFromString(others)) {
    return absl::InvalidArgumentError("a fetch answer cannot be parsed");
  }
  return absl::OkStatus();
}

bool IsOffset(int64_t value) { return value >= 0 && Offset(value) <= kOffsetLimit; }
bool IsEpoch(int64_t value) { return value >= 0 && Epoch(value) < kEpochLimit; }

absl::Status DecodePositions(const v1::FetchResponse::Partition& head, FetchAnswerEntry* entry) {
  if (!IsOffset(head.high_watermark()) || !IsOffset(head.log_start_offset()) ||
      !IsOffset(head.diverging_epoch().end_offset()) || !IsEpoch(head.diverging_epoch().epoch())) {
    return absl::InvalidArgumentError("a fetch answer has an offset or epoch out of range");
  }
  if (head.has_high_watermark()) entry->high_watermark = Offset(head.high_watermark());
  entry->log_start = Offset(head.log_start_offset());
  if (!head.has_diverging_epoch()) return absl::OkStatus();
  if (!head.diverging_epoch().has_end_offset() || !head.diverging_epoch().has_epoch()) {
    return absl::InvalidArgumentError("a diverging epoch is incomplete");
  }
  entry->diverging = OffsetAndEpoch{Offset(head.diverging_epoch().end_offset()),
                                    Epoch(head.diverging_epoch().epoch())};
  return absl::OkStatus();
}

absl::StatusOr<FetchAnswerEntry> DecodeEntry(TopicId topic, absl::string_view bytes) {
  std::vector<absl::string_view> batches;
  v1::FetchResponse::Partition head;
  absl::Status status = Split(bytes, kPartitionRecords, &batches, &head);
  if (!status.ok()) return status;
  if (!head.has_partition()) return absl::InvalidArgumentError("an entry has no partition index");
  absl::StatusOr<std::optional<ReplicaKey>> leader = DecodeLeader(head);
  if (!leader.ok()) return leader.status();
  FetchAnswerEntry entry;
  entry.partition = PartitionId{topic, head.partition()};
  entry.header = {ToRaftError(head.error()), Epoch(head.leader_epoch()), *leader};
  entry.has_epoch = head.has_leader_epoch();
  status = DecodePositions(head, &entry);
  if (!status.ok()) return status;
  for (absl::string_view batch_bytes : batches) {
    absl::StatusOr<RecordBatch> batch = RecordBatch::Parse(entry.partition, batch_bytes);
    if (!batch.ok()) {
      entry.damaged = true;
      break;
    }
    entry.batches.push_back(*std::move(batch));
  }
  return entry;
}

absl::Status DecodeTopic(absl::string_view bytes, FetchAnswer* answer) {
  std::vector<absl::string_view> partitions;
  v1::FetchResponse::Topic head;
  absl::Status status = Split(bytes, kTopicPartitions, &partitions, &head);
  if (!status.ok()) return status;
  if (head.topic_id() == 0) return absl::InvalidArgumentError("topic_id is missing");
  for (absl::string_view partition : partitions) {
    absl::StatusOr<FetchAnswerEntry> entry = DecodeEntry(TopicId(head.topic_id()), partition);
    if (!entry.ok()) return entry.status();
    answer->entries.push_back(*std::move(entry));
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ByteBuffer EncodeFetchAnswer(const shard::PeerIdentity& responder,
                                   const FetchAnswer& answer) {
  v1::FetchResponse head;
  EncodeIdentity(responder, head.mutable_responder());
  if (answer.session.has_value()) {
    v1::FetchResponse::Session* session = head.mutable_session();
    session->set_session_id(answer.session->session_id);
    session->set_answer_number(answer.session->answer_number);
    session->set_request_number(answer.session->request_number);
    session->set_error(ToErrorCode(answer.session->error));
  }
  WireRope rope;
  rope.AddBytes(head.SerializeAsString());
  for (const EncodedTopic& topic : EncodeTopics(answer)) {
    rope.AddPrefix(kResponseTopics, topic.size);
    rope.AddBytes(topic.head);
    for (const EncodedEntry& encoded : topic.entries) {
      rope.AddPrefix(kTopicPartitions, encoded.size);
      rope.AddBytes(encoded.head);
      for (const RecordBatch& batch : encoded.entry->batches) {
        rope.AddPrefix(kPartitionRecords, batch.size());
        rope.AddBatch(batch);
      }
    }
  }
  return rope.Finish();
}

absl::StatusOr<LaneResponse> DecodeFetchAnswer(absl::string_view bytes) {
  std::vector<absl::string_view> topics;
  v1::FetchResponse head;
  absl::Status status = Split(bytes, kResponseTopics, &topics, &head);
  if (!status.ok()) return status;
  absl::StatusOr<shard::PeerIdentity> responder = DecodeIdentity(head.responder());
  if (!responder.ok()) return responder.status();
  FetchAnswer answer;
  if (head.has_session()) {
    const v1::FetchResponse::Session& session = head.session();
    answer.session =
        shard::SessionAnswerPlace{session.session_id(), session.answer_number(),
                                  session.request_number(), ToSessionError(session.error())};
  }
  for (absl::string_view topic : topics) {
    status = DecodeTopic(topic, &answer);
    if (!status.ok()) return status;
  }
  return LaneResponse{*responder, std::move(answer)};
}

absl::StatusOr<LaneResponse> DecodeFetchAnswer(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.Valid() || !buffer.DumpToSingleSlice(&slice).ok()) {
    return absl::InvalidArgumentError("a fetch answer has no bytes");
  }
  return DecodeFetchAnswer(
      absl::string_view(reinterpret_cast<const char*>(slice.begin()), slice.size()));
}

}  // namespace quorum::transport
