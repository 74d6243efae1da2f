// ShardState: everything that one shard thread owns. The shard's work is done by free functions
// over it, one file per family; Shard (shard.h) is only the loop.
//
//   peer_requests.cc   Vote, BeginQuorumEpoch, EndQuorumEpoch and Fetch of peers come in
//   fetch_serving.cc   answers to Fetch go out: sessions, session-less fetches, reads from the disk
//   peer_sending.cc    this node's own requests go out and their answers come in
//   effects.cc         what a replica's step asks for is carried out, behind its gates
//   appends.cc         Append and InitProducer: what may go into the log, and what became of it
//   read_rounds.cc     the proof that a replica led when it was asked
//   clients.cc         Read, Describe, Resign
//   lifecycle.cc       replicas are opened, born, buried, shut down
//   flush.cc           the end of a round
//
// Thread: the shard thread, and nothing of it is ever touched by another.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "service/base/ids.h"
#include "service/base/mailbox.h"
#include "service/base/prng.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/raft/effect.h"
#include "service/raft/event.h"
#include "service/raft/replica.h"
#include "service/shard/client_calls.h"
#include "service/shard/durable_gate.h"
#include "service/shard/fetch_sizes.h"
#include "service/shard/follower_session.h"
#include "service/shard/leader_session.h"
#include "service/shard/log_cache.h"
#include "service/shard/peer_messages.h"
#include "service/shard/peer_outbox.h"
#include "service/shard/producer_states.h"
#include "service/shard/shard_api.h"
#include "service/shard/shard_config.h"
#include "storage/api/recovery.h"
#include "storage/api/write_set.h"

namespace quorum::shard {

struct ShardState;

// A completion of the shard's own work, run by its next round.
using Task = std::function<void(ShardState&)>;

struct PeerItem {
  LaneRequest request;
  PeerReply reply;
};
using MailboxItem = std::variant<PeerItem, ShardCall, Task>;

// What a leader has heard of its voters when it begins to read its own log for somebody. Once a
// majority of them has followed it since then, it led when it was asked: nothing that it does not
// have was committed before (protocol.md 8.6). Arrivals prove nothing, for a Fetch may have been
// sent long ago; so what counts is which answer it names.
struct ReadRound {
  struct Mark {
    // Whose session it is: another life of the follower numbers its sessions from 1 again.
    std::optional<Incarnation> life;
    uint64_t session_id = 0;
    uint64_t last_answer = 0;
  };
  Epoch epoch;
  // The sessions that there are. What comes later opens after the round began.
  std::map<NodeId, Mark> marks;
};

// An append that is not in the log, or was before: judged, and told once what that rests on is
// committed.
struct JudgedAppend {
  raft::Token token = 0;
  // The epoch that this replica leads.
  Epoch epoch;
  // All below it must be committed.
  Offset rests_on;
  // Has to be proven first. A refusal has one: who was deposed and does not know it refuses what
  // follows the log of its successor.
  std::optional<ReadRound> round;
  AppendResult if_committed;
  // When leadership is lost first.
  AppendResult if_lost;
};

// One replica and what the shard keeps for it.
struct Partition {
  Partition(PartitionId partition, Lane partition_lane, uint64_t replica_life, raft::Replica opened,
            Prng random, ProducerStates log_producers)
      : id(partition),
        lane(partition_lane),
        life(replica_life),
        replica(std::move(opened)),
        prng(random),
        producers(std::move(log_producers)) {}

