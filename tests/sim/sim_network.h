// SimNetwork: carries peer requests and registrations between simulated nodes. Each message of a
// directed link is delayed, lost, duplicated or overtaken as the seed says; a request may be
// executed and its answer lost; a link may be cut in one direction. A caller always gets exactly
// one completion, unless its process ended before.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/controller/catalog_api.h"
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
  virtual shard::ShardApi* ShardOf(Lane lane) = 0;
  // The controller of the process that runs on this directory; null when none does.
  virtual controller::ControllerApi* ControllerOf(const ReplicaKey& key) = 0;
  // What it says of itself to whoever looks for a cluster; empty while its process does not run.
  virtual std::optional<ReplicaKey> Introduction() const = 0;
  virtual const Clock& HostClock() const = 0;
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
  using RegistrationDone = std::function<void(std::optional<controller::ControllerResult>)>;

  SimNetwork(EventQueue* queue, const NetworkOptions& options, Prng prng, Tracer* tracer,
             Statistics* statistics, NetworkObserver* observer);

  void Register(NodeId node, NetworkHost* host) { hosts_[node] = host; }

  // Sends a request of the process that runs on `from`. `timeout` is in world time.
  void Call(NodeId from, shard::LaneRequest request, Duration timeout, shard::PeerDone done);
  void CallController(NodeId from, const ReplicaKey& to,
                      const controller::BrokerRegistration& registration, Duration timeout,
                      RegistrationDone done);
  // Some other node that can be reached now; what a bootstrap list is for.
  std::optional<ReplicaKey> Discover(NodeId from);
  // The process of that node ended: nobody waits for its calls any more.
  void DropCallsOf(NodeId node);

  // Messages from one node to the other are lost from now on, or no more. Cuts add up.
  void Cut(NodeId from, NodeId to) { ++cuts_[{from, to}]; }
  void Mend(NodeId from, NodeId to);
  // No cut, loss, duplicate or slow message from now on.
  void Heal();

 private:
  struct Registration {
    ReplicaKey to;
    controller::BrokerRegistration registration;
    Duration timeout;
  };
  using Request = std::variant<shard::LaneRequest, Registration>;
  using Answer = std::variant<shard::LaneResponse, controller::ControllerResult>;
  struct Message {
    uint64_t call = 0;
    NodeId from;
    NodeId to;
    Request request;
  };
  using MessagePointer = std::shared_ptr<const Message>;
  struct Waiting {
    NodeId from;
    std::function<void(std::optional<Answer>)> done;
  };

  bool IsCut(NodeId from, NodeId to) const;
  Duration DrawDelay();
  void Send(Message message, Duration timeout, std::function<void(std::optional<Answer>)> done);
  void Deliver(const MessagePointer& message);
  // False when no process is there to take it.
  bool DeliverTo(NetworkHost& host, const MessagePointer& message,
                 const shard::LaneRequest& request);
  bool DeliverTo(NetworkHost& host, const MessagePointer& message,
                 const Registration& registration);
  void Return(const MessagePointer& message, Answer answer);
  void Complete(uint64_t call, std::optional<Answer> answer);

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
