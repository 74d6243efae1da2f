#include "service/transport/answer_codec.h"

#include <optional>
#include <utility>

#include "service/transport/envelope_codec.h"
#include "service/transport/error_code.h"

namespace quorum::transport {
namespace {

using shard::HeaderAnswer;
using shard::HeaderEntry;
using shard::LaneResponse;
using shard::PeerIdentity;

template <typename Partition>
void EncodeHeader(const HeaderEntry& entry, Partition* partition) {
  partition->set_error(ToErrorCode(entry.header.error));
  EncodeLeader(entry.header.leader, partition);
  if (entry.has_epoch) partition->set_leader_epoch(entry.header.epoch.value());
}

template <typename Message>
void EncodeHeaders(const PeerIdentity& responder, const HeaderAnswer& answer, Message* message) {
  EncodeIdentity(responder, message->mutable_responder());
  EncodeEntries(answer.entries, message,
                [](const HeaderEntry& entry, typename Message::Partition* partition) {
                  EncodeHeader(entry, partition);
                });
}

bool IsGranted(const v1::VoteResponse::Partition& partition) { return partition.vote_granted(); }
bool IsGranted(const v1::BeginQuorumEpochResponse::Partition&) { return false; }
bool IsGranted(const v1::EndQuorumEpochResponse::Partition&) { return false; }

template <typename Message>
absl::StatusOr<LaneResponse> DecodeHeaders(const Message& message) {
  absl::StatusOr<PeerIdentity> responder = DecodeIdentity(message.responder());
  if (!responder.ok()) return responder.status();
  HeaderAnswer answer;
  absl::Status status = DecodeEntries(
      message, [&answer](PartitionId id, const typename Message::Partition& partition) {
        absl::StatusOr<std::optional<ReplicaKey>> leader = DecodeLeader(partition);
        if (!leader.ok()) return leader.status();
        HeaderEntry entry;
        entry.partition = id;
        entry.header.error = ToRaftError(partition.error());
        entry.header.leader = *leader;
        entry.header.epoch = Epoch(partition.leader_epoch());
        entry.has_epoch = partition.has_leader_epoch();
        entry.granted = IsGranted(partition);
        answer.entries.push_back(std::move(entry));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return LaneResponse{*responder, std::move(answer)};
}

}  // namespace

void Encode(const PeerIdentity& responder, const HeaderAnswer& answer, v1::VoteResponse* message) {
  EncodeIdentity(responder, message->mutable_responder());
  EncodeEntries(answer.entries, message,
                [](const HeaderEntry& entry, v1::VoteResponse::Partition* partition) {
                  EncodeHeader(entry, partition);
                  partition->set_vote_granted(entry.granted);
                });
}

void Encode(const PeerIdentity& responder, const HeaderAnswer& answer,
            v1::BeginQuorumEpochResponse* message) {
  EncodeHeaders(responder, answer, message);
}

void Encode(const PeerIdentity& responder, const HeaderAnswer& answer,
            v1::EndQuorumEpochResponse* message) {
  EncodeHeaders(responder, answer, message);
}

absl::StatusOr<LaneResponse> Decode(const v1::VoteResponse& message) {
  return DecodeHeaders(message);
}

absl::StatusOr<LaneResponse> Decode(const v1::BeginQuorumEpochResponse& message) {
  return DecodeHeaders(message);
}

absl::StatusOr<LaneResponse> Decode(const v1::EndQuorumEpochResponse& message) {
  return DecodeHeaders(message);
}

}  // namespace quorum::transport
