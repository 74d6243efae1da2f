// InitProducer: an id for whoever wants to append exactly once. Without a name the id comes from a
// block that the controller has given to this node, which asks for another one when it is used up.
// With a name the partition's leader, here or one hop away, binds it to its next epoch.
//
// Thread: any. `done` runs exactly once, perhaps before the call returns.

#pragma once

#include <grpcpp/support/status.h>

#include <functional>

#include "quorum/v1/admin.pb.h"
#include "quorum/v1/log.pb.h"
#include "service/transport/append_flow.h"
#include "service/transport/catalog_change.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

// The response has a meaning when the status is OK.
using InitProducerDone = std::function<void(const grpc::Status&, v1::InitProducerResponse)>;

void InitProducer(ClientParts& parts, const v1::InitProducerRequest& request, AppendOptions options,
                  InitProducerDone done);

using AllocateDone = std::function<void(const grpc::Status&, v1::AllocateProducerIdsResponse)>;

// A block of ids from the controller. A lost block does no harm, so an attempt of unknown outcome
// is followed by another one.
void AllocateProducerIds(ClientParts& parts, const v1::AllocateProducerIdsRequest& request,
                         ChangeOptions options, AllocateDone done);

}  // namespace quorum::transport