  const PartitionId id;
  const Lane lane;
  // Its place among ShardState::replica_lives: what was begun for an earlier replica of this
  // partition is none of this one's business.
  const uint64_t life;
  raft::Replica replica;
  Prng prng;
  // What the log says of its producers, at its end.
  ProducerStates producers;
  // Bounded by raft::Config::appends_in_flight_max.
  std::vector<JudgedAppend> judged;
  // The newest writes that hold its election state and its log.
  uint64_t election_write = 0;
  uint64_t log_write = 0;
  MonoTime armed = kNever;
  // No batch of this partition has a later timestamp yet.
  int64_t last_timestamp_ms = 0;
  // The lower bound of the watermark that was last written, and when the next may be.
  Offset noted_bound;
  MonoTime note_bound_at;
  // Where it stands in ShardState::bound_deadlines; kNever when it does not.
  MonoTime bound_due = kNever;
  // Reads that have failed since the last one that did not.
  int failed_reads = 0;
  // The step that is carried out asked for a cut where no batch is known to end.
  bool cut_inside_batch = false;
  // The node whose session names this replica's Fetch.
  std::optional<ReplicaKey> fetch_peer;
  // Reads that wait. Bounded by ShardConfig::parked_reads_max.
  std::vector<ReadCall> reads;
  // The write after which they are looked at again; 0 for none.
  uint64_t reads_wake = 0;
  // Where it stands in ShardState::read_deadlines; kNever when it does not.
  MonoTime reads_due = kNever;
};

// A Vote, BeginQuorumEpoch or EndQuorumEpoch request that is being answered.
struct PendingBatch {
  PeerReply reply;
  HeaderAnswer answer;
  size_t outstanding = 0;
};

// A session-less Fetch that is being answered.
struct PendingFetch {
  PeerReply reply;
  FetchAnswer answer;
  std::map<PartitionId, raft::Token> waiting;
  // Its part of ShardState::loose_fetch_bytes, and what is left of it.
  size_t bytes = 0;
  size_t bytes_left = 0;
  bool has_records = false;
  // Answers whose records have not been read yet, in the order in which they came: that of the
  // request, unless a replica had to wait. Bounded by the request.
  std::deque<LeaderSession::Ready> offers;
  // The partition that is read from the disk. One at a time, so that no more is read than fits.
  std::optional<PartitionId> reading;
  // Reading ends then, once it has records.
  MonoTime reads_until = kNever;
  // kNever once nothing is waited for any more but what is on its way.
  MonoTime deadline;
};

// Who waits for a token.
struct WaitsInBatch {
  uint64_t batch = 0;
  // For a standard vote: whom it is for, and in which epoch.
  std::optional<std::pair<ReplicaKey, Epoch>> vote;
};
struct WaitsInFetch {
  uint64_t fetch = 0;
};
struct SessionKey {
  NodeId node;
  Lane lane;
  friend bool operator<(const SessionKey& a, const SessionKey& b) {
    return a.node != b.node ? a.node < b.node : a.lane < b.lane;
  }
};
struct WaitsInSession {
  SessionKey session;
  uint64_t session_id = 0;
};
struct WaitsForAppend {
  // Of its records, which its caller keeps in memory until it is answered.
  size_t bytes = 0;
  MonoTime deadline = kNever;
  std::function<void(AppendResult)> done;
  // It was refused already, and only the reason waits for its commit.
  bool refused = false;
};
struct Waiter {
  PartitionId partition;
  std::variant<WaitsInBatch, WaitsInFetch, WaitsInSession, WaitsForAppend> kind;
};

struct ShardState {
  ShardState(const ShardConfig& shard_config, const ShardSeams& shard_seams,
             Mailbox<MailboxItem>* own_mailbox)
      : config(shard_config),
        seams(shard_seams),
        mailbox(*own_mailbox),
        prng(shard_config.seed),
        cache(shard_config.cache_bytes_max),
        fetch_sizes(shard_config.fetch_bytes_max, shard_config.raft.fetch_timeout) {}

  const ShardConfig config;
  const ShardSeams seams;
  Mailbox<MailboxItem>& mailbox;
  Prng prng;
  // Read once a round.
  MonoTime now;

  std::map<PartitionId, Partition> partitions;
  // Replicas opened or born since the start; see RecoveredState::first_incarnation.
  uint64_t replica_lives = 0;
  std::set<std::pair<MonoTime, PartitionId>> timers;

