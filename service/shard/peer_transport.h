// PeerTransport: the seam through which a shard's requests leave the node. The transport over gRPC
// implements it in production, the simulated network in tests/sim.
//
// Thread: Send is called by any shard thread and never blocks. `done` runs on any thread, exactly
// once, and must only post to the shard's mailbox.

#pragma once

#include <functional>
#include <optional>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/shard/peer_messages.h"

namespace quorum::shard {

// The answer, or nothing: no connection, time-out, a broken peer. Nothing says whether it was
// executed.
using PeerDone = std::function<void(std::optional<LaneResponse>)>;

class PeerTransport {
 public:
  virtual ~PeerTransport() = default;

  // Sends `request` to the node that its envelope names. Gives up after `timeout`.
  virtual void Send(LaneRequest request, Duration timeout, PeerDone done) = 0;
};

}  // namespace quorum::shard
