// UnaryCall: a CallFlow of one request and one answer.
//
// Thread: the event loop's.

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "client/call_flow.h"
#include "client/grpc_time.h"

namespace quorum::client {

template <typename Request, typename Response>
class UnaryCall : public CallFlow {
 public:
  using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>>;

  struct Steps {
    // Makes the gRPC call, e.g. by stub.PrepareAsyncAppend.
    std::function<Reader(NodeStubs&, grpc::ClientContext*, const Request&, grpc::CompletionQueue*)>
        prepare;
    // Gives the request the time that the server may take; may be empty.
    std::function<void(Request*, Duration)> set_timeout;
    // The error in an answer that is worth another attempt; may be empty. When no attempt is left,
    // the answer counts.
    std::function<std::optional<Error>(const Response&)> entry_error;
    // Called once.
    std::function<void(Result<Response>)> done;
  };

  UnaryCall(ClientCore& core, CallSettings settings, Request request, Steps steps)
      : CallFlow(core, std::move(settings)),
        request_(std::move(request)),
        steps_(std::move(steps)) {}

 protected:
  void Send(NodeStubs& node) override {
    Duration time_max = std::max(Left(), Duration(1));
    const CallKind kind = settings().kind;
    if (kind == CallKind::kRead || kind == CallKind::kIdempotent) {
      time_max = std::min({time_max, core().options.attempt_timeout, settings().attempt_time_max});
    }
    // The reader lies in the memory of its context's call, so it goes first.
    reader_.reset();
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_deadline(TimeSpan(time_max));
    if (steps_.set_timeout) {
      // A little less than the deadline, so that the server's own answer, which says more than a
      // time-out does, still arrives.
      const Duration answer_time = std::min<Duration>(time_max / 10, std::chrono::seconds(1));
      steps_.set_timeout(&request_, time_max - answer_time);
    }
    response_.Clear();
    reader_ = steps_.prepare(node, context_.get(), request_, core().loop.queue());
    reader_->StartCall();
    reader_->Finish(&response_, &status_,
                    EventLoop::Tag([self = SharedAs<UnaryCall>()](bool) { self->OnFinished(); }));
  }

  void CancelSend() override { context_->TryCancel(); }

  void Finish(const Error* error) override {
    if (error != nullptr && !answered_) {
      steps_.done(Result<Response>(*error));
    } else {
      steps_.done(Result<Response>(std::move(response_)));
    }
  }

 private:
  void OnFinished() {
    answered_ = status_.ok();
    if (!answered_) {
      return AttemptFailed(
          ErrorFromStatus(status_.error_code(), status_.error_message(), status_.error_details()));
    }
    if (steps_.entry_error) {
      std::optional<Error> error = steps_.entry_error(response_);
      if (error.has_value()) return AttemptFailed(std::move(*error));
    }
    Conclude(nullptr);
  }

  Request request_;
  const Steps steps_;
  std::unique_ptr<grpc::ClientContext> context_;
  Reader reader_;
  Response response_;
  grpc::Status status_;
  // True when the last attempt was answered, perhaps with errors in its entries.
  bool answered_ = false;
};

}  // namespace quorum::client
