// SimNetwork: carries peer requests between simulated nodes. Each message of a directed link is
// delayed, lost, duplicated or overtaken as the seed says; a request may be executed and its answer
// lost; a link may be cut in one direction. A caller always gets exactly one completion, unless its
// process ended before.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/shard/peer_messages.h"
#include "service/shard/peer_transport.h"
#include "service/shard/shard_api.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/sim_options.h"
#include "tests/sim/statistics.h"
#include "tests/sim/tracer.h"

namespace quorum::sim {

// What a node offers to the network.
class NetworkHost {
 public:
  virtual ~NetworkHost() = default;
  // Null while its process does not run.
  virtual shard::ShardApi* ForLane(Lane lane) = 0;
};

// Sees what crosses the border of a node, at that moment.
class NetworkObserver {
 public:
  virtual ~NetworkObserver() = default;
  virtual void OnRequestLeaves(const shard::LaneRequest& request) = 0;
  virtual void OnAnswerLeaves(const shard::LaneRequest& request,
                              const shard::LaneResponse& response) = 0;
};

class SimNetwork {
 public:
  SimNetwork(EventQueue* queue, const NetworkOptions& options, Prng prng, Tracer* tracer,
             Statistics* statistics, NetworkObserver* observer);

  void Register(NodeId node, NetworkHost* host) { hosts_[node] = host; }

  // Sends a request of the process that runs on its sender. `timeout` is in world time.
  void Call(shard::LaneRequest request, Duration timeout, shard::PeerDone done);
  // The process of that node ended: nobody waits for its calls any more.
  void DropCallsOf(NodeId node);

  // Messages from one node to the other are lost from now on, or no more. Cuts add up.
  void Cut(NodeId from, NodeId to) { ++cuts_[{from, to}]; }
  void Mend(NodeId from, NodeId to);
  // No cut, loss, duplicate or slow message from now on.
  void Heal();

 private:
  struct Waiting {
    NodeId from;
    shard::PeerDone done;
  };

  bool IsCut(NodeId from, NodeId to) const;
  Duration DrawDelay();
  void Deliver(uint64_t call, const shard::LaneRequest& request);
  void Answer(uint64_t call, const shard::LaneRequest& request, shard::LaneResponse response);
  void Complete(uint64_t call, std::optional<shard::LaneResponse> response);

  EventQueue& queue_;
  NetworkOptions options_;
  Prng prng_;
  Tracer& tracer_;
  Statistics& statistics_;
  NetworkObserver& observer_;
  std::map<NodeId, NetworkHost*> hosts_;
  std::map<std::pair<NodeId, NodeId>, int> cuts_;
  uint64_t last_call_ = 0;
  std::map<uint64_t, Waiting> waiting_;
};

}  // namespace quorum::sim
