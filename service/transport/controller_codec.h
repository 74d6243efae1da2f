// What the controller answers, as quorum.v1 messages and errors, and a registration on its way to
// it.
//
// Thread: any.

#pragma once

#include <string>

#include "quorum/v1/common.pb.h"
#include "quorum/v1/error.pb.h"
#include "quorum/v1/observer.pb.h"
#include "service/controller/catalog_api.h"
#include "service/shard/peer_messages.h"
#include "service/transport/call_error.h"

namespace quorum::transport {

// The outcome of a change of the catalog as clients are told. Not for kNone.
CallError ErrorOf(const controller::ControllerResult& result, const std::string& topic);

// The outcome of a registration as nodes are told, and back. What a node cannot know from the code,
// such as the catalog offset, comes from the message.
v1::ErrorCode ToErrorCode(controller::ControllerError error);
controller::ControllerError ToControllerError(v1::ErrorCode code);

void EncodeEndpoint(const controller::NodeEndpoint& endpoint, v1::Endpoint* message);

// A registration without its envelope, which says who registers.
v1::RegisterBrokerRequest EncodeRegistration(const controller::BrokerRegistration& registration);
controller::BrokerRegistration DecodeRegistration(const v1::RegisterBrokerRequest& message,
                                                  const shard::PeerIdentity& from);

void EncodeResult(const controller::ControllerResult& result, v1::RegisterBrokerResponse* message);
controller::ControllerResult DecodeResult(const v1::RegisterBrokerResponse& message);

}  // namespace quorum::transport
