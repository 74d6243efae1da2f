// Why a whole request of a peer is refused, as the status of its call.
//
// Thread: any.

#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "service/shard/peer_messages.h"
#include "service/transport/call_error.h"
#include "service/transport/envelope_codec.h"

namespace quorum::transport {

// The refusal of a call that names another cluster than ours.
CallError OtherCluster(const std::string& cluster_id);
// A bound of this node is reached and nothing was done.
CallError Throttled(const std::string& what);

// What the codec says of a malformed request.
grpc::Status RefusalOf(const absl::Status& status, const Receiver& receiver);
// What the shard says of an envelope.
grpc::Status RefusalOf(shard::EnvelopeError error, const Receiver& receiver);

}  // namespace quorum::transport
