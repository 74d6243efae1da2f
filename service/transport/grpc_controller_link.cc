#include "service/transport/grpc_controller_link.h"

#include "quorum/v1/observer.pb.h"
#include "service/transport/controller_codec.h"
#include "service/transport/unary_client.h"

namespace quorum::transport {

void GrpcControllerLink::Register(
    const ReplicaKey& leader, const controller::BrokerRegistration& registration, Duration timeout,
    std::function<void(std::optional<controller::ControllerResult>)> done) {
  v1::RegisterBrokerRequest request = EncodeRegistration(registration);
  v1::Envelope* envelope = request.mutable_envelope();
  envelope->set_cluster_id(self_.cluster_id);
  EncodeIdentity({registration.key, registration.incarnation}, envelope->mutable_from());
  EncodeIdentity({leader, std::nullopt}, envelope->mutable_to());
  StartUnary<v1::RegisterBrokerRequest, v1::RegisterBrokerResponse>(
      calls_, parts_.channels.Get(leader.id, ChannelUse::kControl),
      "/quorum.v1.ObserverService/RegisterBroker", std::move(request), timeout,
      [done = std::move(done)](const grpc::Status& status,
                               const v1::RegisterBrokerResponse& response) {
        if (status.ok()) {
          done(DecodeResult(response));
        } else {
          done(std::nullopt);
        }
      });
}

void GrpcControllerLink::OnNode(const controller::NodeView& node) {
  // A listener for nodes is preferred; an address without a name serves everybody.
  for (const controller::NodeEndpoint& endpoint : node.endpoints) {
    if (endpoint.listener == "peer") {
      parts_.addresses.Set(node.key.id, endpoint.address);
      return;
    }
  }
  if (!node.endpoints.empty()) {
    parts_.addresses.Set(node.key.id, node.endpoints.front().address);
  }
}

}  // namespace quorum::transport
