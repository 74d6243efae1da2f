// ReplicaHarness: one raft::Replica on a table, with a clock that tests move, a disk that they may
// hold, and everything that it says. Scripts read like this:
//
//   ReplicaHarness replica;                       // Replica 1 ...
//   replica.Voters(3);                            // ... of the voters 1, 2 and 3 ...
//   replica.Recover(Epoch(5), Key(2));            // ... whose disk says that 2 leads epoch 5.
//   replica.Start();
//   const VoteResponse answer = replica.RequestVote(3, Epoch(6), End(0, 0));
//   EXPECT_TRUE(answer.granted);
//
// The disk syncs each write at once, unless HoldWrites() stops it; then what the gates of effect.h
// keep back shows in Waiting() and LastReplyHasLeft(). Sends that their gate releases too late are
// dropped, as the shard drops them. In every script, also over restarts, the harness checks that no
// epoch gets two votes of this replica (I2), that none is led in two of its process lives (I3), and
// that synced epochs never fall (I4).
//
// Thread: the test's. Times are Durations since the start of the script.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"
#include "service/raft/config.h"
#include "service/raft/effect.h"
#include "service/raft/event.h"
#include "service/raft/messages.h"
#include "service/raft/replica.h"

namespace quorum::conformance {

// The replica of node `id` on its usual directory.
ReplicaKey Key(int32_t id);
// The same node on another disk.
ReplicaKey OtherDirectory(int32_t id);
// The voters 1..count.
VoterSet VoterSetOf(int count);
// A log that ends at `offset` (exclusive) with a record of `epoch`.
OffsetAndEpoch End(int64_t offset, int64_t epoch);
Duration Ms(int64_t milliseconds);
// Batches [base, base + count) and so on, each of the given epoch: {{epoch, count}, ...}.
raft::FetchedBatches BatchesFrom(int64_t base,
                                 std::initializer_list<std::pair<int64_t, int64_t>> batches);

// A request that has left the replica.
template <typename Message>
struct SentMessage {
  ReplicaKey to;
  Message message;
  raft::Correlation correlation;
  MonoTime at;
};

// What became of a Fetch so far.
struct FetchResult {
  raft::Token token = 0;
  bool parked = false;
  // Empty while it is parked.
  std::optional<raft::ReplyFetch> reply;

  bool HasRecords() const;
  std::optional<OffsetAndEpoch> Divergence() const;
};

enum class AppendOutcome { kPending, kCommitted, kRefused, kUnknown };

class ReplicaHarness {
 public:
  explicit ReplicaHarness(uint64_t seed = 1, ReplicaKey self = Key(1));

  // What the disk holds; before Start. Voters are the initial set and, when there is a log, also a
  // record at its offset 0.
  void Voters(int count);
  void Voters(const VoterSet& set);
  void Recover(Epoch epoch, std::optional<ReplicaKey> leader = std::nullopt,
               std::optional<ReplicaKey> voted = std::nullopt);
  // {{epoch, number of records}, ...}, from offset 0.
  void RecoverLog(std::initializer_list<std::pair<int64_t, int64_t>> epochs);
  void RecoverHighWatermarkBound(int64_t offset);
  // At birth only: the place of the replica in the assignment has given it this wait.
  void CampaignFirstAfter(Duration wait) { first_campaign_after_ = wait; }
  raft::Config& config() { return config_; }

  void Start();
  // kill -9: a new process life on what the disk has synced. Held writes are lost.
  void Restart();

  // Any event at all.
  void Step(const raft::Event& event);

  // Requests of peers. Each returns the answer, whether it has left or waits at its gate.
  raft::VoteResponse RequestVote(int32_t from, Epoch epoch, OffsetAndEpoch log_end,
                                 bool pre_vote = false);
  raft::VoteResponse RequestPreVote(int32_t from, Epoch epoch, OffsetAndEpoch log_end);
  raft::VoteResponse RequestVote(const raft::VoteRequest& request);
  raft::BeginQuorumEpochResponse Begin(int32_t leader, Epoch epoch);
  raft::BeginQuorumEpochResponse Begin(const raft::BeginQuorumEpochRequest& request);
  raft::EndQuorumEpochResponse End(int32_t leader, Epoch epoch, std::vector<ReplicaKey> successors);
  // A Fetch of the current epoch. `known`: the watermark that the fetcher names, if it names one.
  FetchResult Fetch(int32_t from, int64_t offset, int64_t last_epoch,
                    std::optional<int64_t> known_high_watermark = std::nullopt);
  FetchResult Fetch(const raft::FetchRequest& request);
  raft::FetchRequest MakeFetch(int32_t from, int64_t offset, int64_t last_epoch) const;
  // The state of an earlier Fetch.
  FetchResult ResultOf(raft::Token fetch) const;
  // True when the last answer, of whatever kind, has passed its gate.
  bool LastReplyHasLeft() const;

