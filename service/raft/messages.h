// The peer RPCs of one partition as plain structs (protocol.md 1). What is the same for all
// partitions of a request stands once in its envelope on the wire; the shard fills it in here.
//
// Ranges are not trusted: each request is checked by its handler before any state changes.
//
// Thread: plain values.

#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "service/base/ids.h"
#include "service/base/voter_set.h"
#include "service/raft/errors.h"

namespace quorum::raft {

// What every answer says of the answerer (0.2): its epoch, the leader of that epoch where known,
// and what became of the request.
struct ResponseHeader {
  RaftError error = RaftError::kNone;
  Epoch epoch;
  std::optional<ReplicaKey> leader;
};

// Vote (KIP-595, pre-vote KIP-996).
struct VoteRequest {
  ReplicaKey candidate;
  // Whom the request is meant for.
  ReplicaKey voter;
  // Standard: the raised epoch. Pre-vote: the sender's current epoch.
  Epoch epoch;
  // The candidate's log end and the epoch of its last record.
  OffsetAndEpoch log_end;
  bool pre_vote = false;
};

struct VoteResponse {
  ResponseHeader header;
  bool granted = false;
};

// BeginQuorumEpoch (KIP-595): a leader makes itself known.
struct BeginQuorumEpochRequest {
  ReplicaKey leader;
  ReplicaKey voter;
  Epoch epoch;
};

struct BeginQuorumEpochResponse {
  ResponseHeader header;
};

// EndQuorumEpoch (KIP-595): a leader gives up, and says who should follow it, best first.
struct EndQuorumEpochRequest {
  ReplicaKey leader;
  Epoch epoch;
  std::vector<ReplicaKey> preferred_successors;
};

struct EndQuorumEpochResponse {
  ResponseHeader header;
};

// What a fetcher says of the high watermark that it knows (KIP-1166).
enum class KnownHighWatermark {
  // It does not want to be woken by the watermark.
  kNotAsked,
  // It knows none yet.
  kUnknown,
  // It knows FetchRequest::high_watermark.
  kKnown,
};

// Fetch (KIP-595): replicate, acknowledge, reconcile, learn the watermark, find the leader.
struct FetchRequest {
  // Absent for an anonymous reader, which is served and never tracked.
  std::optional<ReplicaKey> replica;
  // The process life of the fetcher; a lower offset is a roll-back only in a newer one.
  Incarnation replica_incarnation;
  Epoch current_leader_epoch;
  // The fetcher's log end, and so its durable acknowledgement of everything below.
  Offset fetch_offset;
  // The epoch of the record before fetch_offset; 0 when there is none.
  Epoch last_fetched_epoch;
  KnownHighWatermark known_high_watermark = KnownHighWatermark::kNotAsked;
  Offset high_watermark;
  // False: answer at once, whatever there is.
  bool may_wait = true;
};

// A batch as the protocol sees it.
struct BatchSummary {
  Offset base_offset;
  Offset last_offset;
  Epoch epoch;
  // The set in a voters record of this batch.
  std::optional<VoterSet> voters;

  Offset next_offset() const { return last_offset + 1; }
};

// What a Fetch brought: nothing new, whole batches in order, or the point to truncate to.
struct FetchedNothing {};
struct FetchedBatches {
  std::vector<BatchSummary> batches;
};
struct FetchedDivergence {
  OffsetAndEpoch point;
};

struct FetchResponse {
  ResponseHeader header;
  // Unknown until the leader has committed in its epoch.
  std::optional<Offset> high_watermark;
  std::variant<FetchedNothing, FetchedBatches, FetchedDivergence> payload;
};

using PeerMessage =
    std::variant<VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest>;

}  // namespace quorum::raft
