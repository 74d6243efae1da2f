// TailStream: one Tail call. It serves the stream from this node's replica, whoever leads; where
// this node has none, it relays the stream of one that has.
//
//   Describe -> (no replica here: relay) -> [ Read -> Write ]* -> Finish
//
// Back-pressure: the next read, from the shard or from the other node, begins when the message
// before it was taken. One message is in memory at a time.
//
// Lifecycle: made by the service, ends with OnDone. Completions of the shard hold a reference, so a
// late one finds a stream that has ended and does nothing. Thread: any; mutex_ orders the end.

#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "quorum/v1/log.pb.h"
#include "service/base/mutex.h"
#include "service/transport/client_parts.h"
#include "service/transport/partition_lookup.h"
#include "service/transport/tail_plan.h"
#include "service/transport/tail_relay.h"

namespace quorum::transport {

class TailStream : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                   public std::enable_shared_from_this<TailStream> {
 public:
  // Begins at once. gRPC keeps the pointer until OnDone. `parts` must outlive the server.
  static TailStream* Start(ClientParts& parts, const grpc::ByteBuffer& request);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit TailStream(ClientParts& parts) : parts_(parts) {}

  void Open(const grpc::ByteBuffer& request);
  // Asks this node's replica where it stands.
  void Describe();
  void OnDescribed(const shard::PartitionDescription& description);
  void Read();
  void OnRead(const shard::ReadResult& read);
  void GoOn(const shard::ReadResult& read);
  void Relay();

  // One message; what follows it is in OnWriteDone.
  void Send(grpc::ByteBuffer message);
  void SendProgress(const shard::ReadResult& read);
  // Once; later calls do nothing.
  void End(const grpc::Status& status);
  bool HasEnded();
  std::shared_ptr<TailRelay> GetRelay();

  ClientParts& parts_;
  std::shared_ptr<TailStream> self_;
  v1::TailRequest request_;
  FoundPartition partition_;
  std::optional<TailPlan> plan_;
  // What the replica said last; what is read next is compared with it.
  std::optional<shard::ReadResult> seen_;
  MonoTime last_message_;
  grpc::ByteBuffer message_;

  Mutex mutex_;
  std::shared_ptr<TailRelay> relay_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // How to end once the message that is being written has been taken.
  std::optional<grpc::Status> status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::transport
