#include "service/shard/peer_outbox.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace quorum::shard {

template <typename Body, typename Entry>
void PeerOutbox::AddEntry(Lane lane, Kind kind, const raft::Correlation& correlation, Entry entry) {
  Batch& batch = batches_[Destination{correlation.peer, lane, kind}];
  batch.to = correlation.peer;
  batch.lane = lane;
  if (!std::holds_alternative<Body>(batch.body)) batch.body = Body{};
  auto& entries = std::get<Body>(batch.body).entries;
  const auto [known, inserted] = batch.correlations.insert_or_assign(entry.partition, correlation);
  if (inserted) {
    entries.push_back(std::move(entry));
    return;
  }
  const auto same = std::find_if(entries.begin(), entries.end(), [&entry](const Entry& other) {
    return other.partition == entry.partition;
  });
  *same = std::move(entry);
}

void PeerOutbox::Add(PartitionId partition, Lane lane, const raft::Correlation& correlation,
                     const raft::VoteRequest& request) {
  AddEntry<VoteBatch>(lane, Kind::kVote, correlation,
                      VoteEntry{partition, request.epoch, request.log_end, request.pre_vote});
}

void PeerOutbox::Add(PartitionId partition, Lane lane, const raft::Correlation& correlation,
                     const raft::BeginQuorumEpochRequest& request) {
  AddEntry<BeginBatch>(lane, Kind::kBegin, correlation, BeginEntry{partition, request.epoch});
}

void PeerOutbox::Add(PartitionId partition, Lane lane, const raft::Correlation& correlation,
                     const raft::EndQuorumEpochRequest& request) {
  AddEntry<EndBatch>(lane, Kind::kEnd, correlation,
                     EndEntry{partition, request.epoch, request.preferred_successors});
}

std::vector<PeerOutbox::Batch> PeerOutbox::Take() {
  std::vector<Batch> taken;
  taken.reserve(batches_.size());
  for (auto& [destination, batch] : batches_) taken.push_back(std::move(batch));
  batches_.clear();
  return taken;
}

}  // namespace quorum::shard
