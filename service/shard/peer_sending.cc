// This node's own requests go out, and their answers come back to the replicas that asked.

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/control_record.h"
#include "service/base/overloaded.h"
#include "service/raft/on_fetch.h"
#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

Envelope MakeEnvelope(const ShardState& shard, const ReplicaKey& to, Lane lane,
                      std::optional<Incarnation> to_incarnation) {
  return Envelope{shard.config.cluster_id,
                  PeerIdentity{shard.config.self, shard.config.incarnation},
                  PeerIdentity{to, to_incarnation}, lane};
}

FollowerSession& SessionWith(ShardState& shard, const ReplicaKey& peer, Lane lane) {
  return shard.follower_sessions
      .try_emplace(LinkKey{peer, lane}, &shard.next_session_id, shard.config.lane_count,
                   shard.config.fetch_entries_max)
      .first->second;
}

FetchEntry MakeFetchEntry(PartitionId partition, const raft::FetchRequest& request) {
  FetchEntry entry;
  entry.partition = partition;
  entry.current_leader_epoch = request.current_leader_epoch;
  entry.fetch_offset = request.fetch_offset;
  entry.last_fetched_epoch = request.last_fetched_epoch;
  entry.known_high_watermark = request.known_high_watermark;
  entry.high_watermark = request.high_watermark;
  return entry;
}

void NameInSession(ShardState& shard, Partition& partition, const raft::Correlation& correlation,
                   const raft::FetchRequest& request) {
  if (partition.fetch_peer.has_value() && *partition.fetch_peer != correlation.peer) {
    WithdrawFromFollowerSession(shard, partition);
  }
  partition.fetch_peer = correlation.peer;
  SessionWith(shard, correlation.peer, partition.lane)
      .Name(MakeFetchEntry(partition.id, request), correlation);
}

// The voter set that a control batch brings; false when the batch cannot be read.
bool ReadVoters(const RecordBatch& batch, std::optional<VoterSet>* voters) {
  if (!batch.control()) return true;
  absl::StatusOr<std::vector<ControlRecord>> records = DecodeControlBatch(batch);
  if (!records.ok()) return false;
  for (const ControlRecord& record : *records) {
    if (const auto* found = std::get_if<VotersRecord>(&record)) *voters = found->voters;
  }
  return true;
}

raft::FetchResponse MakeFetchResponse(const FetchAnswerEntry& answer) {
  raft::FetchResponse response;
  response.header = answer.header;
  response.high_watermark = answer.high_watermark;
  if (answer.diverging.has_value()) {
    response.payload = raft::FetchedDivergence{*answer.diverging};
    return response;
  }
  raft::FetchedBatches fetched;
  for (const RecordBatch& batch : answer.batches) {
    raft::BatchSummary summary{batch.base_offset(), batch.last_offset(), batch.epoch(), {}};
    // What cannot be understood ends what is taken, as a damaged batch would.
    if (!ReadVoters(batch, &summary.voters)) break;
    fetched.batches.push_back(std::move(summary));
  }
  // Batches of which not even the first is understood are not the same as nothing new.
  if (!answer.batches.empty() || answer.damaged) response.payload = std::move(fetched);
  return response;
}

void StepAnswer(ShardState& shard, Partition& partition, const FollowerSession::Delivery& delivery,
                std::optional<Offset> border = std::nullopt) {
  if (delivery.answer->damaged) {
    shard.seams.observer.OnDamagedFetch(partition.id, delivery.correlation.peer);
  }
  StepInput input;
  input.fetched = &delivery.answer->batches;
  input.border = border;
  StepPartition(shard, partition,
                raft::FetchResponded{delivery.correlation, MakeFetchResponse(*delivery.answer)},
                input);
}

// The log is cut between batches only, for what is left of one would come back whole at the next
// start. Where the cache cannot tell whether a batch ends at `cut`, the disk is asked before the
// replica hears of it. Meanwhile its Fetch is out, so its log stays as it is.
void AskForBorder(ShardState& shard, const Partition& partition, Offset cut,
                  const FollowerSession::Delivery& delivery) {
  auto finish = [delivery, cut, life = partition.life](ShardState& owner,
                                                       const storage::ReadResult& read) {
    Partition* asked = owner.Find(delivery.partition);
    if (asked == nullptr || asked->life != life) return;
    NoteRead(owner, *asked, read.status());
    if (read.ok()) {
      const bool border = !read->empty() && read->back().next_offset() == cut;
      StepAnswer(owner, *asked, delivery, border ? std::optional<Offset>(cut) : std::nullopt);
      return;
    }
    StepPartition(owner, *asked, raft::PeerFailed{delivery.correlation});
  };
  const storage::ReadRequest request{delivery.partition, cut + -1, cut, 0};
  Mailbox<MailboxItem>& mailbox = shard.mailbox;
  shard.seams.reader.Read(request, [&mailbox, finish](storage::ReadResult read) {
    mailbox.PostOwn(Task([finish, read](ShardState& owner) { finish(owner, read); }));
  });
}

