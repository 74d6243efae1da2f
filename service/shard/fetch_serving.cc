// Fetch is served: the leader's ends of sessions, and single fetches without one.

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

using Ready = LeaderSession::Ready;

// A follower that waits for anything is heard of once in each fetch wait.
constexpr Duration kSessionSilenceMax = std::chrono::minutes(5);

void Send(const ShardState& shard, LeaderSession::Released released) {
  released.reply(Respond(shard, std::move(released.answer)));
}

LeaderSession::ReadCache CacheReader(const ShardState& shard) {
  return [&shard](PartitionId partition, const raft::ServeRecords& range, size_t max_bytes) {
    return shard.cache.Read(partition, range.from, range.end, max_bytes);
  };
}

void CancelFetch(ShardState& shard, PartitionId id, raft::Token token) {
  (void)TakeWaiter(shard, token);
  Partition* partition = shard.Find(id);
  if (partition != nullptr) StepPartition(shard, *partition, raft::FetchCancelled{token});
}

void EndSession(ShardState& shard, const SessionKey& key, SessionError error) {
  const auto found = shard.leader_sessions.find(key);
  if (found == shard.leader_sessions.end()) return;
  LeaderSession::Ending ending = found->second.End(error);
  shard.leader_sessions.erase(found);
  for (const auto& [partition, token] : ending.cancelled) CancelFetch(shard, partition, token);
  for (LeaderSession::Released& answer : ending.answers) Send(shard, std::move(answer));
}

void RefuseSession(const ShardState& shard, const SessionRequestPlace& place,
                   const PeerReply& reply, SessionError error) {
  FetchAnswer answer;
  answer.session = SessionAnswerPlace{place.session_id, 0, place.request_number, error};
  reply(Respond(shard, std::move(answer)));
}

// Is the request meant for this very process life of this very replica key? A follower that has
// had no answer yet cannot name the life; but a session is known to the life that opened it only.
bool IsForThisLife(const ShardState& shard, const Envelope& envelope) {
  if (envelope.to.key != shard.config.self) return false;
  return envelope.to.incarnation.value_or(shard.config.incarnation) == shard.config.incarnation;
}

// Node ids come from whoever connects, so strangers are bounded; who is known keeps its place.
bool HasRoomFor(const ShardState& shard, const SessionKey& stranger) {
  const auto known =
      std::count_if(shard.newest_sessions.begin(), shard.newest_sessions.end(),
                    [&](const auto& entry) { return entry.first.lane == stranger.lane; });
  return static_cast<size_t>(known) < shard.config.followers_max;
}

// Why a request that opens a session is refused; kNone when it is not.
SessionError JudgeOpening(const ShardState& shard, const Envelope& envelope,
                          const SessionRequestPlace& place, const SessionKey& key) {
  if (place.lane_count != shard.config.lane_count) return SessionError::kInconsistentLaneCount;
  const auto newest = shard.newest_sessions.find(key);
  if (newest == shard.newest_sessions.end()) {
    return HasRoomFor(shard, key) ? SessionError::kNone : SessionError::kSessionIdNotFound;
  }
  const PeerIdentity& known = newest->second.follower;
  if (known.key != envelope.from.key) return SessionError::kNone;
  if (*envelope.from.incarnation < *known.incarnation) return SessionError::kSessionIdNotFound;
  if (*envelope.from.incarnation == *known.incarnation &&
      place.session_id <= newest->second.session_id) {
    return SessionError::kSessionIdNotFound;
  }
  return SessionError::kNone;
}

// The session that the request belongs to, opened if need be; null when it was refused.
LeaderSession* FindSession(ShardState& shard, const Envelope& envelope,
                           const SessionRequestPlace& place, const PeerReply& reply) {
  const SessionKey key{envelope.from.key.id, envelope.lane};
  const bool opening = place.request_number == 1;
  if (!envelope.from.incarnation.has_value() || place.session_id == 0 ||
      !IsForThisLife(shard, envelope)) {
    RefuseSession(shard, place, reply, SessionError::kInvalidRequest);
    return nullptr;
  }
  if (opening) {
    const SessionError error = JudgeOpening(shard, envelope, place, key);
    if (error != SessionError::kNone) {
      RefuseSession(shard, place, reply, error);
      return nullptr;
    }
    EndSession(shard, key, SessionError::kSessionIdNotFound);
    shard.newest_sessions[key] =
        ShardState::NewestSession{envelope.from, place.session_id, shard.now};
    return &shard.leader_sessions.emplace(key, LeaderSession(envelope.from, place.session_id))
                .first->second;
  }
  const auto found = shard.leader_sessions.find(key);
  if (found == shard.leader_sessions.end() || found->second.session_id() != place.session_id ||
      found->second.follower().key != envelope.from.key ||
      found->second.follower().incarnation != envelope.from.incarnation) {
    RefuseSession(shard, place, reply, SessionError::kSessionIdNotFound);
    return nullptr;
  }
  shard.newest_sessions.at(key).heard_at = shard.now;
  return &found->second;
}

