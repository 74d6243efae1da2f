#include "service/transport/forward_policy.h"

#include <algorithm>
#include <utility>

#include "service/base/plant.h"

namespace quorum::transport {

AppendRoute::AppendRoute(const RouteRules& rules, std::vector<NodeId> replicas, MonoTime deadline)
    : rules_(rules), replicas_(std::move(replicas)), deadline_(deadline) {
  // This node's own replica knows best, and costs no hop.
  const auto own = std::find(replicas_.begin(), replicas_.end(), rules_.self);
  if (own != replicas_.end()) next_replica_ = static_cast<size_t>(own - replicas_.begin());
}

AppendRoute::Next AppendRoute::Begin(std::optional<NodeId> leader, MonoTime now) {
  if (now >= deadline_) return Next{Step::kGiveUp, {}, {}};
  attempts_ = 0;
  return Attempt(leader);
}

AppendRoute::Next AppendRoute::After(AttemptResult result, std::optional<NodeId> leader,
                                     MonoTime now) {
  switch (result) {
    case AttemptResult::kCommitted:
    case AttemptResult::kRefused:
      return Next{Step::kAnswer, {}, {}};
    case AttemptResult::kUnknown:
      if (Planted(Plant::kM46) && now < deadline_) return Attempt(leader);
      // Who may not forward has no other place to try.
      if (!rules_.may_repeat || !rules_.may_forward || !rules_.may_wait || now >= deadline_) {
        return Next{Step::kAnswer, {}, {}};
      }
      return Wait(now);
    case AttemptResult::kNotSent:
      unreachable_ = target_;
      return Wait(now);
    case AttemptResult::kNotLeader:
      break;
  }
  // The hint is all that a client wants to hear who forbids forwarding.
  if (!rules_.may_forward && leader.has_value() && leader != rules_.self) {
    return Next{Step::kGiveUp, {}, {}};
  }
  // A hint at the very node that has just said no is old.
  if (leader == target_) unreachable_ = target_;
  const bool redirected = leader.has_value() && leader != unreachable_;
  if (redirected && now < deadline_ && attempts_ < kAttemptsInARowMax) return Attempt(leader);
  return Wait(now);
}

AppendRoute::Next AppendRoute::Attempt(std::optional<NodeId> leader) {
  ++attempts_;
  if (!rules_.may_forward) {
    target_ = rules_.self;
    return Next{Step::kAppendHere, rules_.self, {}};
  }
  if (leader.has_value() && leader == unreachable_) {
    // Whoever else has a replica may have heard of a successor. Then the hint is tried again.
    leader.reset();
    unreachable_.reset();
  }
  target_ = leader.has_value() ? *leader : NextReplica();
  return Next{*target_ == rules_.self ? Step::kAppendHere : Step::kForward, *target_, {}};
}

AppendRoute::Next AppendRoute::Wait(MonoTime now) {
  if (!rules_.may_wait || now >= deadline_) return Next{Step::kGiveUp, {}, {}};
  const Duration wait = std::min<Duration>(backoff_, deadline_ - now);
  backoff_ = std::min(backoff_ * 2, kBackoffMax);
  return Next{Step::kWait, {}, wait};
}

NodeId AppendRoute::NextReplica() {
  if (replicas_.empty()) return rules_.self;
  const NodeId replica = replicas_[next_replica_ % replicas_.size()];
  ++next_replica_;
  return replica;
}

}  // namespace quorum::transport