  // Clients.
  raft::Token Append(int64_t records, std::optional<Epoch> leader_epoch = std::nullopt);
  AppendOutcome OutcomeOf(raft::Token append) const;

  // Answers to this replica's own requests: to the newest one that has left to that peer.
  void AnswerVote(int32_t from, raft::ResponseHeader header, bool granted);
  void Grant(int32_t from);
  void Refuse(int32_t from);
  // Grants every vote request that has left and is not answered yet.
  void GrantAll();
  void RefuseAll();
  void AnswerBegin(int32_t from, raft::ResponseHeader header);
  void AnswerEnd(int32_t from, raft::ResponseHeader header);
  // Answers the last Fetch that has left.
  void AnswerFetch(const raft::FetchResponse& response);
  // A success of the current leader and epoch with these contents.
  void AnswerFetch(std::variant<raft::FetchedNothing, raft::FetchedBatches, raft::FetchedDivergence>
                       payload = raft::FetchedNothing{},
                   std::optional<int64_t> high_watermark = std::nullopt);
  template <typename Message>
  void FailRequest(int32_t to) {
    Step(raft::PeerFailed{Newest<Message>(Key(to)).correlation});
  }
  // What a peer that agrees with this replica says of epoch and leader.
  raft::ResponseHeader HeaderNow(raft::RaftError error = raft::RaftError::kNone) const;

  // Common beginnings. BecomeProspective and BecomeCandidate wait for the timer; BecomeLeader wins
  // `epoch`, which must be the next one. Each starts the replica when that has not happened.
  void BecomeProspective();
  void BecomeCandidate();
  void BecomeLeader(Epoch epoch);
  // Follower of `leader`, which it has not fetched from; FollowAndFetch: with one answer.
  void Follow(int32_t leader, Epoch epoch);
  void FollowAndFetch(int32_t leader, Epoch epoch);

