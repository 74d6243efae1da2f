// OutstandingCalls: the calls that this node has made and that are not answered yet, so that it can
// end in order: cancel them, and wait until the last completion has run.
//
// Thread: any. No lock is held while gRPC or a completion is called.

#pragma once

#include <grpcpp/client_context.h>

#include <memory>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"

namespace quorum::transport {

class OutstandingCalls {
 public:
  OutstandingCalls() = default;
  OutstandingCalls(const OutstandingCalls&) = delete;
  OutstandingCalls& operator=(const OutstandingCalls&) = delete;
  ~OutstandingCalls() { CancelAndWait(); }

  // False after CancelAndWait has begun: the call must not be made.
  [[nodiscard]] bool Add(const std::shared_ptr<grpc::ClientContext>& context) {
    MutexLock lock(&mutex_);
    if (closed_) return false;
    contexts_.insert(context);
    return true;
  }

  // After the completion of the call has run.
  void Remove(const std::shared_ptr<grpc::ClientContext>& context) {
    MutexLock lock(&mutex_);
    contexts_.erase(context);
    if (contexts_.empty()) empty_.NotifyAll();
  }

  // Lets no further call begin. Returns when none is left. Not from a completion.
  void CancelAndWait() {
    std::vector<std::shared_ptr<grpc::ClientContext>> contexts;
    {
      MutexLock lock(&mutex_);
      closed_ = true;
      contexts.assign(contexts_.begin(), contexts_.end());
    }
    for (const auto& context : contexts) context->TryCancel();
    MutexLock lock(&mutex_);
    while (!contexts_.empty()) empty_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar empty_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<grpc::ClientContext>> contexts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::transport