// Forgets the followers that have vanished. One that comes back opens another session.
void ForgetSilentFollowers(ShardState& shard) {
  std::vector<SessionKey> silent;
  for (const auto& [key, newest] : shard.newest_sessions) {
    if (shard.now - newest.heard_at > kSessionSilenceMax) silent.push_back(key);
  }
  for (const SessionKey& key : silent) {
    EndSession(shard, key, SessionError::kSessionIdNotFound);
    shard.newest_sessions.erase(key);
  }
}

raft::FetchRequest MakeRequest(const Envelope& envelope, const FetchEntry& entry, bool anonymous,
                               bool may_wait) {
  raft::FetchRequest request;
  if (!anonymous) {
    request.replica = envelope.from.key;
    request.replica_incarnation = envelope.from.incarnation.value_or(Incarnation(0));
  }
  request.current_leader_epoch = entry.current_leader_epoch;
  request.fetch_offset = entry.fetch_offset;
  request.last_fetched_epoch = entry.last_fetched_epoch;
  request.known_high_watermark = entry.known_high_watermark;
  request.high_watermark = entry.high_watermark;
  request.may_wait = may_wait;
  return request;
}

FetchAnswerEntry ErrorEntry(PartitionId partition, raft::RaftError error) {
  FetchAnswerEntry entry;
  entry.partition = partition;
  entry.header.error = error;
  entry.has_epoch = false;
  return entry;
}

std::map<PartitionId, int> CountNames(const FetchBatch& batch) {
  std::map<PartitionId, int> named;
  for (const FetchEntry& entry : batch.entries) ++named[entry.partition];
  return named;
}

// What keeps an entry from reaching its replica; kNone when nothing does.
raft::RaftError JudgeEntry(const ShardState& shard, Lane lane, const FetchEntry& entry,
                           const std::map<PartitionId, int>& named) {
  if (named.at(entry.partition) > 1) return raft::RaftError::kInvalidRequest;
  if (LaneOf(entry.partition, shard.config.lane_count) != lane) {
    return raft::RaftError::kInvalidRequest;
  }
  if (shard.partitions.count(entry.partition) == 0) {
    return raft::RaftError::kUnknownTopicOrPartition;
  }
  return raft::RaftError::kNone;
}

bool Leads(const raft::Replica& replica, Epoch epoch) {
  return replica.role() == raft::RoleKind::kLeader && replica.election().epoch == epoch &&
         !replica.quarantine().has_value();
}

void ExecuteSessionEntry(ShardState& shard, const Envelope& envelope, LeaderSession& session,
                         const FetchEntry& entry, const std::map<PartitionId, int>& named) {
  const SessionKey key{envelope.from.key.id, envelope.lane};
  const raft::RaftError error = JudgeEntry(shard, envelope.lane, entry, named);
  const std::optional<raft::Token> before = entry.withdraw && named.at(entry.partition) == 1
                                                ? session.Remove(entry.partition)
                                                : std::nullopt;
  if (before.has_value()) CancelFetch(shard, entry.partition, *before);
  if (entry.withdraw && named.at(entry.partition) == 1) return;
  const raft::Token token =
      AddWaiter(shard, Waiter{entry.partition, WaitsInSession{key, session.session_id()}});
  const std::optional<raft::Token> replaced =
      session.Await(entry.partition, entry.current_leader_epoch, token);
  if (replaced.has_value()) CancelFetch(shard, entry.partition, *replaced);
  if (error != raft::RaftError::kNone) {
    (void)TakeWaiter(shard, token);
    shard.seams.observer.OnRefusal(error);
    session.Answer(entry.partition, token, Ready{ErrorEntry(entry.partition, error), std::nullopt});
    return;
  }
  Partition& partition = *shard.Find(entry.partition);
  StepPartition(shard, partition,
                raft::FetchRequested{token, MakeRequest(envelope, entry, false, true)});
  // A refusal may have to wait for its gate, and the answers until then must not vouch for a
  // leader.
  if (!Leads(partition.replica, entry.current_leader_epoch)) session.Withdraw(entry.partition);
}

