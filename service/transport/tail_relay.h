// TailRelay: the stream of another node's replica, for a node that has none. It tries the replicas
// one after the other until one begins to answer; from then on the stream stands or falls with it.
//
// Back-pressure: a message is read when Next is called, one at a time.
//
// Lifecycle: Start, then Next after each message, until on_end has run. Thread: any, one call at a
// time; Cancel at any time.

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "quorum/v1/log.pb.h"
#include "service/base/mutex.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

class TailRelay : public std::enable_shared_from_this<TailRelay> {
 public:
  using OnMessage = std::function<void(grpc::ByteBuffer)>;
  // The status to end with: that of the other node, or why none could be asked.
  using OnEnd = std::function<void(const grpc::Status&)>;

  // `request` as the client made it. `targets` are tried in this order, over and over until
  // `deadline`, while none has begun.
  TailRelay(ClientParts& parts, v1::TailRequest request, std::vector<NodeId> targets,
            OnMessage on_message, OnEnd on_end);

  void Start();
  void Next();
  void Cancel();

 private:
  class Call;

  void Try();
  void TryLater();
  // The other node's stream has ended. `begun`: after at least one message.
  void OnCallDone(const grpc::Status& status, bool begun);

  ClientParts& parts_;
  v1::TailRequest request_;
  const std::vector<NodeId> targets_;
  const OnMessage on_message_;
  const OnEnd on_end_;
  const MonoTime deadline_;
  size_t next_target_ = 0;
  // Ended by nobody's answer yet: why the last target was no use.
  grpc::Status last_;

  Mutex mutex_;
  std::shared_ptr<Call> call_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace quorum::transport