  // Time. Advance fires the timer at every armed deadline on its way.
  void Advance(Duration duration);
  void AdvanceTo(MonoTime instant);
  // Advances to the armed deadline and fires it.
  void FireTimer();
  // Fires timers until the role is `role`; fails the test after `limit`.
  void AdvanceUntil(raft::RoleKind role, Duration limit = Ms(20'000));
  MonoTime now() const { return now_; }
  Duration Until(MonoTime instant) const { return instant - now_; }
  MonoTime deadline() const { return armed_; }

  // The disk.
  void HoldWrites() { hold_writes_ = true; }
  // Syncs what is held; new writes are held again.
  void CompleteWrites();
  // Syncs what is held and goes back to syncing at once.
  void ReleaseWrites();
  // The election state that is synced.
  const ElectionState& synced_election() const { return synced_.election; }
  size_t election_writes() const { return election_writes_; }

  // What has left since the last Forget().
  template <typename Message>
  std::vector<SentMessage<Message>> Sent() const {
    std::vector<SentMessage<Message>> sent;
    for (const Outbound& outbound : outbox_) {
      if (outbound.left && !outbound.forgotten) AppendIf<Message>(outbound, sent);
    }
    return sent;
  }
  // To whom.
  template <typename Message>
  std::vector<ReplicaKey> SentTo() const {
    std::vector<ReplicaKey> peers;
    for (const auto& sent : Sent<Message>()) peers.push_back(sent.to);
    return peers;
  }
  // What is kept back at a gate.
  template <typename Message>
  std::vector<SentMessage<Message>> Waiting() const {
    std::vector<SentMessage<Message>> waiting;
    for (const Outbound& outbound : outbox_) {
      if (outbound.left || outbound.dropped) continue;
      AppendIf<Message>(outbound, waiting);
    }
    return waiting;
  }
  // Effects of that type since the last Forget(), in order.
  template <typename Effect>
  std::vector<Effect> Effects() const {
    std::vector<Effect> found;
    for (size_t i = forgotten_effects_; i < effects_.size(); ++i) {
      if (const auto* match = std::get_if<Effect>(&effects_[i])) found.push_back(*match);
    }
    return found;
  }
  void Forget();

  const raft::Replica& replica() const { return *replica_; }
  raft::RoleKind role() const { return replica_->role(); }
  Epoch epoch() const { return replica_->election().epoch; }
  std::optional<ReplicaKey> leader() const { return replica_->election().leader; }
  std::optional<ReplicaKey> voted() const { return replica_->election().voted; }
  std::optional<Offset> high_watermark() const { return replica_->high_watermark(); }
  Offset log_end() const { return replica_->log().end(); }
  OffsetAndEpoch end_point() const { return replica_->log().EndPoint(); }
  bool quarantined() const { return replica_->quarantine().has_value(); }

 private:
  // A Send or a Reply, and the writes that its gate waits for.
  struct Outbound {
    raft::Effect effect;
    uint64_t incarnation = 0;
    uint64_t waits_for = 0;
    MonoTime at;
    bool left = false;
    bool dropped = false;
    bool forgotten = false;
  };

  // What the effects have written, or what of it is synced.
  struct Disk {
    ElectionState election;
    std::vector<std::pair<Epoch, Offset>> epoch_starts;
    Offset end;
    VoterSetHistory voters;
  };

  template <typename Message>
  static void AppendIf(const Outbound& outbound, std::vector<SentMessage<Message>>& out) {
    const auto* send = std::get_if<raft::Send>(&outbound.effect);
    if (send == nullptr || !std::holds_alternative<Message>(send->message)) return;
    out.push_back(SentMessage<Message>{send->to, std::get<Message>(send->message),
                                       raft::Correlation{send->to, send->incarnation, send->number},
                                       outbound.at});
  }

  // The newest request that has left to `peer`, forgotten or not.
  template <typename Message>
  SentMessage<Message> Newest(const ReplicaKey& peer) const {
    std::vector<SentMessage<Message>> sent;
    for (const Outbound& outbound : outbox_) {
      if (outbound.left) AppendIf<Message>(outbound, sent);
    }
    while (!sent.empty() && sent.back().to != peer) sent.pop_back();
    CHECK(!sent.empty()) << "nothing of that kind was sent to " << peer;
    return sent.back();
  }

  // Runs one step of the replica and carries out its effects. `event` is null for Start.
  void Run(const raft::Event* event);
  void Carry(const raft::Effect& effect, const raft::Event* event);
  void WriteElection(const ElectionState& election);
  void StartEpoch(Epoch epoch, Offset offset);
  void AppendFetched(const raft::AppendFetchedBatches& effect, const raft::Event& event);
  void TruncateTo(Offset end);
  // Memory and disk must tell the same story.
  void CheckDisk() const;
  void Release();
  void SyncHeld();
  // I2: every vote that leaves is the epoch's only one.
  void ObserveVote(const raft::Effect& left);
  void NoteVote(Epoch epoch, const ReplicaKey& candidate);
  // I3.
  void ObserveLeadership();
  void StartNewLife();
  void StartIfNew();
  void AnswerAllVotes(bool granted);
  // The effect of that type that carries `token`, if there is one so far.
  template <typename Effect>
  const Effect* FindReply(raft::Token token) const {
    for (const raft::Effect& effect : effects_) {
      const auto* match = std::get_if<Effect>(&effect);
      if (match != nullptr && match->token == token) return match;
    }
    return nullptr;
  }
  // Steps a request under a new token and returns its answer.
  template <typename Reply, typename Request>
  Reply Ask(const Request& request) {
    const raft::Token token = ++last_token_;
    Step(raft::Requested<Request>{token, request});
    const Reply* reply = FindReply<Reply>(token);
    CHECK(reply != nullptr) << "every request is answered";
    return *reply;
  }

  const ReplicaKey self_;
  raft::Config config_;
  Prng prng_;
  std::optional<raft::Replica> replica_;
  MonoTime now_{Ms(1'000)};
  MonoTime armed_ = kNever;

  Disk disk_;
  Disk synced_;
  Offset high_watermark_bound_;
  std::optional<Duration> first_campaign_after_;
  size_t election_writes_ = 0;
  bool hold_writes_ = false;
  // Numbers of writes: of the step that runs, of the last one of each kind, of the last synced one.
  uint64_t write_ = 0;
  uint64_t election_write_ = 0;
  uint64_t log_write_ = 0;
  uint64_t synced_write_ = 0;

  raft::Token last_token_ = 0;
  std::map<raft::Token, raft::VoteRequest> vote_requests_;
  std::vector<raft::Effect> effects_;
  std::vector<Outbound> outbox_;
  // Effects before this index are forgotten.
  size_t forgotten_effects_ = 0;

  int life_ = 0;
  std::map<Epoch, ReplicaKey> votes_;
  std::map<Epoch, int> led_in_life_;
};

}  // namespace quorum::conformance
