// What the transport may ask of this node's controller, and what the controller asks of the
// transport. No gRPC, no protobuf: the transport turns these into quorum.v1 messages.
//
// Every node runs a NodeController. On the leader of `__metadata` it is *the* controller; elsewhere
// it follows the catalog and answers NOT_CONTROLLER to what changes it.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/controller/catalog.h"

namespace quorum::controller {

// How a change of the catalog ended.
enum class ChangeOutcome {
  // Committed.
  kDone,
  // This node does not lead `__metadata`, or does not yet; nothing was done. Ask the leader named.
  kNotController,
  // Nothing was done: the request is wrong in itself. `message` says why.
  kInvalid,
  kTopicExists,
  kUnknownTopic,
  // Fewer live nodes than replicas wanted.
  kNotEnoughNodes,
  // A newer process of that node, or another live directory of it, has registered.
  kFencedIncarnation,
  kDuplicateRegistration,
  kInconsistentLaneCount,
  // The queue of changes is full; nothing was done.
  kThrottled,
  // Leadership was lost, or time was up, after the change entered the log: nobody can say.
  kUnknown,
};

struct ChangeResult {
  ChangeOutcome outcome = ChangeOutcome::kUnknown;
  std::string message;
  // The leader of `__metadata` and its epoch, as far as known.
  std::optional<ReplicaKey> leader;
  Epoch epoch;
  // With kDone: where in the catalog the change stands, and the topic concerned.
  Offset offset;
  std::optional<Topic> topic;
};

using ChangeDone = std::function<void(ChangeResult)>;

struct CreateTopicCall {
  std::string name;
  uint32_t partitions = 1;
  uint32_t replicas = 1;
  // Judge only; change nothing.
  bool validate_only = false;
  MonoTime deadline = kNever;
  ChangeDone done;
};

struct DeleteTopicCall {
  std::string name;
  MonoTime deadline = kNever;
  ChangeDone done;
};

struct RegisterBrokerCall {
  Broker broker;
  uint32_t lane_count = 0;
  MonoTime deadline = kNever;
  ChangeDone done;
};

// The controller of this node, as the transport sees it.
//
// Thread: any. Completions run on the controller's thread and must return at once.
class ControllerApi {
 public:
  virtual ~ControllerApi() = default;

  // Each answers kThrottled at once, on the calling thread, when the mailbox is full.
  virtual void CreateTopic(CreateTopicCall call) = 0;
  virtual void DeleteTopic(DeleteTopicCall call) = 0;
  virtual void RegisterBroker(RegisterBrokerCall call) = 0;

  // The catalog as far as this node has read it: immutable, soft, never null.
  virtual std::shared_ptr<const Catalog> Snapshot() const = 0;
};

// The nodes as the controller sees them; implemented by the transport and by the simulator.
//
// Thread: called on the controller's thread; never blocks. `done` runs on any thread, exactly once.
class ControllerLink {
 public:
  virtual ~ControllerLink() = default;

  // Sends RegisterBroker for this node to `leader`. No result: no answer in time.
  virtual void Register(NodeId leader, const Broker& broker, Duration timeout,
                        std::function<void(std::optional<ChangeResult>)> done) = 0;

  // The catalog has changed: addresses of nodes may be new.
  virtual void OnCatalog(const std::shared_ptr<const Catalog>& catalog) = 0;

  // The catalog cannot be understood any more: this node stops acting on it. `reason` is for
  // people.
  virtual void OnCatalogFailure(const std::string& reason) = 0;
};

}  // namespace quorum::controller
