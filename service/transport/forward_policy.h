// AppendRoute: where an append goes next. It decides, for one append on one node, whether to append
// here, to forward it one hop, to wait, or to answer; whoever drives it does these things. It knows
// no gRPC, so that the simulator drives the very same rules.
//
//   AppendRoute route(rules, replicas, deadline);
//   AppendRoute::Next next = route.Begin(leader, now);
//   // Do what `next` says; after an attempt:
//   next = route.After(AttemptResult::kNotLeader, leader, now);
//
// The rule that matters: what may have been executed is never sent again, unless it has a producer,
// which makes the log hold it once at most. "Not leader" is proof that nothing was executed; a lost
// connection or a time-out proves nothing and goes back to the client.
//
// Guarantees:
//   1. after kCommitted or kRefused, and without rules.may_repeat after kUnknown, the only step is
//      kAnswer;
//   2. kForward never names this node, and is never given when rules.may_forward is false;
//   3. after `deadline` no further attempt begins;
//   4. without a wait in between, at most three attempts follow each other.
//
// Thread: one at a time.

#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"

namespace quorum::transport {

struct RouteRules {
  NodeId self;
  // False for what was forwarded already, and where the client says so.
  bool may_forward = true;
  // False: when nobody leads as far as is known here, say so at once. For what was forwarded, the
  // node that forwards does the waiting.
  bool may_wait = true;
  // It may be executed twice without harm: a batch of a producer.
  bool may_repeat = false;
};

// How an attempt ended.
enum class AttemptResult {
  kCommitted,
  // Not executed, and never will be, but another node may take it: no leader, or no replica, there.
  kNotLeader,
  // There was no connection: nothing was sent.
  kNotSent,
  // Not executed, and no other node will take it either.
  kRefused,
  // It may have been executed, or may be some day.
  kUnknown,
};

class AppendRoute {
 public:
  enum class Step {
    // Append on this node's own replica.
    kAppendHere,
    // Send it to `target`.
    kForward,
    // Do nothing for `wait`, then Begin again.
    kWait,
    // Tell the client what the last attempt ended with.
    kAnswer,
    // Nothing was executed anywhere, and this is the end: no leader was found.
    kGiveUp,
  };
  struct Next {
    Step step = Step::kGiveUp;
    NodeId target;
    Duration wait = Duration::zero();
  };

  // `replicas` are those that the catalog assigns: whom to ask while no leader is known.
  AppendRoute(const RouteRules& rules, std::vector<NodeId> replicas, MonoTime deadline);

  // The first attempt, and the next one after a wait. `leader` is the newest hint.
  Next Begin(std::optional<NodeId> leader, MonoTime now);

  // What follows an attempt. `leader` is the newest hint, that of the attempt's answer included.
  Next After(AttemptResult result, std::optional<NodeId> leader, MonoTime now);

 private:
  Next Attempt(std::optional<NodeId> leader);
  Next Wait(MonoTime now);
  NodeId NextReplica();

  const RouteRules rules_;
  const std::vector<NodeId> replicas_;
  const MonoTime deadline_;
  // Where the last attempt went.
  std::optional<NodeId> target_;
  // The hint that has just led nowhere: the others are asked who leads now.
  std::optional<NodeId> unreachable_;
  size_t next_replica_ = 0;
  // Attempts since the last wait.
  int attempts_ = 0;
  Duration backoff_ = kBackoffMin;

  static constexpr Duration kBackoffMin = std::chrono::milliseconds(5);
  static constexpr Duration kBackoffMax = std::chrono::milliseconds(100);
  static constexpr int kAttemptsInARowMax = 3;
};

}  // namespace quorum::transport