  // The writes of this round, and the number that they will carry if there are any.
  storage::WriteSet round_writes;
  uint64_t round_number = 1;
  uint64_t durable_number = 0;
  // The partitions whose log each unfinished write touches, and the bytes of records in it: those
  // that were appended here, and those that were fetched.
  struct WriteInFlight {
    uint64_t number = 0;
    std::set<PartitionId> partitions;
    size_t appended_bytes = 0;
    size_t fetched_bytes = 0;
  };
  std::deque<WriteInFlight> writes_in_flight;
  WriteInFlight round_in_flight;
  size_t unsynced_bytes = 0;
  size_t fetched_unsynced_bytes = 0;
  // Those of all WaitsForAppend.
  size_t unanswered_bytes = 0;
  DurableGate gate;
  LogCache cache;

  raft::Token last_token = 0;
  std::map<raft::Token, Waiter> waiters;
  std::set<std::pair<MonoTime, raft::Token>> append_deadlines;
  std::map<uint64_t, PendingBatch> pending_batches;
  std::map<uint64_t, PendingFetch> pending_fetches;
  size_t loose_fetch_bytes = 0;
  uint64_t last_pending = 0;

  PeerOutbox outbox;
  std::map<LinkKey, FollowerSession> follower_sessions;
  // Outlives the sessions.
  FetchSizes fetch_sizes;
  uint64_t next_session_id = 1;
  std::map<SessionKey, LeaderSession> leader_sessions;
  // The newest session of each follower, so that a delayed opening cannot replace a newer one. A
  // follower that has been silent for minutes is forgotten, and its session with it.
  struct NewestSession {
    PeerIdentity follower;
    uint64_t session_id = 0;
    MonoTime heard_at;
  };
  std::map<SessionKey, NewestSession> newest_sessions;

  // Partitions with judged appends whose round is not proven yet, and which session request was the
  // last when they were looked at; 0 for those that have a new one.
  std::map<PartitionId, uint64_t> open_rounds;
  // Those that were executed.
  uint64_t session_requests = 1;
  // Partitions with parked reads, by the earliest deadline among these. One whose role is not on
  // disk yet does not stand there: it is woken after that write anyway.
  std::set<std::pair<MonoTime, PartitionId>> read_deadlines;
  // Partitions whose bound has risen since it was last written, by when it is written at the
  // latest.
  std::set<std::pair<MonoTime, PartitionId>> bound_deadlines;
  bool shutting_down = false;
  // Who waits for the shutdown.
  std::vector<std::function<void()>> shutdown_done;

