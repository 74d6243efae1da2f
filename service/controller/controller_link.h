// ControllerLink: how a node's controller reaches the controller of the cluster, and what it tells
// the transport of its own accord. Implemented over gRPC in production, by the simulated network in
// tests/sim.
//
// Thread: called on the controller's thread; never blocks. `done` runs on any thread, exactly once,
// and must return at once.

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/controller/catalog_api.h"

namespace quorum::controller {

class ControllerLink {
 public:
  virtual ~ControllerLink() = default;

  // Sends RegisterBroker for this node to `leader`. No result: no answer within `timeout`.
  virtual void Register(const ReplicaKey& leader, const BrokerRegistration& registration,
                        Duration timeout,
                        std::function<void(std::optional<ControllerResult>)> done) = 0;

  // A node has registered, with these addresses.
  virtual void OnNode(const NodeView& node) = 0;

  // The controller refuses to register this node, which goes on asking: another directory of its id
  // may be about to end. Told once for each reason.
  virtual void OnRegistrationRefused(const std::string& reason) = 0;

  // The catalog cannot be understood any more: this node stops acting on it. `reason` is for
  // people.
  virtual void OnCatalogFailure(const std::string& reason) = 0;

  // This process has been fenced: a newer one of the same directory, or another directory of the
  // same node, is registered. It must end (exit 3).
  virtual void OnFenced(const std::string& reason) = 0;
};

}  // namespace quorum::controller
