#include "client/tail_flow.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace quorum::client {
namespace {

// Heartbeats that may be missing.
constexpr int kHeartbeatsMissed = 3;
constexpr Duration kSilenceMin = std::chrono::seconds(1);

}  // namespace

TailFlow::TailFlow(ClientCore& core, const TailSpec& spec, CallOptions options,
                   std::shared_ptr<ConsumerQueue> queue, ConsumerQueue::LanePointer lane)
    : CallFlow(core, CallSettings{CallKind::kRead, spec.partition, std::move(options)}),
      silence_max_(std::max(kSilenceMin, kHeartbeatsMissed * spec.progress_interval)),
      queue_(std::move(queue)),
      lane_(std::move(lane)),
      cursor_(spec) {}

void TailFlow::Send(NodeStubs& node) {
  heard_ = false;
  silent_ = false;
  paused_ = false;
  // The reader lies in the memory of its context's call, so it goes first.
  reader_.reset();
  // No deadline: a tail may last for ever. WatchSilence stands in for it.
  context_ = std::make_unique<grpc::ClientContext>();
  reader_ = node.log->PrepareAsyncTail(context_.get(), cursor_.NextRequest(), core().loop.queue());
  WatchSilence();
  reader_->StartCall(EventLoop::Tag([self = SharedAs<TailFlow>()](bool ok) {
    if (ok) return self->Read();
    self->OnBroken();
  }));
}

void TailFlow::CancelSend() {
  context_->TryCancel();
  // Nothing else would notice while no read is on its way.
  if (paused_) {
    paused_ = false;
    Read();
  }
}

void TailFlow::Finish(const Error* error) {
  StopWatch();
  over_ = true;
  // The last event may go beyond the queue's bound: nothing follows it.
  if (error != nullptr) {
    queue_->Push(lane_, TailFailure{*error, cursor_.next_offset()}, 0, nullptr);
  } else {
    queue_->Push(lane_, TailEnd{cursor_.next_offset()}, 0, nullptr);
  }
}

void TailFlow::Read() {
  reader_->Read(&message_,
                EventLoop::Tag([self = SharedAs<TailFlow>()](bool ok) { self->OnRead(ok); }));
}

void TailFlow::OnRead(bool ok) {
  if (!ok) return OnBroken();
  // What gRPC had received before the stream was cancelled; its end comes after that.
  if (cancelled()) return Read();
  StopWatch();
  heard_ = true;
  const size_t bytes = message_.SpaceUsedLong();
  std::optional<TailEvent> event = cursor_.Accept(std::move(message_));
  message_.Clear();
  bool room = !event.has_value() || Deliver(std::move(*event), bytes);
  const std::optional<TailReplayed> replayed = cursor_.TakeReplayed();
  if (replayed.has_value()) room = Deliver(*replayed, 0);
  // The server would go on, or has nothing left: either way this stream has served.
  if (cursor_.done()) context_->TryCancel();
  if (!room && !cursor_.done()) {
    paused_ = true;
    return;
  }
  WatchSilence();
  Read();
}

void TailFlow::OnBroken() {
  StopWatch();
  reader_->Finish(&status_,
                  EventLoop::Tag([self = SharedAs<TailFlow>()](bool) { self->OnStreamOver(); }));
}

void TailFlow::OnStreamOver() {
  if (status_.ok()) cursor_.StreamEnded();
  if (cursor_.done()) return Conclude(nullptr);
  if (heard_) Progressed();
  Error error =
      ErrorFromStatus(status_.error_code(), status_.error_message(), status_.error_details());
  if (status_.ok()) {
    error.code = google::rpc::UNAVAILABLE;
    error.message = "the stream ended before what was asked for";
  } else if (silent_) {
    error.code = google::rpc::UNAVAILABLE;
    error.message = "the node sent nothing, not even a heartbeat";
  }
  AttemptFailed(std::move(error));
}

void TailFlow::WatchSilence() {
  watch_ = core().loop.RunAfter(silence_max_, [self = SharedAs<TailFlow>()] {
    self->silent_ = true;
    self->context_->TryCancel();
  });
}

void TailFlow::StopWatch() { core().loop.CancelTimer(watch_); }

void TailFlow::NoteReplayEnd(Offset end) {
  cursor_.NoteReplayEnd(end);
  const std::optional<TailReplayed> replayed = over_ ? std::nullopt : cursor_.TakeReplayed();
  // A small event more than the queue's bound, once: reading pauses at the next one.
  if (replayed.has_value()) queue_->Push(lane_, *replayed, 0, nullptr);
}

bool TailFlow::Deliver(TailEvent event, size_t bytes) {
  return queue_->Push(lane_, std::move(event), bytes, [self = SharedAs<TailFlow>()] {
    // On the reader's thread.
    self->core().loop.Post([self] {
      if (!self->paused_) return;
      self->paused_ = false;
      self->WatchSilence();
      self->Read();
    });
  });
}

}  // namespace quorum::client