void ExecuteSessionRequest(ShardState& shard, const Envelope& envelope, LeaderSession& session,
                           const FetchBatch& batch, PeerReply reply) {
  ++shard.session_requests;
  const Duration wait = std::min(batch.max_wait, shard.config.raft.fetch_max_wait);
  std::optional<LeaderSession::Released> released =
      session.Execute(batch, std::move(reply), shard.now,
                      RoundUp(shard.now + wait, shard.config.raft.timer_grid), CacheReader(shard));
  if (released.has_value()) Send(shard, *std::move(released));
  const std::map<PartitionId, int> named = CountNames(batch);
  for (const FetchEntry& entry : batch.entries) {
    ExecuteSessionEntry(shard, envelope, session, entry, named);
  }
}

void OnSessionRequest(ShardState& shard, const Envelope& envelope, FetchBatch batch,
                      PeerReply reply) {
  const SessionRequestPlace place = *batch.session;
  batch.max_bytes = std::min(batch.max_bytes, shard.config.fetch_bytes_max);
  LeaderSession* session = FindSession(shard, envelope, place, reply);
  if (session == nullptr) return;
  switch (session->Admit(place)) {
    case LeaderSession::Admission::kHold:
      session->Hold(std::move(batch), std::move(reply));
      return;
    case LeaderSession::Admission::kRefuse:
      EndSession(shard, SessionKey{envelope.from.key.id, envelope.lane},
                 SessionError::kInvalidSessionEpoch);
      RefuseSession(shard, place, reply, SessionError::kInvalidSessionEpoch);
      return;
    case LeaderSession::Admission::kExecute:
      break;
  }
  ExecuteSessionRequest(shard, envelope, *session, batch, std::move(reply));
  if (auto held = session->TakeHeld()) {
    ExecuteSessionRequest(shard, envelope, *session, held->first, std::move(held->second));
  }
}

// Sends a session-less answer when it has something to say, or nothing to wait for any more.
void FinishLooseFetch(ShardState& shard, uint64_t id) {
  const auto found = shard.pending_fetches.find(id);
  if (found == shard.pending_fetches.end()) return;
  PendingFetch& fetch = found->second;
  if (!fetch.waiting.empty()) {
    const bool over = !fetch.answer.entries.empty() || shard.now >= fetch.deadline;
    if (!over || fetch.deadline == kNever) return;
    // The others are answered as they are; each answer comes back here, some of them behind a gate.
    fetch.deadline = kNever;
    const std::map<PartitionId, raft::Token> waiting = fetch.waiting;
    for (const auto& [partition_id, token] : waiting) {
      Partition* partition = shard.Find(partition_id);
      if (partition != nullptr) {
        StepPartition(shard, *partition, raft::FetchWaitOver{token});
      }
    }
  }
  const auto again = shard.pending_fetches.find(id);
  if (again == shard.pending_fetches.end() || !again->second.waiting.empty()) return;
  PendingFetch done = std::move(again->second);
  shard.pending_fetches.erase(again);
  shard.loose_fetch_bytes -= done.bytes;
  done.reply(Respond(shard, std::move(done.answer)));
}

void AnswerLooseFetch(ShardState& shard, uint64_t id, FetchAnswerEntry entry) {
  const auto found = shard.pending_fetches.find(id);
  if (found == shard.pending_fetches.end()) return;
  PendingFetch& fetch = found->second;
  fetch.waiting.erase(entry.partition);
  if (fetch.reading == entry.partition) fetch.reading.reset();
  fetch.has_records = fetch.has_records || !entry.batches.empty();
  size_t bytes = 0;
  for (const RecordBatch& batch : entry.batches) bytes += batch.size();
  fetch.bytes_left -= std::min(fetch.bytes_left, bytes);
  fetch.answer.entries.push_back(std::move(entry));
}

