// How long a call may take: the client's own wish, the deadline of its gRPC call and the server's
// limit, whichever is shortest. A call without any of the client's is normal and has the server's.
//
// Thread: any.

#pragma once

#include <google/protobuf/duration.pb.h>
#include <grpcpp/server_context.h>

#include <chrono>
#include <optional>

#include "service/base/time.h"

namespace quorum::transport {

// A forwarded call ends a little after the node it went to has given its answer.
inline constexpr Duration kHopSlack = std::chrono::milliseconds(100);

// A Duration message as a value; empty when it is negative, malformed, or would overflow.
std::optional<Duration> DecodeDuration(const google::protobuf::Duration& message);
void EncodeDuration(Duration duration, google::protobuf::Duration* message);

// How long the client of this call still waits; Duration::max() when it set no deadline. A little
// is kept back for the answer's way, so that an answer beats the client's own time-out.
Duration TimeLeft(const grpc::CallbackServerContext& context);

}  // namespace quorum::transport
