// Channels of the load generator: each is a connection of its own, so that many calls to one node
// do not wait for one another in one HTTP/2 stream window.
//
// Thread: any.

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "service/base/time.h"

namespace quorum::bench {

using Channels = std::vector<std::shared_ptr<grpc::Channel>>;

// Without a limit on message sizes. The connections are made by the first calls.
Channels MakeChannels(const std::string& address, size_t count);

// The call fails after `time_max`.
void SetDeadline(grpc::ClientContext* context, Duration time_max);

}  // namespace quorum::bench
