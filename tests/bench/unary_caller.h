// UnaryCaller: a Caller over one unary method of a generated callback stub. What differs between
// systems is how a request is filled and how an answer is judged.
//
// Thread: as Caller.

#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "tests/bench/caller.h"
#include "tests/bench/channels.h"

namespace quorum::bench {

inline constexpr Duration kCallTimeMax = std::chrono::seconds(30);

// `Stub` is the generated Stub class of a service.
template <typename Stub, typename Request, typename Response>
class UnaryCaller : public Caller {
 public:
  void Call(Done done) final {
    done_ = std::move(done);
    Fill(&request_);
    response_.Clear();
    grpc::ClientContext* context = Renew();
    Start(stub_->async(), context, &request_, &response_,
          [this](grpc::Status status) { Finish(std::move(status)); });
  }

  void Cancel() final {
    MutexLock lock(&mutex_);
    if (context_.has_value()) context_->TryCancel();
  }

 protected:
  // The class hides behind a method of the same name.
  using Async = std::remove_pointer_t<decltype(std::declval<Stub&>().async())>;

  UnaryCaller(std::unique_ptr<Stub> stub, Duration time_max)
      : stub_(std::move(stub)), time_max_(time_max) {}

 private:
  // Makes the request of the next call out of that of the one before.
  virtual void Fill(Request* request) = 0;
  virtual void Start(Async* async, grpc::ClientContext* context, const Request* request,
                     Response* response, std::function<void(grpc::Status)> done) = 0;
  // What an OK answer means for the records.
  virtual grpc::Status Judge(const Response& response) = 0;

  grpc::ClientContext* Renew() {
    MutexLock lock(&mutex_);
    context_.emplace();
    SetDeadline(&*context_, time_max_);
    return &*context_;
  }

  void Finish(grpc::Status status) {
    if (status.ok()) status = Judge(response_);
    // `done` may start the next call, which replaces it.
    const Done done = std::move(done_);
    done(status);
  }

  const std::unique_ptr<Stub> stub_;
  const Duration time_max_;
  Request request_;
  Response response_;
  Done done_;
  Mutex mutex_;
  std::optional<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::bench
