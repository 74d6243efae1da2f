// DescribeCluster: what the controller knows of the cluster, one hop away; what this node knows
// itself when it may not forward, or when the controller does not answer soon.
//
// Thread: any. `done` runs exactly once, perhaps before the function returns.

#pragma once

#include <functional>

#include "quorum/v1/admin.pb.h"
#include "service/base/time.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

// Fills `response`, which must live until `done` has run.
void DescribeCluster(ClientParts& parts, bool may_forward, MonoTime deadline,
                     v1::DescribeClusterResponse* response, std::function<void()> done);

}  // namespace quorum::transport
