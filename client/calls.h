// The unary calls of the library: how each is made, and the two ways to make it, without waiting
// and waiting for what becomes of it.
//
// Thread: StartCall and Call any, the rest the event loop's.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "client/client_core.h"
#include "client/learn.h"
#include "client/unary_call.h"
#include "client/waiter.h"
#include "quorum/v1/admin.pb.h"
#include "quorum/v1/log.pb.h"
#include "service/base/check.h"

namespace quorum::client {

// Makes each gRPC call: one overload a request, so that the rest is written once.
#define QUORUM_PREPARE(Call, stub)                                                         \
  inline std::unique_ptr<grpc::ClientAsyncResponseReader<v1::Call##Response>> PrepareCall( \
      NodeStubs& node, grpc::ClientContext* context, const v1::Call##Request& request,     \
      grpc::CompletionQueue* queue) {                                                      \
    return node.stub->PrepareAsync##Call(context, request, queue);                         \
  }
QUORUM_PREPARE(Append, log)
QUORUM_PREPARE(InitProducer, log)
QUORUM_PREPARE(ListOffsets, log)
QUORUM_PREPARE(CreateTopic, admin)
QUORUM_PREPARE(DeleteTopic, admin)
QUORUM_PREPARE(ElectLeader, admin)
QUORUM_PREPARE(ListTopics, admin)
QUORUM_PREPARE(DescribeTopic, admin)
QUORUM_PREPARE(DescribeQuorum, admin)
QUORUM_PREPARE(DescribeCluster, admin)
#undef QUORUM_PREPARE

// Gives a request that has a `timeout` the time that the server may take.
template <typename Request>
void SetTimeout(Request* request, Duration timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  request->mutable_timeout()->set_seconds(seconds.count());
  request->mutable_timeout()->set_nanos(static_cast<int32_t>((timeout - seconds).count()));
}

template <typename Request, typename Response>
typename UnaryCall<Request, Response>::Steps StepsOf(
    std::function<void(Result<Response>)> done = nullptr) {
  typename UnaryCall<Request, Response>::Steps steps;
  steps.prepare = [](NodeStubs& node, grpc::ClientContext* context, const Request& request,
                     grpc::CompletionQueue* queue) {
    return PrepareCall(node, context, request, queue);
  };
  steps.done = std::move(done);
  return steps;
}

// Starts the call; `steps.done` hears of it. The client must not have been destroyed.
template <typename Request, typename Response>
void StartCall(const std::shared_ptr<ClientCore>& core, CallSettings settings, Request request,
               typename UnaryCall<Request, Response>::Steps steps) {
  const bool posted =
      core->loop.Post([&core = *core, settings = std::move(settings), request = std::move(request),
                       steps = std::move(steps)]() mutable {
        std::make_shared<UnaryCall<Request, Response>>(core, std::move(settings),
                                                       std::move(request), std::move(steps))
            ->Start();
      });
  CHECK(posted) << "a call on a client that was destroyed";
}

// Makes the call and waits for what becomes of it. Not on the event loop's thread.
template <typename Request, typename Response>
Result<Response> Call(const std::shared_ptr<ClientCore>& core, CallSettings settings,
                      Request request, typename UnaryCall<Request, Response>::Steps steps) {
  CHECK(!core->loop.OnLoopThread()) << "a callback may not block";
  Waiter<Result<Response>> waiter;
  // On the loop's thread.
  steps.done = [&waiter, &cache = core->cache](Result<Response> answer) {
    if (answer.ok()) Learn(answer.value(), &cache);
    waiter.Give(std::move(answer));
  };
  StartCall<Request, Response>(core, std::move(settings), std::move(request), std::move(steps));
  return waiter.Take();
}

// The steps of ListOffsets: entries that have an error which may pass are asked for again.
UnaryCall<v1::ListOffsetsRequest, v1::ListOffsetsResponse>::Steps ListOffsetsSteps(
    std::function<void(Result<v1::ListOffsetsResponse>)> done = nullptr);

// Asks for the nodes' addresses when the partition's leader is known by its id only.
void RefreshNodes(ClientCore& core, const PartitionName& partition);

}  // namespace quorum::client
