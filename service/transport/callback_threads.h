// gRPC runs callbacks on threads of its own, which end with the last channel and server that uses
// them. gRPC 1.51 has been seen to abort when that falls together with the end of a cancelled call
// (grpc_cq_internal_unref). A process that serves has no use for that end.
//
// Thread: any.

#pragma once

namespace quorum::transport {

// From now on the threads live as long as the process, which therefore ends by std::_Exit or
// without static objects that these threads could still use. A second call does nothing.
void KeepCallbackThreads();

}  // namespace quorum::transport
