// Who may speak for a replica key. Each start of a process raises the incarnation of its data
// directory, and the catalog keeps the newest that has registered; a process of an older one runs
// on a copied directory, or on one that was founded again, and must not take part any more.
//
// Thread: any.

#pragma once

#include <optional>

#include "service/controller/catalog_api.h"
#include "service/shard/peer_messages.h"
#include "service/transport/call_error.h"

namespace quorum::transport {

// FENCED_INCARNATION when this node's catalog knows a newer process of the sender's directory;
// empty otherwise. A sender that names no incarnation, or that is not registered, is not judged.
std::optional<CallError> RefuseOldProcess(const controller::CatalogView& catalog,
                                          const shard::PeerIdentity& sender);

}  // namespace quorum::transport
