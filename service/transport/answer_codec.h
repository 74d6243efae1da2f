// Answers of Vote, BeginQuorumEpoch and EndQuorumEpoch: shard::HeaderAnswer as quorum.v1 messages,
// and back. Fetch has a file of its own (fetch_answer_codec.h).
//
// Decoding fails with INVALID_ARGUMENT when the answer is malformed: nothing of it is used then.
//
// Thread: any.

#pragma once

#include "absl/status/statusor.h"
#include "quorum/v1/voter.pb.h"
#include "service/shard/peer_messages.h"

namespace quorum::transport {

void Encode(const shard::PeerIdentity& responder, const shard::HeaderAnswer& answer,
            v1::VoteResponse* message);
void Encode(const shard::PeerIdentity& responder, const shard::HeaderAnswer& answer,
            v1::BeginQuorumEpochResponse* message);
void Encode(const shard::PeerIdentity& responder, const shard::HeaderAnswer& answer,
            v1::EndQuorumEpochResponse* message);

absl::StatusOr<shard::LaneResponse> Decode(const v1::VoteResponse& message);
absl::StatusOr<shard::LaneResponse> Decode(const v1::BeginQuorumEpochResponse& message);
absl::StatusOr<shard::LaneResponse> Decode(const v1::EndQuorumEpochResponse& message);

}  // namespace quorum::transport
