// Effect: everything that a step of a replica asks its shard to do, in order. Nothing has happened
// yet when Step returns.
//
// Gates. Every Send and Reply obeys the *quorum gate*: it may not leave while a PersistElection of
// the same replica is not synced. A Send with Gate::kLog also waits for every earlier append and
// truncation of the replica. A peer message that waits is dropped when the replica's role
// incarnation has moved on. WithdrawFromSessions alone waits for nothing.
//
// Thread: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "service/base/control_record.h"
#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"
#include "service/raft/event.h"
#include "service/raft/messages.h"
#include "service/raft/trace.h"

namespace quorum::raft {

enum class Gate { kQuorum, kLog };

// Store the election state.
struct PersistElection {
  ElectionState election;
};

// Append the client batch of `token` at `base_offset`.
struct AppendClientBatch {
  Token token = 0;
  Offset base_offset;
  Epoch epoch;
  // This batch is the first of `epoch`.
  bool starts_epoch = false;
};

// Append one control batch, which always starts an epoch or changes the voters.
struct AppendControlBatch {
  Offset base_offset;
  Epoch epoch;
  std::vector<ControlRecord> records;
  bool starts_epoch = false;
  // The voter set that the batch holds, and the offset of its record.
  std::optional<std::pair<Offset, VoterSet>> voters;
};

// Append the first `count` batches of the FetchResponse that this step was given.
struct AppendFetchedBatches {
  size_t count = 0;
  // Epochs that start in them.
  std::vector<std::pair<Epoch, Offset>> epoch_starts;
  std::vector<std::pair<Offset, VoterSet>> voters;
};

// Cut the log, the leader epochs and the voter sets at `end`.
struct TruncateTo {
  Offset end;
};

// Send a peer request. `incarnation` and `number` come back with its answer or failure.
struct Send {
  ReplicaKey to;
  uint64_t incarnation = 0;
  uint64_t number = 0;
  Gate gate = Gate::kQuorum;
  PeerMessage message;
};

struct ReplyVote {
  Token token = 0;
  VoteResponse response;
};
struct ReplyBeginQuorumEpoch {
  Token token = 0;
  BeginQuorumEpochResponse response;
};
struct ReplyEndQuorumEpoch {
  Token token = 0;
  EndQuorumEpochResponse response;
};

// The records from `from` up to `end` (exclusive), as many as fit: at least one whole batch. The
// range holds for the role incarnation of this step.
struct ServeRecords {
  Offset from;
  Offset end;
};

// Answer a Fetch.
struct ReplyFetch {
  Token token = 0;
  ResponseHeader header;
  std::optional<Offset> high_watermark;
  Offset log_start;
  std::variant<FetchedNothing, ServeRecords, FetchedDivergence> payload;
};

// The Fetch waits inside the replica: a later effect answers it. The shard keeps its deadline and
// sends FetchWaitOver.
struct ParkFetch {
  Token token = 0;
};

// The append's batch is committed: every outcome of the partition's future holds it.
struct AppendCommitted {
  Token token = 0;
  Offset base_offset;
  Epoch epoch;
};

// The append is not, and will never be, in the log.
struct AppendRefused {
  Token token = 0;
  ResponseHeader header;
};

// The append went into the log of a leader that lost its epoch; nobody can say what becomes of it.
struct AppendUnknown {
  Token token = 0;
  ResponseHeader header;
};

// Records below `exposed` may be shown to readers of this node. Never above its durable end.
struct CommitAdvanced {
  Offset exposed;
  Offset high_watermark;
};

// The replica's next deadline; kNever when it has none. Replaces the earlier one.
struct ArmTimer {
  MonoTime deadline;
};

// The known leader, the epoch, or this replica's own readiness to lead has changed.
struct LeadershipChanged {
  Epoch epoch;
  std::optional<ReplicaKey> leader;
  // This replica leads and has committed in its epoch.
  bool ready = false;
};

// Role or epoch has moved, or the replica is quarantined: its fetch session entries, at either end,
// are to be withdrawn by name in the very next message of their sessions.
struct WithdrawFromSessions {
  ResponseHeader header;
};

// The replica refuses everything from now on. Its data is left untouched.
struct Quarantined {
  std::string reason;
};

struct Trace {
  TraceEvent event;
};

using Effect = std::variant<PersistElection, AppendClientBatch, AppendControlBatch,
                            AppendFetchedBatches, TruncateTo, Send, ReplyVote,
                            ReplyBeginQuorumEpoch, ReplyEndQuorumEpoch, ReplyFetch, ParkFetch,
                            AppendCommitted, AppendRefused, AppendUnknown, CommitAdvanced, ArmTimer,
                            LeadershipChanged, WithdrawFromSessions, Quarantined, Trace>;

}  // namespace quorum::raft
