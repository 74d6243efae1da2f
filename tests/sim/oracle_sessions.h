// SessionOracle: checks what fetch sessions claim by leaving a partition out (architecture.md 4).
//
//   * A request of a follower says of every partition that it has named and not withdrawn: I am
//     still in that epoch, and still follow you.
//   * An answer of a leader says of every partition for which the follower waits: I still lead that
//     epoch.
// Both are compared with the replicas at the moment when the message leaves. It also counts the
// sessions that end, and checks that no partition is named in two live sessions at once (I15).
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "service/base/ids.h"
#include "service/raft/replica.h"
#include "service/shard/peer_messages.h"
#include "tests/sim/failure.h"
#include "tests/sim/oracle.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/statistics.h"

namespace quorum::sim {

class SessionOracle : public NetworkObserver {
 public:
  SessionOracle(Failure* failure, Statistics* statistics, Oracle::FindReplica find_replica)
      : failure_(*failure), statistics_(*statistics), find_replica_(std::move(find_replica)) {}

  void OnRequestLeaves(const shard::LaneRequest& request) override;
  void OnAnswerLeaves(const shard::LaneRequest& request,
                      const shard::LaneResponse& response) override;
  // The process of that node ended, and all its sessions with it.
  void OnStopped(NodeId node);

 private:
  struct Claim {
    Epoch epoch;
    uint64_t request_number = 0;
    // The replica was a follower of the node that it asks.
    bool follows = false;
    // The leader has answered it, or taken back what it says.
    bool settled = false;
  };
  struct Link {
    NodeId follower;
    NodeId leader;
    Lane lane;
    friend bool operator<(const Link& a, const Link& b) {
      return std::tie(a.follower, a.leader, a.lane) < std::tie(b.follower, b.leader, b.lane);
    }
  };
  struct Session {
    uint64_t id = 0;
    // The process life of the follower; each numbers its sessions from 1.
    std::optional<Incarnation> incarnation;
    ReplicaKey leader;
    std::map<PartitionId, Claim> claims;
  };

  static Link LinkOf(const shard::LaneRequest& request);
  void Name(const Link& link, Session& session, const shard::FetchEntry& entry,
            uint64_t request_number);
  void CheckFollower(const Link& link, const Session& session, uint64_t request_number);
  void CheckLeader(const Link& link, Session& session, const shard::FetchAnswer& answer);
  void CheckOneSession(const Link& link, PartitionId partition);

  Failure& failure_;
  Statistics& statistics_;
  const Oracle::FindReplica find_replica_;
  std::map<Link, Session> sessions_;
};

}  // namespace quorum::sim
