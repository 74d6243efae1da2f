// Requests of peers come in: the envelope is checked once, each entry is stepped as if it had come
// alone.

#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/base/overloaded.h"
#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

bool IsKnownSender(const PeerIdentity& identity) {
  return identity.key.id >= NodeId(1) && !identity.key.directory.IsZero();
}

std::optional<EnvelopeError> CheckEnvelope(const ShardState& shard, const LaneRequest& request) {
  const FetchBatch* fetch = std::get_if<FetchBatch>(&request.body);
  if (IsBehind(shard)) return EnvelopeError::kThrottled;
  const bool anonymous = fetch != nullptr && fetch->anonymous;
  const Envelope& envelope = request.envelope;
  // Peers must name the cluster; an anonymous reader may leave it out.
  if (envelope.cluster_id != shard.config.cluster_id &&
      !(anonymous && envelope.cluster_id.empty())) {
    return EnvelopeError::kInconsistentClusterId;
  }
  if (envelope.lane.value() >= shard.config.lane_count) return EnvelopeError::kInvalidRequest;
  if (!anonymous && !IsKnownSender(envelope.from)) return EnvelopeError::kInvalidRequest;
  return std::nullopt;
}

HeaderEntry RefusedEntry(PartitionId partition, raft::RaftError error) {
  HeaderEntry entry;
  entry.partition = partition;
  entry.header.error = error;
  entry.has_epoch = false;
  return entry;
}

raft::VoteRequested MakeEvent(const Envelope& envelope, const VoteEntry& entry, raft::Token token) {
  return {token, raft::VoteRequest{envelope.from.key, envelope.to.key, entry.epoch, entry.log_end,
                                   entry.pre_vote}};
}

raft::BeginQuorumEpochRequested MakeEvent(const Envelope& envelope, const BeginEntry& entry,
                                          raft::Token token) {
  return {token, raft::BeginQuorumEpochRequest{envelope.from.key, envelope.to.key, entry.epoch}};
}

raft::EndQuorumEpochRequested MakeEvent(const Envelope& envelope, const EndEntry& entry,
                                        raft::Token token) {
  return {token,
          raft::EndQuorumEpochRequest{envelope.from.key, entry.epoch, entry.preferred_successors}};
}

std::optional<std::pair<ReplicaKey, Epoch>> VoteOf(const Envelope& envelope,
                                                   const VoteEntry& entry) {
  if (entry.pre_vote) return std::nullopt;
  return std::make_pair(envelope.from.key, entry.epoch);
}

std::optional<std::pair<ReplicaKey, Epoch>> VoteOf(const Envelope&, const BeginEntry&) {
  return std::nullopt;
}

std::optional<std::pair<ReplicaKey, Epoch>> VoteOf(const Envelope&, const EndEntry&) {
  return std::nullopt;
}

template <typename Entry>
void Execute(ShardState& shard, const Envelope& envelope, const Entry& entry, bool repeated,
             uint64_t batch) {
  // A partition named twice: nothing is executed for it, and both entries say so.
  if (repeated || LaneOf(entry.partition, shard.config.lane_count) != envelope.lane) {
    shard.seams.observer.OnRefusal(raft::RaftError::kInvalidRequest);
    ResolveBatchEntry(shard, batch,
                      RefusedEntry(entry.partition, raft::RaftError::kInvalidRequest));
    return;
  }
  Partition* partition = shard.Find(entry.partition);
  if (partition == nullptr) {
    ResolveBatchEntry(shard, batch,
                      RefusedEntry(entry.partition, raft::RaftError::kUnknownTopicOrPartition));
    return;
  }
  const raft::Token token =
      AddWaiter(shard, Waiter{entry.partition, WaitsInBatch{batch, VoteOf(envelope, entry)}});
  StepPartition(shard, *partition, MakeEvent(envelope, entry, token));
}

template <typename Entry>
void OnBatch(ShardState& shard, const Envelope& envelope, const std::vector<Entry>& entries,
             PeerReply reply) {
  std::map<PartitionId, int> named;
  for (const Entry& entry : entries) ++named[entry.partition];
  const uint64_t id = ++shard.last_pending;
  PendingBatch& pending = shard.pending_batches[id];
  pending.reply = std::move(reply);
  // One more than there are entries, so that the answer cannot leave before all are stepped.
  pending.outstanding = entries.size() + 1;
  for (const Entry& entry : entries) {
    Execute(shard, envelope, entry, named[entry.partition] > 1, id);
  }
  ResolveBatchEntry(shard, id, std::nullopt);
}

}  // namespace

LaneResponse Respond(const ShardState& shard, LaneResponseBody body) {
  return LaneResponse{PeerIdentity{shard.config.self, shard.config.incarnation}, std::move(body)};
}

void OnPeerRequest(ShardState& shard, PeerItem item) {
  const std::optional<EnvelopeError> error = CheckEnvelope(shard, item.request);
  if (error.has_value()) {
    if (*error == EnvelopeError::kThrottled) {
      shard.seams.observer.OnRefusal(raft::RaftError::kThrottled);
    }
    item.reply(Respond(shard, RefusedRequest{*error}));
    return;
  }
  const Envelope& envelope = item.request.envelope;
  std::visit(Overloaded{
                 [&](const VoteBatch& batch) {
                   OnBatch(shard, envelope, batch.entries, std::move(item.reply));
                 },
                 [&](const BeginBatch& batch) {
                   OnBatch(shard, envelope, batch.entries, std::move(item.reply));
                 },
                 [&](const EndBatch& batch) {
                   OnBatch(shard, envelope, batch.entries, std::move(item.reply));
                 },
                 [&](FetchBatch& batch) {
                   OnFetchBatch(shard, envelope, std::move(batch), std::move(item.reply));
                 },
             },
             item.request.body);
}

void ResolveBatchEntry(ShardState& shard, uint64_t batch, std::optional<HeaderEntry> entry) {
  const auto found = shard.pending_batches.find(batch);
  if (found == shard.pending_batches.end()) return;
  PendingBatch& pending = found->second;
  if (entry.has_value()) pending.answer.entries.push_back(*std::move(entry));
  CHECK_GT(pending.outstanding, 0u);
  if (--pending.outstanding > 0) return;
  PendingBatch done = std::move(pending);
  shard.pending_batches.erase(found);
  done.reply(Respond(shard, std::move(done.answer)));
}

}  // namespace quorum::shard
