// StartUnary: one call to another node, with a deadline, over gRPC's callback API.
//
// Thread: any. `done` runs exactly once, on a thread of gRPC, or on the calling one when the call
// cannot be made; it must return at once.

#pragma once

#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <utility>

#include "service/base/time.h"
#include "service/transport/outstanding_calls.h"

namespace quorum::transport {

template <typename Response>
using UnaryDone = std::function<void(const grpc::Status&, Response)>;

// `method` is a literal, "/package.Service/Method". Responses of type grpc::ByteBuffer come as the
// bytes they are. `calls` must outlive the call, which it waits for. A null channel fails the call:
// UNAVAILABLE, nothing was sent.
template <typename Request, typename Response>
void StartUnary(OutstandingCalls& calls, const std::shared_ptr<grpc::Channel>& channel,
                const char* method, Request request, Duration timeout, UnaryDone<Response> done) {
  if (channel == nullptr) {
    done(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the node's address is not known"), {});
    return;
  }
  struct Call {
    std::shared_ptr<grpc::ClientContext> context = std::make_shared<grpc::ClientContext>();
    Request request;
    Response response;
    UnaryDone<Response> done;
  };
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->done = std::move(done);
  call->context->set_deadline(gpr_time_from_nanos(timeout.count(), GPR_TIMESPAN));
  if (!calls.Add(call->context)) {
    call->done(grpc::Status(grpc::StatusCode::CANCELLED, "this node is shutting down"), {});
    return;
  }
  grpc::TemplatedGenericStub<Request, Response> stub(channel);
  stub.UnaryCall(call->context.get(), method, grpc::StubOptions(), &call->request, &call->response,
                 [call, &calls](const grpc::Status& status) {
                   call->done(status, std::move(call->response));
                   call->done = nullptr;
                   calls.Remove(call->context);
                 });
}

}  // namespace quorum::transport
