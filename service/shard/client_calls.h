// What clients, the controller and the replica manager ask of a shard. Each call carries its
// completion, which runs on the shard thread and must return at once: it hands the result to
// whoever waits.
//
// Thread: made anywhere, posted to the shard of the partition (shard_api.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"
#include "service/raft/errors.h"
#include "service/raft/replica.h"

namespace quorum::shard {

// Who leads, as far as the replica asked knows: what every answer carries.
struct LeaderHint {
  std::optional<ReplicaKey> leader;
  Epoch epoch;
};

// --- Append
// -----------------------------------------------------------------------------------------

// Why a batch may not follow the log (producer_states.h). Each is told only once what it rests on
// is committed, and once it is proven that this replica led when it was asked.
enum class AppendRefusal {
  kNone,
  // `producer_epoch` is the newest.
  kProducerFenced,
  // `expected_sequence` is the one that follows.
  kOutOfOrderSequence,
  kUnknownProducer,
  // `committed_end` is where the committed log ends.
  kOffsetMismatch,
};

// As ErrorInfo names it.
const char* Name(AppendRefusal refusal);

struct AppendResult {
  enum class Outcome {
    // In the log for ever, at `base_offset`.
    kCommitted,
    // This attempt is not in the log, now or ever; `error` says why, or `refusal`.
    kRefused,
    // In a log whose leader lost its epoch, or not settled in time: nobody can say.
    kUnknown,
  };
  Outcome outcome = Outcome::kRefused;
  raft::RaftError error = raft::RaftError::kNone;
  // With kNone as `error`.
  AppendRefusal refusal = AppendRefusal::kNone;
  int32_t producer_epoch = 0;
  int64_t expected_sequence = 0;
  Offset committed_end;
  // With kCommitted: where the batch is, and the leader epoch that it was appended in.
  Offset base_offset;
  Epoch epoch;
  // An earlier attempt had brought it there.
  bool duplicate = false;
  LeaderHint hint;
};

// Appends the draft as one batch. The order of the checks: this replica leads; the batch of that
// producer is in the log already (then its outcome is the answer); `leader_epoch`; the producer's
// epoch and sequence; `expected_offset`. Answered after commit; kUnknown when `deadline` passes
// first. A refusal whose reason is not committed by then, or when leadership is lost, is
// kNotLeaderOrFollower, and still a refusal: nothing was appended. One whose deadline has passed
// before its turn came is refused with kRequestTimedOut.
struct AppendCall {
  PartitionId partition;
  // Its producer's stamp, if any, is in range (record_batch.h).
  BatchDraft draft;
  // The only epoch in which the append may happen.
  std::optional<Epoch> leader_epoch;
  MonoTime deadline = kNever;
  std::function<void(AppendResult)> done;
  // Append only if the log reaches this offset and no record of a client lies at or above it.
  std::optional<Offset> expected_offset;
};

// --- InitProducer
// -------------------------------------------------------------------------------

struct BindProducerResult {
  // kCommitted, kRefused or kUnknown, as for an append.
  AppendResult::Outcome outcome = AppendResult::Outcome::kRefused;
  raft::RaftError error = raft::RaftError::kNone;
  // With kCommitted.
  int64_t producer_id = 0;
  int32_t producer_epoch = 0;
  LeaderHint hint;
};

// Binds a producer's name to its id and the next epoch, by a control record in the partition's log.
// Answered after commit: from then on every lower epoch is fenced.
struct BindProducerCall {
  PartitionId partition;
  // 1 to kProducerNameMax bytes.
  std::string name;
  MonoTime deadline = kNever;
  std::function<void(BindProducerResult)> done;
};

// --- Read
// -------------------------------------------------------------------------------------------

struct ReadResult {
  raft::RaftError error = raft::RaftError::kNone;
  // Whole batches in order, all below `exposed`; the first one holds the offset asked for.
  std::vector<RecordBatch> batches;
  // The offset to ask for next.
  Offset next;
  // What this replica may show: committed, and synced here.
  Offset exposed;
  std::optional<Offset> high_watermark;
  // The watermark was named by a leader since this process opened the replica.
  bool watermark_named = false;
  Offset log_start;
  Offset log_end;
  LeaderHint hint;
  // The offset lies below log_start.
  bool below_log_start = false;
};

// Reads what is committed from this replica, whoever leads. Answers when there is a record at
// `from`, when the leader, the epoch or the watermark differs from what the caller has seen, or at
// the deadline with nothing.
struct ReadCall {
  PartitionId partition;
  Offset from;
  size_t max_bytes = 0;
  MonoTime deadline;
  // What the caller has been told last; absent to be told at once.
  std::optional<Offset> seen_high_watermark;
  std::optional<Epoch> seen_epoch;
  std::function<void(ReadResult)> done;
};

// --- Describe
// ---------------------------------------------------------------------------------------

struct PartitionDescription {
  raft::RaftError error = raft::RaftError::kNone;
  PartitionId partition;
  LeaderHint hint;
  raft::RoleKind role = raft::RoleKind::kUnattached;
  bool ready_leader = false;
  std::optional<Offset> high_watermark;
  Offset exposed;
  Offset log_start;
  Offset log_end;
  VoterSet voters;
  std::optional<std::string> quarantine;
  // On the leader: all voters and observers. `now` is the instant that their times are compared
  // with.
  std::vector<raft::ReplicaDescription> replicas;
  MonoTime now;
};

struct DescribeCall {
  PartitionId partition;
  std::function<void(PartitionDescription)> done;
};

// --- Leadership
// -------------------------------------------------------------------------------------

// Makes the replica, if it leads, hand over to `preferred` or to whoever is best.
struct ResignCall {
  PartitionId partition;
  std::optional<ReplicaKey> preferred;
  std::function<void(raft::RaftError, LeaderHint)> done;
};

// --- Replicas of this node
// --------------------------------------------------------------------------

// Opens a replica whose life on this directory starts now. `initial_voters` only for a replica that
// the creation record names by exact key. Completed when the birth is synced.
struct BirthCall {
  PartitionId partition;
  std::optional<VoterSet> initial_voters;
  // What a tombstone kept; epoch 0 otherwise.
  ElectionState election;
  std::vector<ReplicaKey> discovery_peers;
  // This replica's place among the initial voters, in the order of the assignment: the first
  // campaigns at once, the others after their back-off. Absent: not an initial voter.
  std::optional<size_t> position;
  std::function<void()> done;
};

// Ends a replica's life on this directory; its quorum state stays. Completed when that is synced.
struct BuryCall {
  PartitionId partition;
  // The election state that the tombstone keeps. Absent where no such replica is open: nothing is
  // known of its votes then, and what is remembered of them stays.
  std::function<void(std::optional<ElectionState>)> done;
};

// Notes that the catalog has been acted on below `position`: every birth and burial that it asks
// for is synced.
struct CatalogPositionCall {
  Offset position;
};

// Tells a replica who may know its leader.
struct DiscoveryCall {
  PartitionId partition;
  std::vector<ReplicaKey> peers;
};

// Every replica resigns, refuses what needs a leader, and goes on voting. `done` when all of them
// have found a successor, or need none.
struct ShutdownCall {
  std::function<void()> done;
};

// The disk does not answer: hand over everything that is led here.
struct ResignAllCall {};

using ShardCall =
    std::variant<AppendCall, BindProducerCall, ReadCall, DescribeCall, ResignCall, BirthCall,
                 BuryCall, CatalogPositionCall, DiscoveryCall, ShutdownCall, ResignAllCall>;

}  // namespace quorum::shard
