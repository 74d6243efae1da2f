// PeerOutbox: gathers the Vote, BeginQuorumEpoch and EndQuorumEpoch requests of one round, so that
// each (destination, lane, kind) gets one RPC however many partitions speak (architecture.md 4).
// They never wait behind Fetch payload: each kind is an RPC of its own.
//
// Thread: the shard thread.

#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/raft/event.h"
#include "service/raft/messages.h"
#include "service/shard/peer_messages.h"

namespace quorum::shard {

class PeerOutbox {
 public:
  // One RPC, and whom its answers are for.
  struct Batch {
    ReplicaKey to;
    Lane lane;
    LaneRequestBody body;
    std::map<PartitionId, raft::Correlation> correlations;
  };

  void Add(PartitionId partition, Lane lane, const raft::Correlation& correlation,
           const raft::VoteRequest& request);
  void Add(PartitionId partition, Lane lane, const raft::Correlation& correlation,
           const raft::BeginQuorumEpochRequest& request);
  void Add(PartitionId partition, Lane lane, const raft::Correlation& correlation,
           const raft::EndQuorumEpochRequest& request);

  // Everything gathered since the last call.
  std::vector<Batch> Take();

 private:
  enum class Kind { kVote, kBegin, kEnd };
  struct Destination {
    ReplicaKey to;
    Lane lane;
    Kind kind;
    friend bool operator<(const Destination& a, const Destination& b) {
      return std::tie(a.kind, a.to, a.lane) < std::tie(b.kind, b.to, b.lane);
    }
  };

  // Adds one entry. A partition that speaks twice in a round has changed its mind: the later entry
  // takes the place of the earlier one.
  template <typename Body, typename Entry>
  void AddEntry(Lane lane, Kind kind, const raft::Correlation& correlation, Entry entry);

  std::map<Destination, Batch> batches_;
};

}  // namespace quorum::shard
