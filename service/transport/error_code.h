// The errors of entries between nodes: RaftError and SessionError as ErrorCode, and back
// (proto/quorum/v1/error.proto).
//
// Thread: any.

#pragma once

#include "quorum/v1/error.pb.h"
#include "service/raft/errors.h"
#include "service/shard/peer_messages.h"

namespace quorum::transport {

v1::ErrorCode ToErrorCode(raft::RaftError error);
// A code that means nothing to a replica, or that this version does not know, becomes
// kBrokerNotAvailable: the peer cannot answer now.
raft::RaftError ToRaftError(v1::ErrorCode code);

v1::ErrorCode ToErrorCode(shard::SessionError error);
// Every code that is not known ends the session too, as kInvalidRequest.
shard::SessionError ToSessionError(v1::ErrorCode code);

}  // namespace quorum::transport
