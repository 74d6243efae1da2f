// TailFlow: a CallFlow whose attempts are streams. A stream that breaks, ends early or falls silent
// is followed by another one, from where TailCursor stands, at the next node that can be reached.
//
// Thread: the event loop's; the events leave through the ConsumerQueue.

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>

#include <memory>

#include "client/call_flow.h"
#include "client/consumer_queue.h"
#include "client/tail_cursor.h"

namespace quorum::client {

class TailFlow : public CallFlow {
 public:
  // `options.timeout` is how long the tail may find no node that serves it.
  TailFlow(ClientCore& core, const TailSpec& spec, CallOptions options,
           std::shared_ptr<ConsumerQueue> queue, ConsumerQueue::LanePointer lane);

  // Where the replay ends; see TailCursor.
  void NoteReplayEnd(Offset end);

  // True once the last event was delivered.
  bool over() const { return over_; }

 protected:
  void Send(NodeStubs& node) override;
  void CancelSend() override;
  void Finish(const Error* error) override;

 private:
  void Read();
  void OnRead(bool ok);
  // No read will succeed any more.
  void OnBroken();
  // The stream's status is known.
  void OnStreamOver();
  // Fails the stream when the server says nothing for too long, not even its heartbeat.
  void WatchSilence();
  void StopWatch();
  // Delivers an event of that many bytes. False when reading pauses until the queue has room.
  bool Deliver(TailEvent event, size_t bytes);

  const Duration silence_max_;
  const std::shared_ptr<ConsumerQueue> queue_;
  const ConsumerQueue::LanePointer lane_;
  TailCursor cursor_;

  // Of the present stream.
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientAsyncReader<v1::TailResponse>> reader_;
  v1::TailResponse message_;
  grpc::Status status_;
  EventLoop::TimerId watch_;
  bool heard_ = false;
  bool silent_ = false;
  // True while no read is on its way because the queue is full.
  bool paused_ = false;
  bool over_ = false;
};

}  // namespace quorum::client
