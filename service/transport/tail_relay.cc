#include "service/transport/tail_relay.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <chrono>
#include <utility>

#include "service/transport/call_error.h"

namespace quorum::transport {
namespace {

constexpr Duration kPause = std::chrono::milliseconds(50);

// The node that was asked is no use, but another one may be.
bool IsElsewhere(const grpc::Status& status) {
  const google::rpc::Status rpc = RpcStatusOf(status);
  if (!ErrorInfoOf(rpc).has_value()) return status.error_code() == grpc::StatusCode::UNAVAILABLE;
  for (const v1::ErrorReason reason :
       {v1::ERROR_REASON_NOT_LEADER, v1::ERROR_REASON_LEADER_NOT_AVAILABLE,
        v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION, v1::ERROR_REASON_STORAGE_FAILED,
        v1::ERROR_REASON_SHUTTING_DOWN}) {
    if (HasReason(rpc, reason)) return true;
  }
  return false;
}

}  // namespace

// One stream to one node. gRPC holds it from Start to OnDone. It is held beyond its last operation,
// because reads begin outside of its own reactions; the hold is released once.
class TailRelay::Call : public grpc::ClientBidiReactor<v1::TailRequest, grpc::ByteBuffer> {
 public:
  Call(std::shared_ptr<TailRelay> relay, const v1::TailRequest& request)
      : relay_(std::move(relay)), request_(request) {}

  void Start(const std::shared_ptr<Call>& self, const std::shared_ptr<grpc::Channel>& channel) {
    self_ = self;
    grpc::TemplatedGenericStub<v1::TailRequest, grpc::ByteBuffer> stub(channel);
    stub.PrepareBidiStreamingCall(&context_, "/quorum.v1.LogService/Tail", grpc::StubOptions(),
                                  this);
    AddHold();
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&message_);
    StartCall();
  }

  void Next() {
    {
      MutexLock lock(&mutex_);
      if (released_) return;
      reading_ = true;
    }
    StartRead(&message_);
  }

  void Cancel() {
    context_.TryCancel();
    bool release = false;
    {
      MutexLock lock(&mutex_);
      release = !reading_ && !released_;
      released_ = released_ || release;
    }
    if (release) RemoveHold();
  }

  void OnReadDone(bool ok) override {
    bool release = false;
    {
      MutexLock lock(&mutex_);
      reading_ = false;
      begun_ = begun_ || ok;
      release = !ok && !released_;
      released_ = released_ || release;
    }
    if (ok) relay_->on_message_(std::move(message_));
    if (release) RemoveHold();
  }

  void OnDone(const grpc::Status& status) override {
    bool begun = false;
    {
      MutexLock lock(&mutex_);
      begun = begun_;
    }
    const std::shared_ptr<Call> self = std::move(self_);
    relay_->OnCallDone(status, begun);
  }

 private:
  const std::shared_ptr<TailRelay> relay_;
  const v1::TailRequest request_;
  std::shared_ptr<Call> self_;
  grpc::ClientContext context_;
  grpc::ByteBuffer message_;
  Mutex mutex_;
  bool reading_ ABSL_GUARDED_BY(mutex_) = true;
  bool begun_ ABSL_GUARDED_BY(mutex_) = false;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
};

TailRelay::TailRelay(ClientParts& parts, v1::TailRequest request, std::vector<NodeId> targets,
                     OnMessage on_message, OnEnd on_end)
    : parts_(parts),
      request_(std::move(request)),
      targets_(std::move(targets)),
      on_message_(std::move(on_message)),
      on_end_(std::move(on_end)),
      deadline_(parts.clock.Now() + parts.limits.wait_max),
      last_(CallError(v1::ERROR_REASON_LEADER_NOT_AVAILABLE,
                      "no node with a replica of the partition can be reached")
                .ToGrpc()) {
  request_.set_forwarded_by(parts_.self.self.id.value());
  request_.set_cluster_id(parts_.self.cluster_id);
}

void TailRelay::Start() { Try(); }

void TailRelay::Try() {
  if (targets_.empty()) {
    on_end_(last_);
    return;
  }
  const NodeId target = targets_[next_target_++ % targets_.size()];
  const std::shared_ptr<grpc::Channel> channel = parts_.channels.Get(target, ChannelUse::kForward);
  if (channel == nullptr) {
    TryLater();
    return;
  }
  const auto call = std::make_shared<Call>(shared_from_this(), request_);
  {
    MutexLock lock(&mutex_);
    if (cancelled_) return;
    call_ = call;
  }
  call->Start(call, channel);
}

void TailRelay::TryLater() {
  if (parts_.clock.Now() >= deadline_ || parts_.shutting_down.load()) {
    on_end_(last_);
    return;
  }
  RunAfter(kPause, [self = shared_from_this()] { self->Try(); });
}

void TailRelay::OnCallDone(const grpc::Status& status, bool begun) {
  {
    MutexLock lock(&mutex_);
    call_.reset();
    if (cancelled_) return;
  }
  if (begun || status.ok() || !IsElsewhere(status)) {
    on_end_(status);
    return;
  }
  last_ = status;
  TryLater();
}

void TailRelay::Next() {
  std::shared_ptr<Call> call;
  {
    MutexLock lock(&mutex_);
    call = call_;
  }
  // None: its stream has ended, and on_end has said so.
  if (call != nullptr) call->Next();
}

void TailRelay::Cancel() {
  std::shared_ptr<Call> call;
  {
    MutexLock lock(&mutex_);
    cancelled_ = true;
    call = call_;
  }
  if (call != nullptr) call->Cancel();
}

}  // namespace quorum::transport
