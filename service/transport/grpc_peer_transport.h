// GrpcPeerTransport: carries the requests of the shards to other nodes (shard/peer_transport.h).
//
// Every call has a deadline and ends by it. Connections are kept by PeerChannels; a node that is
// down fails its calls quickly instead of keeping them, and the shard decides when to try again.
//
// Thread: Send from any shard thread. Completions run on gRPC's threads. The destructor cancels
// what is outstanding and waits for the completions, so the shards must outlive it.

#pragma once

#include "service/shard/peer_messages.h"
#include "service/shard/peer_transport.h"
#include "service/transport/outstanding_calls.h"
#include "service/transport/peer_channels.h"

namespace quorum::transport {

class GrpcPeerTransport : public shard::PeerTransport {
 public:
  // `channels` must outlive this.
  explicit GrpcPeerTransport(PeerChannels& channels) : channels_(channels) {}

  void Send(shard::LaneRequest request, Duration timeout, shard::PeerDone done) override;

  // Cancels what is outstanding; later requests fail at once. Returns when no completion runs any
  // more.
  void Shutdown() { calls_.CancelAndWait(); }

 private:
  PeerChannels& channels_;
  OutstandingCalls calls_;
};

}  // namespace quorum::transport