void Deliver(ShardState& shard, const FollowerSession::Delivery& delivery) {
  Partition* partition = shard.Find(delivery.partition);
  if (partition == nullptr) return;
  if (!delivery.answer.has_value()) {
    StepPartition(shard, *partition, raft::PeerFailed{delivery.correlation});
    return;
  }
  if (delivery.answer->diverging.has_value()) {
    const raft::LogShape& log = partition->replica.log();
    const Offset cut =
        raft::TruncationPoint(partition->replica.state(), *delivery.answer->diverging);
    const bool inner = cut > log.start() && cut < log.end();
    if (inner && !shard.cache.HasBorder(partition->id, cut).has_value()) {
      AskForBorder(shard, *partition, cut, delivery);
      return;
    }
  }
  StepAnswer(shard, *partition, delivery);
}

// A Fetch that is out.
struct SentFetch {
  LinkKey link;
  SessionRequestPlace place;
  size_t max_bytes = 0;
  MonoTime at;
};

size_t RecordBytes(const LaneResponse& response) {
  const auto* answer = std::get_if<FetchAnswer>(&response.body);
  if (answer == nullptr) return 0;
  size_t bytes = 0;
  for (const FetchAnswerEntry& entry : answer->entries) {
    for (const RecordBatch& batch : entry.batches) bytes += batch.size();
  }
  return bytes;
}

// What became of it tells how much the next one may ask for, whatever became of its session.
void NoteFetchSize(ShardState& shard, const SentFetch& sent,
                   const std::optional<LaneResponse>& response) {
  if (response.has_value()) {
    shard.fetch_sizes.OnAnswer(sent.link, sent.max_bytes, RecordBytes(*response),
                               shard.now - sent.at, shard.now);
  } else {
    shard.fetch_sizes.OnFailure(sent.link, sent.max_bytes, shard.now);
  }
}

void OnFetchAnswer(ShardState& shard, const SentFetch& sent,
                   const std::optional<LaneResponse>& response) {
  NoteFetchSize(shard, sent, response);
  const auto found = shard.follower_sessions.find(sent.link);
  if (found == shard.follower_sessions.end()) return;
  const std::vector<FollowerSession::Delivery> deliveries =
      found->second.OnAnswer(sent.place, response, shard.now);
  for (const FollowerSession::Delivery& delivery : deliveries) Deliver(shard, delivery);
}

// How many bytes of records the next Fetch may ask for. With none left it still brings one batch.
size_t FetchBytes(const ShardState& shard, const LinkKey& link) {
  const size_t unsynced =
      std::min(shard.fetched_unsynced_bytes, shard.config.fetched_unsynced_bytes_max);
  return std::min(shard.fetch_sizes.Next(link), shard.config.fetched_unsynced_bytes_max - unsynced);
}

void SendFetch(ShardState& shard, const LinkKey& link, FollowerSession& session, FetchBatch batch) {
  batch.max_wait = shard.config.raft.fetch_max_wait;
  batch.max_bytes = FetchBytes(shard, link);
  const SentFetch sent{link, *batch.session, batch.max_bytes, shard.now};
  LaneRequest request{MakeEnvelope(shard, link.peer, link.lane, session.leader_incarnation()),
                      std::move(batch)};
  Mailbox<MailboxItem>& mailbox = shard.mailbox;
  shard.seams.transport.Send(
      std::move(request), shard.config.raft.fetch_max_wait + shard.config.raft.request_timeout,
      [&mailbox, sent](std::optional<LaneResponse> response) {
        mailbox.PostOwn(Task([sent, response = std::move(response)](ShardState& owner) {
          OnFetchAnswer(owner, sent, response);
        }));
      });
}

template <typename Responded, typename Response>
void StepResponse(ShardState& shard, Partition& partition, const raft::Correlation& correlation,
                  Response response) {
  StepPartition(shard, partition, Responded{correlation, std::move(response)});
}

