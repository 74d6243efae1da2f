// GrpcPeerTransport: carries the requests of the shards to other nodes (shard/peer_transport.h).
//
// Every call has a deadline and ends by it. Connections are kept by PeerChannels; a node that is
// down fails its calls quickly instead of keeping them, and the shard decides when to try again.
//
// Thread: Send from any shard thread. Completions run on gRPC's threads. The destructor cancels
// what is outstanding and waits for the completions, so the shards must outlive it.

#pragma once

#include <functional>
#include <string>
#include <utility>

#include "service/shard/peer_messages.h"
#include "service/shard/peer_transport.h"
#include "service/transport/outstanding_calls.h"
#include "service/transport/peer_channels.h"
#include "service/transport/unary_client.h"

namespace quorum::transport {

class GrpcPeerTransport : public shard::PeerTransport {
 public:
  // Ends this process, whose data directory has a newer one; told what the peer says of that. Any
  // thread.
  using OnFenced = std::function<void(const std::string&)>;

  // `channels` must outlive this.
  GrpcPeerTransport(PeerChannels& channels, OnFenced on_fenced)
      : channels_(channels), on_fenced_(std::move(on_fenced)) {}

  void Send(shard::LaneRequest request, Duration timeout, shard::PeerDone done) override;

  // Cancels what is outstanding; later requests fail at once. Returns when no completion runs any
  // more.
  void Shutdown() { calls_.CancelAndWait(); }

 private:
  // What the shard is told of a call: the answer, or nothing.
  template <typename Response>
  UnaryDone<Response> Answer(shard::PeerDone done) const;

  PeerChannels& channels_;
  const OnFenced on_fenced_;
  OutstandingCalls calls_;
};

}  // namespace quorum::transport