void OnLooseFetch(ShardState& shard, const Envelope& envelope, const FetchBatch& batch,
                  PeerReply reply) {
  if (shard.pending_fetches.size() >= shard.config.loose_fetches_max) {
    shard.seams.observer.OnRefusal(raft::RaftError::kThrottled);
    reply(Respond(shard, RefusedRequest{EnvelopeError::kThrottled}));
    return;
  }
  const uint64_t id = ++shard.last_pending;
  PendingFetch& fetch = shard.pending_fetches[id];
  fetch.reply = std::move(reply);
  // With nothing left it still brings one batch.
  fetch.bytes = std::min({batch.max_bytes, shard.config.fetch_bytes_max,
                          shard.config.loose_fetch_bytes_max - shard.loose_fetch_bytes});
  fetch.bytes_left = fetch.bytes;
  shard.loose_fetch_bytes += fetch.bytes;
  fetch.deadline = shard.now + std::min(batch.max_wait, shard.config.raft.fetch_max_wait);
  const bool may_wait = batch.max_wait > Duration::zero();
  const std::map<PartitionId, int> named = CountNames(batch);
  for (const FetchEntry& entry : batch.entries) {
    raft::RaftError error = JudgeEntry(shard, envelope.lane, entry, named);
    if (entry.withdraw) error = raft::RaftError::kInvalidRequest;
    if (error != raft::RaftError::kNone) {
      shard.seams.observer.OnRefusal(error);
      AnswerLooseFetch(shard, id, ErrorEntry(entry.partition, error));
      continue;
    }
    const raft::Token token = AddWaiter(shard, Waiter{entry.partition, WaitsInFetch{id}});
    shard.pending_fetches.at(id).waiting[entry.partition] = token;
    StepPartition(
        shard, *shard.Find(entry.partition),
        raft::FetchRequested{token, MakeRequest(envelope, entry, batch.anonymous, may_wait)});
  }
}

FetchAnswerEntry MakeEntry(PartitionId partition, const raft::ReplyFetch& reply) {
  FetchAnswerEntry entry;
  entry.partition = partition;
  entry.header = reply.header;
  entry.high_watermark = reply.high_watermark;
  entry.log_start = reply.log_start;
  if (const auto* diverging = std::get_if<raft::FetchedDivergence>(&reply.payload)) {
    entry.diverging = diverging->point;
  }
  return entry;
}

LeaderSession* SessionOf(ShardState& shard, const WaitsInSession& waits) {
  const auto found = shard.leader_sessions.find(waits.session);
  if (found == shard.leader_sessions.end()) return nullptr;
  return found->second.session_id() == waits.session_id ? &found->second : nullptr;
}

// Brings an answer with its records to whoever waits for it.
void HandOver(ShardState& shard, const Waiter& waiter, raft::Token token, Ready ready) {
  if (const auto* loose = std::get_if<WaitsInFetch>(&waiter.kind)) {
    AnswerLooseFetch(shard, loose->fetch, std::move(ready.entry));
    return;
  }
  LeaderSession* session = SessionOf(shard, std::get<WaitsInSession>(waiter.kind));
  if (session != nullptr) session->Answer(waiter.partition, token, std::move(ready));
}

// The replica that offered the answer, while it is still in the role incarnation that it was in.
Partition* FindOfferer(ShardState& shard, const Waiter& waiter, const Ready& ready) {
  Partition* partition = shard.Find(waiter.partition);
  if (partition == nullptr || partition->replica.incarnation() != ready.incarnation) return nullptr;
  return partition;
}

Ready NoAnswer(const Waiter& waiter) {
  return Ready{ErrorEntry(waiter.partition, raft::RaftError::kBrokerNotAvailable), std::nullopt};
}

// Reads the records of an answer from the disk. Neither the read nor what comes back counts unless
// the replica is still in the role incarnation that offered them.
void ReadFromDisk(ShardState& shard, const Waiter& waiter, raft::Token token, Ready ready,
                  size_t max_bytes) {
  if (FindOfferer(shard, waiter, ready) == nullptr) {
    HandOver(shard, waiter, token, NoAnswer(waiter));
    return;
  }
  const storage::ReadRequest request{waiter.partition, ready.range->from, ready.range->end,
                                     max_bytes};
  Mailbox<MailboxItem>& mailbox = shard.mailbox;
  auto finish = [waiter, token, ready](ShardState& owner, const storage::ReadResult& result) {
    Partition* partition = FindOfferer(owner, waiter, ready);
    Ready answer = NoAnswer(waiter);
    if (partition != nullptr) {
      const absl::Status status = StatusOfRead(result);
      if (status.ok()) {
        answer.entry = ready.entry;
        answer.entry.batches = *result;
      }
      NoteRead(owner, *partition, status);
    }
    HandOver(owner, waiter, token, std::move(answer));
  };
  shard.seams.reader.Read(request, [&mailbox, finish](storage::ReadResult result) {
    mailbox.PostOwn(Task([finish, result](ShardState& owner) { finish(owner, result); }));
  });
}

// Whether the other entries are answered without records: by then they would make the answer larger
// than a message may be, or keep its reader waiting.
bool IsFull(const ShardState& shard, const PendingFetch& fetch) {
  return fetch.has_records && (fetch.bytes_left == 0 || shard.now >= fetch.reads_until);
}

