// GrpcControllerLink: how this node's controller reaches the cluster's, and where it leaves what it
// learns about addresses (controller/controller_link.h).
//
// Thread: called on the controller's thread; completions run on gRPC's.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "service/base/check.h"
#include "service/controller/controller_link.h"
#include "service/transport/address_book.h"
#include "service/transport/envelope_codec.h"
#include "service/transport/outstanding_calls.h"
#include "service/transport/peer_channels.h"

namespace quorum::transport {

class GrpcControllerLink : public controller::ControllerLink {
 public:
  struct Parts {
    PeerChannels& channels;
    AddressBook& addresses;
    // What the daemon does when the catalog cannot be understood, and when this process is fenced.
    std::function<void(const std::string& reason)> on_catalog_failure;
    std::function<void(const std::string& reason)> on_fenced;
  };

  // What `parts` refer to must outlive this.
  GrpcControllerLink(Receiver self, Parts parts)
      : self_(std::move(self)), parts_(std::move(parts)) {}

  void Register(const ReplicaKey& leader, const controller::BrokerRegistration& registration,
                Duration timeout,
                std::function<void(std::optional<controller::ControllerResult>)> done) override;
  void OnNode(const controller::NodeView& node) override;
  void OnRegistrationRefused(const std::string& reason) override {
    LOG(WARNING) << "the cluster does not register this node, which asks on: " << reason;
  }
  void OnCatalogFailure(const std::string& reason) override { parts_.on_catalog_failure(reason); }
  void OnFenced(const std::string& reason) override { parts_.on_fenced(reason); }

  void Shutdown() { calls_.CancelAndWait(); }

 private:
  const Receiver self_;
  const Parts parts_;
  OutstandingCalls calls_;
};

}  // namespace quorum::transport