void DeliverHeader(ShardState& shard, const LaneRequestBody& kind, Partition& partition,
                   const raft::Correlation& correlation, const HeaderEntry& entry) {
  std::visit(Overloaded{
                 [&](const VoteBatch&) {
                   StepResponse<raft::VoteResponded>(
                       shard, partition, correlation,
                       raft::VoteResponse{entry.header, entry.granted});
                 },
                 [&](const BeginBatch&) {
                   StepResponse<raft::BeginQuorumEpochResponded>(
                       shard, partition, correlation, raft::BeginQuorumEpochResponse{entry.header});
                 },
                 [&](const EndBatch&) {
                   StepResponse<raft::EndQuorumEpochResponded>(
                       shard, partition, correlation, raft::EndQuorumEpochResponse{entry.header});
                 },
                 [](const FetchBatch&) {},
             },
             kind);
}

// Entries that the answer leaves out, and all of them when there is none, have failed.
void OnBatchAnswer(ShardState& shard, const LaneRequestBody& kind,
                   std::map<PartitionId, raft::Correlation> correlations,
                   const std::optional<LaneResponse>& response) {
  const HeaderAnswer* answer =
      response.has_value() ? std::get_if<HeaderAnswer>(&response->body) : nullptr;
  if (answer != nullptr) {
    for (const HeaderEntry& entry : answer->entries) {
      const auto asked = correlations.find(entry.partition);
      if (asked == correlations.end()) continue;
      const raft::Correlation correlation = asked->second;
      // INVALID_REQUEST without an epoch comes from the door, not from the replica: it is no
      // verdict.
      if (!entry.has_epoch) continue;
      correlations.erase(asked);
      Partition* partition = shard.Find(entry.partition);
      if (partition != nullptr) DeliverHeader(shard, kind, *partition, correlation, entry);
    }
  }
  for (const auto& [id, correlation] : correlations) {
    Partition* partition = shard.Find(id);
    if (partition != nullptr) StepPartition(shard, *partition, raft::PeerFailed{correlation});
  }
}

// A copy of the kind of a body, without its entries.
LaneRequestBody KindOf(const LaneRequestBody& body) {
  return std::visit(
      [](const auto& kind) { return LaneRequestBody(std::decay_t<decltype(kind)>{}); }, body);
}

void SendBatch(ShardState& shard, PeerOutbox::Batch batch) {
  LaneRequestBody kind = KindOf(batch.body);
  LaneRequest request{MakeEnvelope(shard, batch.to, batch.lane, std::nullopt),
                      std::move(batch.body)};
  Mailbox<MailboxItem>& mailbox = shard.mailbox;
  shard.seams.transport.Send(
      std::move(request), shard.config.raft.request_timeout,
      [&mailbox, kind = std::move(kind),
       correlations = std::move(batch.correlations)](std::optional<LaneResponse> response) {
        mailbox.PostOwn(
            Task([kind, correlations, response = std::move(response)](ShardState& owner) {
              OnBatchAnswer(owner, kind, correlations, response);
            }));
      });
}

}  // namespace

void SendToPeer(ShardState& shard, Partition& partition, const raft::Send& send) {
  const raft::Correlation correlation{send.to, send.incarnation, send.number};
  std::visit(Overloaded{
                 [&](const raft::FetchRequest& request) {
                   NameInSession(shard, partition, correlation, request);
                 },
                 [&](const auto& request) {
                   shard.outbox.Add(partition.id, partition.lane, correlation, request);
                 },
             },
             send.message);
}

void WithdrawFromFollowerSession(ShardState& shard, Partition& partition) {
  if (!partition.fetch_peer.has_value()) return;
  const auto found = shard.follower_sessions.find(LinkKey{*partition.fetch_peer, partition.lane});
  partition.fetch_peer.reset();
  if (found != shard.follower_sessions.end()) found->second.Withdraw(partition.id);
}

void FlushPeerRequests(ShardState& shard) {
  for (PeerOutbox::Batch& batch : shard.outbox.Take()) SendBatch(shard, std::move(batch));
  for (auto link = shard.follower_sessions.begin(); link != shard.follower_sessions.end();) {
    FollowerSession& session = link->second;
    while (std::optional<FetchBatch> batch = session.NextRequest()) {
      SendFetch(shard, link->first, session, *std::move(batch));
    }
    // With nobody that it leads here, a peer is forgotten.
    link = session.idle() ? shard.follower_sessions.erase(link) : std::next(link);
  }
}

}  // namespace quorum::shard
