// Requests between nodes: shard::LaneRequest as quorum.v1 messages, and back. Decoding is the only
// place where such bytes are trusted: what it returns has a complete envelope and well-formed keys,
// and every entry names a partition. Ranges of epochs and offsets are judged by the core, entry by
// entry.
//
// Errors: INVALID_ARGUMENT for a message that is malformed as a whole, FAILED_PRECONDITION for one
// of another cluster. Nothing of it may be executed then.
//
// Thread: any.

#pragma once

#include "absl/status/statusor.h"
#include "quorum/v1/observer.pb.h"
#include "quorum/v1/voter.pb.h"
#include "service/shard/peer_messages.h"
#include "service/transport/envelope_codec.h"

namespace quorum::transport {

v1::VoteRequest EncodeVote(const shard::Envelope& envelope, const shard::VoteBatch& batch);
v1::BeginQuorumEpochRequest EncodeBegin(const shard::Envelope& envelope,
                                        const shard::BeginBatch& batch);
v1::EndQuorumEpochRequest EncodeEnd(const shard::Envelope& envelope, const shard::EndBatch& batch);
// An anonymous batch is sent without a sender.
v1::FetchRequest EncodeFetch(const shard::Envelope& envelope, const shard::FetchBatch& batch);

absl::StatusOr<shard::LaneRequest> Decode(const v1::VoteRequest& message, const Receiver& receiver);
absl::StatusOr<shard::LaneRequest> Decode(const v1::BeginQuorumEpochRequest& message,
                                          const Receiver& receiver);
absl::StatusOr<shard::LaneRequest> Decode(const v1::EndQuorumEpochRequest& message,
                                          const Receiver& receiver);
// A fetch without a session may come without an envelope, or with one that names no sender: it is
// anonymous. Its lane, if not given, is that of its first partition.
absl::StatusOr<shard::LaneRequest> Decode(const v1::FetchRequest& message,
                                          const Receiver& receiver);

}  // namespace quorum::transport