  Partition* Find(PartitionId partition) {
    const auto found = partitions.find(partition);
    return found == partitions.end() ? nullptr : &found->second;
  }
};

// --- effects.cc ---

// What a step may need beside its event.
struct StepInput {
  const BatchDraft* draft = nullptr;
  const std::vector<RecordBatch>* fetched = nullptr;
  // A batch of the log is known to end there, where the cache does not tell.
  std::optional<Offset> border;
};
// Steps the replica and carries out what it asks for.
void StepPartition(ShardState& shard, Partition& partition, const raft::Event& event,
                   const StepInput& input = {});
// Starts the replica, once.
void StartPartition(ShardState& shard, Partition& partition);
// What became of a read of records that are in the log: DATA_LOSS when there were none.
absl::Status StatusOfRead(const storage::ReadResult& read);
// A read of the log is done. Damage quarantines the replica at once, a disk that fails otherwise
// when it does so again and again, and one that is busy never.
void NoteRead(ShardState& shard, Partition& partition, const absl::Status& status);
// So much waits for the disk already that nothing may be taken that would wait for it too.
bool IsBehind(const ShardState& shard);
// Runs `action` once write `number` is synced: now, if it is already.
void AfterWrite(ShardState& shard, uint64_t number, DurableGate::Item item);
// A write number is synced.
void OnWriteDurable(ShardState& shard, uint64_t number);
raft::Token AddWaiter(ShardState& shard, Waiter waiter);
std::optional<Waiter> TakeWaiter(ShardState& shard, raft::Token token);

// --- peer_requests.cc ---

void OnPeerRequest(ShardState& shard, PeerItem item);
// Resolves one entry of a pending batch; the last one sends the answer.
void ResolveBatchEntry(ShardState& shard, uint64_t batch, std::optional<HeaderEntry> entry);
LaneResponse Respond(const ShardState& shard, LaneResponseBody body);

// --- fetch_serving.cc ---

void OnFetchBatch(ShardState& shard, const Envelope& envelope, FetchBatch batch, PeerReply reply);
// A replica's answer to a Fetch may leave. `current` is false when its role incarnation has moved
// on.
void DeliverFetchAnswer(ShardState& shard, PartitionId partition, uint64_t incarnation,
                        bool current, const raft::ReplyFetch& reply);
void WithdrawFromLeaderSessions(ShardState& shard, const Partition& partition);
void FlushFetchAnswers(ShardState& shard);
MonoTime NextFetchDeadline(const ShardState& shard);

// --- peer_sending.cc ---

void SendToPeer(ShardState& shard, Partition& partition, const raft::Send& send);
void WithdrawFromFollowerSession(ShardState& shard, Partition& partition);
void FlushPeerRequests(ShardState& shard);

// Answers an append behind the quorum gate; no change of role takes that back.
void SettleGated(ShardState& shard, Partition& partition, raft::Token token, AppendResult result);

// --- appends.cc ---

void OnAppendCall(ShardState& shard, AppendCall call);
void OnBindProducerCall(ShardState& shard, BindProducerCall call);
void SettleAppend(ShardState& shard, raft::Token token, AppendResult result);
// What an append is told that is not settled in time, or whose replica goes.
AppendResult UnsettledResult(const WaitsForAppend& waits);
// After each step: tells the judged appends that have become certain, and moves what is committed.
void ConcludeJudged(ShardState& shard, Partition& partition);

// --- read_rounds.cc ---

ReadRound BeginReadRound(const ShardState& shard, const Partition& partition);
bool IsProven(const ShardState& shard, const Partition& partition, const ReadRound& round);
// At the end of a round of the shard: tells what has been proven, and asks for the answers that the
// rest waits for.
void FlushReadRounds(ShardState& shard);

// --- clients.cc ---

void OnReadCall(ShardState& shard, ReadCall call);
void OnDescribeCall(ShardState& shard, const DescribeCall& call);
void OnResignCall(ShardState& shard, const ResignCall& call);
// Looks at the parked reads of a partition again.
void WakeReads(ShardState& shard, Partition& partition);
void ExpireClients(ShardState& shard);
// Nothing of the partition waits for a deadline any more.
void ForgetReadDeadline(ShardState& shard, Partition& partition);
MonoTime NextClientDeadline(const ShardState& shard);

// --- lifecycle.cc ---

void OpenRecovered(ShardState& shard, const storage::RecoveredReplica& recovered);
void OnBirthCall(ShardState& shard, BirthCall call);
void OnBuryCall(ShardState& shard, BuryCall call);
void OnCatalogPositionCall(ShardState& shard, const CatalogPositionCall& call);
void OnDiscoveryCall(ShardState& shard, const DiscoveryCall& call);
void OnShutdownCall(ShardState& shard, ShutdownCall call);
void OnResignAll(ShardState& shard);
void CheckShutdown(ShardState& shard);

// --- timers and the end of a round: flush.cc ---

void Arm(ShardState& shard, Partition& partition, MonoTime deadline);
void FireTimers(ShardState& shard);
// After each step: a bound that has risen is written with the next records or, when none follow,
// soon. That of a quarantined replica is written at once: its reason may rest on it.
void PlanBound(ShardState& shard, Partition& partition);
void ForgetBound(ShardState& shard, Partition& partition);
// With whom the sessions have vouched for in the meantime.
raft::TimerFired MakeTimerFired(const ShardState& shard, const Partition& partition);
void FlushRound(ShardState& shard);
MonoTime NextDeadline(const ShardState& shard);

}  // namespace quorum::shard
