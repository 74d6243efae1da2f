// ShardApi: the seam through which work comes in to a shard. Post never runs anything: it queues,
// and the shard's next round drains the queue.
//
// Thread: any.

#pragma once

#include <functional>

#include "service/base/ids.h"
#include "service/shard/client_calls.h"
#include "service/shard/peer_messages.h"

namespace quorum::shard {

// Gets the answer to a peer request; runs on the shard thread, exactly once, and returns at once.
using PeerReply = std::function<void(LaneResponse)>;

class ShardApi {
 public:
  virtual ~ShardApi() = default;

  // A peer request of one lane of this shard. False when the mailbox is full: answer THROTTLED.
  virtual bool Post(LaneRequest request, PeerReply reply) = 0;

  // A call about one partition of this shard. False when the mailbox is full: the call was not
  // taken and its completion never runs.
  virtual bool Post(ShardCall call) = 0;
};

// Finds the shard of a partition or a lane.
class ShardDirectory {
 public:
  virtual ~ShardDirectory() = default;

  virtual ShardApi& ForPartition(PartitionId partition) = 0;
  virtual ShardApi& ForLane(Lane lane) = 0;
};

// The lane of a partition: a stable hash that every node of the cluster computes alike.
Lane LaneOf(PartitionId partition, uint32_t lane_count);

}  // namespace quorum::shard
