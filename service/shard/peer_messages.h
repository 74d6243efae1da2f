// Peer RPCs as the shard sees them: batches over the partitions of one lane between two nodes, with
// what is the same for all partitions in one envelope (protocol.md 8.1). The transport turns them
// into quorum.v1 messages and back; the simulator carries them as they are.
//
// Thread: plain values, moved between threads.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/raft/messages.h"

namespace quorum::shard {

// No process has started so often: an incarnation at or above this one is made up, and would fence
// the node for ever.
inline constexpr Incarnation kIncarnationLimit{uint64_t{1} << 62};

struct PeerIdentity {
  ReplicaKey key;
  // The process life. Absent where the sender does not know the receiver's yet.
  std::optional<Incarnation> incarnation;
};

struct Envelope {
  std::string cluster_id;
  PeerIdentity from;
  PeerIdentity to;
  Lane lane;
};

struct VoteEntry {
  PartitionId partition;
  Epoch epoch;
  OffsetAndEpoch log_end;
  bool pre_vote = false;
};
struct VoteBatch {
  std::vector<VoteEntry> entries;
};

struct BeginEntry {
  PartitionId partition;
  Epoch epoch;
};
struct BeginBatch {
  std::vector<BeginEntry> entries;
};

struct EndEntry {
  PartitionId partition;
  Epoch epoch;
  std::vector<ReplicaKey> preferred_successors;
};
struct EndBatch {
  std::vector<EndEntry> entries;
};

struct FetchEntry {
  PartitionId partition;
  // Takes back whatever the session says of this partition; the other fields are not looked at.
  bool withdraw = false;
  Epoch current_leader_epoch;
  Offset fetch_offset;
  Epoch last_fetched_epoch;
  raft::KnownHighWatermark known_high_watermark = raft::KnownHighWatermark::kNotAsked;
  Offset high_watermark;
};

// The place of a request in its fetch session (KIP-227; fetch_session.h).
struct SessionRequestPlace {
  // Named by the follower; above every session that this incarnation of it opened here before.
  uint64_t session_id = 0;
  // 1 opens the session, then one more each time.
  uint64_t request_number = 0;
  // The newest answer that had arrived when this was sent; 0 for none. It proves that this was sent
  // after that answer (leader_session.h).
  uint64_t newest_answer_seen = 0;
  uint32_t lane_count = 0;
};

struct FetchBatch {
  // Absent: a single KIP-595 fetch, where an absent entry says nothing.
  std::optional<SessionRequestPlace> session;
  // Absent for an anonymous reader.
  bool anonymous = false;
  Duration max_wait = Duration::zero();
  size_t max_bytes = 0;
  std::vector<FetchEntry> entries;
};

using LaneRequestBody = std::variant<VoteBatch, BeginBatch, EndBatch, FetchBatch>;

struct LaneRequest {
  Envelope envelope;
  LaneRequestBody body;
};

// An answer of Vote, BeginQuorumEpoch or EndQuorumEpoch for one partition.
struct HeaderEntry {
  PartitionId partition;
  raft::ResponseHeader header;
  // False where the header's epoch has no meaning: the partition is not open there.
  bool has_epoch = true;
  // Vote only.
  bool granted = false;
};
struct HeaderAnswer {
  std::vector<HeaderEntry> entries;
};

struct FetchAnswerEntry {
  PartitionId partition;
  raft::ResponseHeader header;
  // False: the answerer says nothing of its epoch. NOT_LEADER_OR_FOLLOWER without an epoch only
  // withdraws the entry, its answer follows; any other error without one is final.
  bool has_epoch = true;
  std::optional<Offset> high_watermark;
  Offset log_start;
  std::vector<RecordBatch> batches;
  // As it was received: more batches came, the first of which is damaged.
  bool damaged = false;
  std::optional<OffsetAndEpoch> diverging;
};

enum class SessionError {
  kNone,
  kSessionIdNotFound,
  kInvalidSessionEpoch,
  kInconsistentLaneCount,
  kInvalidRequest,
};

struct SessionAnswerPlace {
  uint64_t session_id = 0;
  // Numbers the answers of the session in the order in which they are sent, from 1.
  uint64_t answer_number = 0;
  uint64_t request_number = 0;
  SessionError error = SessionError::kNone;
};
struct FetchAnswer {
  std::optional<SessionAnswerPlace> session;
  std::vector<FetchAnswerEntry> entries;
};

// The whole request was refused; no partition was touched.
enum class EnvelopeError { kInconsistentClusterId, kInvalidRequest, kThrottled };
struct RefusedRequest {
  EnvelopeError error = EnvelopeError::kInvalidRequest;
};

using LaneResponseBody = std::variant<HeaderAnswer, FetchAnswer, RefusedRequest>;

struct LaneResponse {
  PeerIdentity responder;
  LaneResponseBody body;
};

}  // namespace quorum::shard
