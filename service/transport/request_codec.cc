#include "service/transport/request_codec.h"

#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "service/shard/shard_api.h"

namespace quorum::transport {
namespace {

using raft::KnownHighWatermark;

// What protobuf's int32 can carry; anything longer is capped by the receiver anyway.
int32_t ToInt32(int64_t value) {
  return static_cast<int32_t>(
      std::min<int64_t>(std::max<int64_t>(value, 0), std::numeric_limits<int32_t>::max()));
}

void EncodeKey(const ReplicaKey& key, v1::ReplicaKey* message) {
  message->set_node_id(key.id.value());
  message->set_directory_id(key.directory.ToBytes());
}

absl::StatusOr<ReplicaKey> DecodeKey(const v1::ReplicaKey& message) {
  const std::optional<DirectoryId> directory = DirectoryId::FromBytes(message.directory_id());
  if (message.node_id() < 1 || !directory.has_value()) {
    return absl::InvalidArgumentError("a replica key needs a node id and 16 bytes of directory id");
  }
  return ReplicaKey{NodeId(message.node_id()), *directory};
}

void EncodeFetchEntry(const shard::FetchEntry& entry, v1::FetchRequest::Partition* partition) {
  if (entry.withdraw) {
    partition->set_withdraw(true);
    return;
  }
  partition->set_current_leader_epoch(entry.current_leader_epoch.value());
  partition->set_fetch_offset(entry.fetch_offset.value());
  partition->set_last_fetched_epoch(entry.last_fetched_epoch.value());
  switch (entry.known_high_watermark) {
    case KnownHighWatermark::kNotAsked:
      return;
    case KnownHighWatermark::kUnknown:
      partition->set_high_watermark_unknown(true);
      return;
    case KnownHighWatermark::kKnown:
      partition->set_high_watermark(entry.high_watermark.value());
      return;
  }
}

absl::StatusOr<shard::FetchEntry> DecodeFetchEntry(PartitionId id,
                                                   const v1::FetchRequest::Partition& partition) {
  shard::FetchEntry entry;
  entry.partition = id;
  entry.withdraw = partition.withdraw();
  if (entry.withdraw) return entry;
  entry.current_leader_epoch = Epoch(partition.current_leader_epoch());
  entry.fetch_offset = Offset(partition.fetch_offset());
  entry.last_fetched_epoch = Epoch(partition.last_fetched_epoch());
  if (partition.has_high_watermark()) {
    entry.known_high_watermark = KnownHighWatermark::kKnown;
    entry.high_watermark = Offset(partition.high_watermark());
  } else if (partition.has_high_watermark_unknown()) {
    if (!partition.high_watermark_unknown()) {
      return absl::InvalidArgumentError("high_watermark_unknown must be true when it is present");
    }
    entry.known_high_watermark = KnownHighWatermark::kUnknown;
  }
  return entry;
}

std::optional<shard::SessionRequestPlace> DecodeSession(const v1::FetchRequest& message) {
  if (!message.has_session()) return std::nullopt;
  const v1::FetchRequest::Session& session = message.session();
  return shard::SessionRequestPlace{session.session_id(), session.request_number(),
                                    session.newest_answer_seen(), session.lane_count()};
}

// The envelope of a reader that does not say who it is.
absl::StatusOr<shard::Envelope> AnonymousEnvelope(const v1::FetchRequest& message,
                                                  const shard::FetchBatch& batch,
                                                  const Receiver& receiver) {
  const std::string& cluster_id = message.envelope().cluster_id();
  if (!cluster_id.empty() && cluster_id != receiver.cluster_id) {
    return absl::FailedPreconditionError("this node belongs to another cluster");
  }
  if (batch.session.has_value()) {
    return absl::InvalidArgumentError("a fetch session needs an envelope with its sender");
  }
  shard::Envelope envelope;
  envelope.cluster_id = cluster_id;
  envelope.to.key = receiver.self;
  if (message.envelope().has_lane()) {
    envelope.lane = Lane(message.envelope().lane());
  } else if (!batch.entries.empty()) {
    envelope.lane = shard::LaneOf(batch.entries.front().partition, receiver.lane_count);
  }
  if (envelope.lane.value() >= receiver.lane_count) {
    return absl::InvalidArgumentError("envelope.lane is out of range");
  }
  return envelope;
}

}  // namespace

v1::VoteRequest EncodeVote(const shard::Envelope& envelope, const shard::VoteBatch& batch) {
  v1::VoteRequest message;
  EncodeEnvelope(envelope, message.mutable_envelope());
  EncodeEntries(batch.entries, &message,
                [](const shard::VoteEntry& entry, v1::VoteRequest::Partition* partition) {
                  partition->set_replica_epoch(entry.epoch.value());
                  partition->set_last_offset_epoch(entry.log_end.epoch.value());
                  partition->set_last_offset(entry.log_end.offset.value());
                  partition->set_pre_vote(entry.pre_vote);
                });
  return message;
}

v1::BeginQuorumEpochRequest EncodeBegin(const shard::Envelope& envelope,
                                        const shard::BeginBatch& batch) {
  v1::BeginQuorumEpochRequest message;
  EncodeEnvelope(envelope, message.mutable_envelope());
  EncodeEntries(
      batch.entries, &message,
      [](const shard::BeginEntry& entry, v1::BeginQuorumEpochRequest::Partition* partition) {
        partition->set_leader_epoch(entry.epoch.value());
      });
  return message;
}

v1::EndQuorumEpochRequest EncodeEnd(const shard::Envelope& envelope, const shard::EndBatch& batch) {
  v1::EndQuorumEpochRequest message;
  EncodeEnvelope(envelope, message.mutable_envelope());
  EncodeEntries(batch.entries, &message,
                [](const shard::EndEntry& entry, v1::EndQuorumEpochRequest::Partition* partition) {
                  partition->set_leader_epoch(entry.epoch.value());
                  for (const ReplicaKey& key : entry.preferred_successors) {
                    EncodeKey(key, partition->add_preferred_candidates());
                  }
                });
  return message;
}

v1::FetchRequest EncodeFetch(const shard::Envelope& envelope, const shard::FetchBatch& batch) {
  v1::FetchRequest message;
  EncodeEnvelope(envelope, message.mutable_envelope());
  if (batch.anonymous) message.mutable_envelope()->clear_from();
  message.set_max_wait_ms(
      ToInt32(std::chrono::duration_cast<std::chrono::milliseconds>(batch.max_wait).count()));
  message.set_max_bytes(ToInt32(static_cast<int64_t>(
      std::min<size_t>(batch.max_bytes, std::numeric_limits<int32_t>::max()))));
  if (batch.session.has_value()) {
    v1::FetchRequest::Session* session = message.mutable_session();
    session->set_session_id(batch.session->session_id);
    session->set_request_number(batch.session->request_number);
    session->set_newest_answer_seen(batch.session->newest_answer_seen);
    session->set_lane_count(batch.session->lane_count);
  }
  EncodeEntries(batch.entries, &message, EncodeFetchEntry);
  return message;
}

absl::StatusOr<shard::LaneRequest> Decode(const v1::VoteRequest& message,
                                          const Receiver& receiver) {
  absl::StatusOr<shard::Envelope> envelope = DecodeEnvelope(message.envelope(), receiver);
  if (!envelope.ok()) return envelope.status();
  shard::VoteBatch batch;
  absl::Status status =
      DecodeEntries(message, [&batch](PartitionId id, const v1::VoteRequest::Partition& partition) {
        batch.entries.push_back(
            {id,
             Epoch(partition.replica_epoch()),
             {Offset(partition.last_offset()), Epoch(partition.last_offset_epoch())},
             partition.pre_vote()});
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return shard::LaneRequest{*std::move(envelope), std::move(batch)};
}

absl::StatusOr<shard::LaneRequest> Decode(const v1::BeginQuorumEpochRequest& message,
                                          const Receiver& receiver) {
  absl::StatusOr<shard::Envelope> envelope = DecodeEnvelope(message.envelope(), receiver);
  if (!envelope.ok()) return envelope.status();
  shard::BeginBatch batch;
  absl::Status status = DecodeEntries(
      message, [&batch](PartitionId id, const v1::BeginQuorumEpochRequest::Partition& partition) {
        batch.entries.push_back({id, Epoch(partition.leader_epoch())});
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return shard::LaneRequest{*std::move(envelope), std::move(batch)};
}

absl::StatusOr<shard::LaneRequest> Decode(const v1::EndQuorumEpochRequest& message,
                                          const Receiver& receiver) {
  absl::StatusOr<shard::Envelope> envelope = DecodeEnvelope(message.envelope(), receiver);
  if (!envelope.ok()) return envelope.status();
  shard::EndBatch batch;
  absl::Status status = DecodeEntries(
      message, [&batch](PartitionId id, const v1::EndQuorumEpochRequest::Partition& partition) {
        shard::EndEntry entry{id, Epoch(partition.leader_epoch()), {}};
        for (const v1::ReplicaKey& candidate : partition.preferred_candidates()) {
          absl::StatusOr<ReplicaKey> key = DecodeKey(candidate);
          if (!key.ok()) return key.status();
          entry.preferred_successors.push_back(*key);
        }
        batch.entries.push_back(std::move(entry));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return shard::LaneRequest{*std::move(envelope), std::move(batch)};
}

absl::StatusOr<shard::LaneRequest> Decode(const v1::FetchRequest& message,
                                          const Receiver& receiver) {
  if (message.max_wait_ms() < 0) return absl::InvalidArgumentError("max_wait_ms is negative");
  if (message.max_bytes() < 0) return absl::InvalidArgumentError("max_bytes is negative");
  shard::FetchBatch batch;
  batch.session = DecodeSession(message);
  batch.anonymous = !message.envelope().has_from();
  batch.max_wait = std::chrono::milliseconds(message.max_wait_ms());
  batch.max_bytes = static_cast<size_t>(message.max_bytes());
  absl::Status status = DecodeEntries(
      message, [&batch](PartitionId id, const v1::FetchRequest::Partition& partition) {
        absl::StatusOr<shard::FetchEntry> entry = DecodeFetchEntry(id, partition);
        if (!entry.ok()) return entry.status();
        batch.entries.push_back(*entry);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  // A replica without a session may leave the lane out, as a reader may.
  v1::Envelope head = message.envelope();
  if (!batch.session.has_value() && !head.has_lane() && !batch.entries.empty()) {
    head.set_lane(shard::LaneOf(batch.entries.front().partition, receiver.lane_count).value());
  }
  absl::StatusOr<shard::Envelope> envelope = batch.anonymous
                                                 ? AnonymousEnvelope(message, batch, receiver)
                                                 : DecodeEnvelope(head, receiver);
  if (!envelope.ok()) return envelope.status();
  return shard::LaneRequest{*std::move(envelope), std::move(batch)};
}

}  // namespace quorum::transport