// Gives an answer its records, from the cache or from the disk, while there is room for any.
void ServeOffer(ShardState& shard, uint64_t id, PendingFetch* fetch, Ready ready) {
  const Waiter waiter{ready.entry.partition, WaitsInFetch{id}};
  if (FindOfferer(shard, waiter, ready) == nullptr) {
    AnswerLooseFetch(shard, id, NoAnswer(waiter).entry);
    return;
  }
  if (IsFull(shard, *fetch)) {
    AnswerLooseFetch(shard, id, std::move(ready.entry));
    return;
  }
  auto cached =
      shard.cache.Read(waiter.partition, ready.range->from, ready.range->end, fetch->bytes_left);
  if (cached.has_value()) {
    ready.entry.batches = *std::move(cached);
    AnswerLooseFetch(shard, id, std::move(ready.entry));
    return;
  }
  fetch->reading = waiter.partition;
  fetch->reads_until = std::min(fetch->reads_until, shard.now + shard.config.raft.fetch_max_wait);
  const raft::Token token = fetch->waiting.at(waiter.partition);
  ReadFromDisk(shard, waiter, token, std::move(ready), fetch->bytes_left);
}

// Serves what was offered for a session-less fetch, until the disk is read. Nobody overtakes who
// waits for the disk: whoever the request names first has records in the answer.
void ServeOffers(ShardState& shard, uint64_t id) {
  const auto found = shard.pending_fetches.find(id);
  if (found == shard.pending_fetches.end()) return;
  PendingFetch& fetch = found->second;
  while (!fetch.reading.has_value() && !fetch.offers.empty()) {
    Ready ready = std::move(fetch.offers.front());
    fetch.offers.pop_front();
    ServeOffer(shard, id, &fetch, std::move(ready));
  }
}

}  // namespace

void OnFetchBatch(ShardState& shard, const Envelope& envelope, FetchBatch batch, PeerReply reply) {
  if (batch.session.has_value()) {
    OnSessionRequest(shard, envelope, std::move(batch), std::move(reply));
  } else {
    OnLooseFetch(shard, envelope, batch, std::move(reply));
  }
}

void DeliverFetchAnswer(ShardState& shard, PartitionId id, uint64_t incarnation, bool current,
                        const raft::ReplyFetch& reply) {
  const std::optional<Waiter> waiter = TakeWaiter(shard, reply.token);
  if (!waiter.has_value()) return;
  if (!current) {
    HandOver(shard, *waiter, reply.token, NoAnswer(*waiter));
    return;
  }
  Ready ready{MakeEntry(id, reply), std::nullopt, incarnation};
  const auto* range = std::get_if<raft::ServeRecords>(&reply.payload);
  if (range == nullptr) {
    HandOver(shard, *waiter, reply.token, std::move(ready));
    return;
  }
  ready.range = *range;
  if (const auto* loose = std::get_if<WaitsInFetch>(&waiter->kind)) {
    const auto pending = shard.pending_fetches.find(loose->fetch);
    if (pending == shard.pending_fetches.end()) return;
    pending->second.offers.push_back(std::move(ready));
    ServeOffers(shard, loose->fetch);
    return;
  }
  // The session reads them when an answer has room for them.
  HandOver(shard, *waiter, reply.token, std::move(ready));
}

void WithdrawFromLeaderSessions(ShardState& shard, const Partition& partition) {
  for (auto& [key, session] : shard.leader_sessions) {
    if (key.lane == partition.lane) session.Withdraw(partition.id);
  }
}

void FlushFetchAnswers(ShardState& shard) {
  ForgetSilentFollowers(shard);
  for (auto& [key, session] : shard.leader_sessions) {
    std::optional<LeaderSession::Released> released = session.Flush(shard.now, CacheReader(shard));
    for (LeaderSession::Uncached& uncached : session.TakeUncached()) {
      const Waiter waiter{uncached.partition, WaitsInSession{key, session.session_id()}};
      const size_t share = shard.config.fetch_bytes_max / LeaderSession::kDiskReadsMax;
      ReadFromDisk(shard, waiter, uncached.token, std::move(uncached.ready),
                   std::min(share, uncached.max_bytes));
    }
    if (released.has_value()) Send(shard, *std::move(released));
  }
  std::vector<uint64_t> loose;
  for (const auto& [id, fetch] : shard.pending_fetches) loose.push_back(id);
  for (const uint64_t id : loose) {
    ServeOffers(shard, id);
    FinishLooseFetch(shard, id);
  }
}

MonoTime NextFetchDeadline(const ShardState& shard) {
  MonoTime next = kNever;
  for (const auto& [key, session] : shard.leader_sessions) {
    next = std::min(next, session.deadline());
  }
  for (const auto& [id, fetch] : shard.pending_fetches) next = std::min(next, fetch.deadline);
  return next;
}

}  // namespace quorum::shard
