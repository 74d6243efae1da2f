// ShardCluster: three nodes, each one Shard on a disk of its own, and a net between them that
// delivers everything after one millisecond and counts it. One thread, one clock.
//
//   ShardCluster cluster;
//   cluster.Birth(Id(7), 0);                 // On all three; node 1 is the first to campaign.
//   cluster.Advance(Ms(1000));
//   cluster.Append(Id(7));
//
// Thread: the test's.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/shard/peer_messages.h"
#include "service/shard/shard.h"
#include "tests/service/shard/shard_fixtures.h"

namespace quorum::shard {

class ShardCluster {
 public:
  static constexpr int32_t kNodes = 3;

  // Requests that have left a node, by kind; `entries` are those of Fetch requests.
  struct Traffic {
    size_t votes = 0;
    size_t begins = 0;
    size_t ends = 0;
    size_t fetches = 0;
    size_t fetch_entries = 0;
    size_t syncs = 0;
    size_t requests() const { return votes + begins + ends + fetches; }
  };

  ShardCluster();
  ~ShardCluster();

  // Born on all nodes; node 1 + `first` campaigns at once.
  void Birth(PartitionId partition, size_t first);
  void Advance(Duration by);
  // The process of a node ends and its requests time out; it stays down.
  void Stop(int32_t node);

  // The node that leads and has committed in its epoch, by its own account; 0 for none.
  int32_t LeaderOf(PartitionId partition) const;
  const raft::Replica& Replica(int32_t node, PartitionId partition) const;
  // Appends one record at the leader. False while it is not committed.
  std::shared_ptr<bool> Append(PartitionId partition);

  // What has been counted since the last call.
  Traffic TakeTraffic();

 private:
  struct Node;

  void Send(int32_t from, LaneRequest request, Duration timeout, PeerDone done);
  void RunDue();
  Node* Find(int32_t node) const;

  ManualClock clock_;
  std::array<std::unique_ptr<Node>, kNodes> nodes_;
  std::multimap<MonoTime, std::function<void()>> net_;
  Traffic traffic_;
};

}  // namespace quorum::shard
