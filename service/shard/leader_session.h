// LeaderSession: the leader's end of a fetch session (KIP-227; architecture.md 4), for one
// (follower node, lane). It remembers for which partitions the follower waits, gathers the answers
// that are ready, and sends them with the request that is out.
//
// Rules that keep it safe:
//   1. requests are executed in the order of their numbers; one that is early by one is held, every
//      other gap or repeat ends the session;
//   2. an executed request renews the liveness of every entry of that epoch that is not withdrawn;
//      it never changes an offset;
//   3. a replica that stops leading is withdrawn by name in the next answer, however full that is,
//      before anything that depends on its new state may leave;
//   4. an answer holds at most the bytes of records that its request asked for and the rest of one
//      batch, but always one partition's records when any are ready;
//   5. a request that names an answer was sent after it, and proves that the follower still
//      followed every entry that is not withdrawn (protocol.md 8.6). Naming one that was not sent
//      ends the session.
//
// The session decides nothing about a partition: the shard steps replicas and brings their answers
// here.
//
// Thread: the shard thread of the lane.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/raft/effect.h"
#include "service/raft/event.h"
#include "service/shard/peer_messages.h"
#include "service/shard/shard_api.h"

namespace quorum::shard {

class LeaderSession {
 public:
  // Partitions whose records are read from the disk for one session, or were and have not been
  // sent.
  static constexpr size_t kDiskReadsMax = 8;

  // What may be done with a request.
  enum class Admission {
    kExecute,
    // It is early by one; it is executed after the one before it.
    kHold,
    // It ends the session.
    kRefuse,
  };

  // An answer that waits for a request to carry it. Records are named by their range until they are
  // sent, so that nothing is copied for an answer that must wait.
  struct Ready {
    FetchAnswerEntry entry;
    std::optional<raft::ServeRecords> range;
    // The role incarnation of the replica that offered the range.
    uint64_t incarnation = 0;
  };

  // Gives the batches of a range, from the cache only, at most `max_bytes` but for the first batch.
  // Empty when the cache does not hold its start.
  using ReadCache = std::function<std::optional<std::vector<RecordBatch>>(
      PartitionId, const raft::ServeRecords&, size_t max_bytes)>;

  LeaderSession(PeerIdentity follower, uint64_t session_id);

  const PeerIdentity& follower() const { return follower_; }
  uint64_t session_id() const { return session_id_; }

  Admission Admit(const SessionRequestPlace& place) const;
  // Keeps an early request. Only after Admit said kHold; the caller refuses a second one.
  void Hold(FetchBatch batch, PeerReply reply);
  // The held request, once it is the next.
  std::optional<std::pair<FetchBatch, PeerReply>> TakeHeld();

  // The next request is executed at `now`: it becomes the one that carries answers. The one that
  // was out is released: its answer is returned and has to be sent.
  struct Released {
    PeerReply reply;
    FetchAnswer answer;
  };
  std::optional<Released> Execute(const FetchBatch& batch, PeerReply reply, MonoTime now,
                                  MonoTime deadline, const ReadCache& read_cache);

  // The follower waits for an answer on this partition, under `token`. Returns the token that it
  // waited under before, if any.
  std::optional<raft::Token> Await(PartitionId partition, Epoch epoch, raft::Token token);
  // The follower takes its entry back. Returns the token that is to be cancelled.
  std::optional<raft::Token> Remove(PartitionId partition);
  // The replica's answer to `token` may leave. Ignored when nobody waits under that token any more.
  void Answer(PartitionId partition, raft::Token token, Ready ready);
  // True while the follower waits under `token`.
  bool Awaits(PartitionId partition, raft::Token token) const;
  // The replica has left its role or epoch.
  void Withdraw(PartitionId partition);

  // The answer of the request that is out, when it has something to say or its wait is over. Call
  // TakeUncached afterwards.
  std::optional<Released> Flush(MonoTime now, const ReadCache& read_cache);
  // When Flush has to be called at the latest; kNever when no request is out.
  MonoTime deadline() const { return parked_.has_value() ? parked_->deadline : kNever; }

  // When the follower was last heard of for this partition in that epoch.
  std::optional<MonoTime> LastSeen(PartitionId partition, Epoch epoch) const;

  // The newest answer that was sent; 0 for none.
  uint64_t last_answer() const { return last_answer_; }
  // Whether the follower followed the partition in that epoch when it had seen an answer above
  // `answer`, so after that one was sent.
  bool HasFollowedSince(PartitionId partition, Epoch epoch, uint64_t answer) const;
  // The next request is answered at once, even with nothing: its answer is what a proof waits for.
  void Hurry() { hurried_ = true; }

  // Ends the session: every request that is out or held is answered with `error`; the tokens of all
  // waiting entries are to be cancelled.
  struct Ending {
    std::vector<Released> answers;
    std::vector<std::pair<PartitionId, raft::Token>> cancelled;
  };
  Ending End(SessionError error);

  // Answers that were ready but whose records have left the cache: the shard reads them from the
  // disk and brings them back with Answer, under the same token.
  struct Uncached {
    PartitionId partition;
    raft::Token token = 0;
    Ready ready;
    // What the follower asks for: to read more would make its answer too large.
    size_t max_bytes = 0;
  };
  std::vector<Uncached> TakeUncached();
  size_t entry_count() const { return entries_.size(); }

 private:
  struct Entry {
    Epoch epoch;
    raft::Token token = 0;
    bool waiting = true;
    bool withdrawn = false;
  };
  struct Parked {
    uint64_t request_number = 0;
    size_t max_bytes = 0;
    MonoTime deadline;
    PeerReply reply;
  };

  // An answer while it is filled.
  struct Gathering {
    size_t bytes_left = 0;
    bool has_records = false;
    std::vector<FetchAnswerEntry> entries;
  };

  // The entry that stands for this partition in that epoch; null when there is none.
  const Entry* FindClaim(PartitionId partition, Epoch epoch) const;
  std::vector<FetchAnswerEntry> GatherReady(const ReadCache& read_cache);
  // Takes one ready answer, into `gathering` or to be read from the disk. False when it has to wait
  // for another answer.
  bool Gather(PartitionId partition, Ready* ready, const ReadCache& read_cache,
              Gathering* gathering);
  // Hands a ready answer out to be read from the disk. False when too many are.
  bool ReadLater(PartitionId partition, const Ready& ready);
  Released AnswerParked(std::vector<FetchAnswerEntry> entries);

  const PeerIdentity follower_;
  const uint64_t session_id_;
  uint64_t executed_request_ = 0;
  uint64_t last_answer_ = 0;
  // Of the executed requests.
  uint64_t newest_answer_seen_ = 0;
  bool hurried_ = false;
  MonoTime executed_at_;
  std::map<PartitionId, Entry> entries_;
  std::map<PartitionId, Ready> ready_;
  std::vector<Uncached> uncached_;
  // Bounded by kDiskReadsMax.
  std::set<PartitionId> from_disk_;
  // Where the next answer begins to gather, so that no partition starves behind a full answer.
  PartitionId gather_from_;
  std::optional<Parked> parked_;
  std::optional<std::pair<FetchBatch, PeerReply>> held_;
};

}  // namespace quorum::shard
