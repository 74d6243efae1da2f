#include "service/raft/on_begin_quorum_epoch.h"

#include <variant>

#include "service/raft/response.h"
#include "service/raft/transitions.h"

namespace quorum::raft {
namespace {

bool IsWellFormed(const State& state, const BeginQuorumEpochRequest& request) {
  if (request.leader.id < NodeId(1) || request.leader.directory.IsZero()) return false;
  return request.epoch >= Epoch(1) && IsAdoptable(state, request.epoch);
}

void Reply(const State& state, Token token, RaftError error, StepContext& context) {
  context.Emit(ReplyBeginQuorumEpoch{token, BeginQuorumEpochResponse{state.Header(error)}});
}

// A poll among followers of this leader is moot: the leader has just been heard of.
void FollowAgain(State& state, const ReplicaKey& leader, StepContext& context) {
  if (std::holds_alternative<Prospective>(state.role) && state.election.leader == leader) {
    BecomeFollower(state, state.election.epoch, leader, "the leader is alive", context);
  }
}

}  // namespace

void OnBeginRequest(State& state, const BeginQuorumEpochRequested& event, StepContext& context) {
  const BeginQuorumEpochRequest& request = event.request;
  if (!IsWellFormed(state, request)) {
    Reply(state, event.token, RaftError::kInvalidRequest, context);
    return;
  }
  if (request.epoch < state.election.epoch) {
    Reply(state, event.token, RaftError::kFencedLeaderEpoch, context);
    return;
  }
  if (!Adopt(state, request.epoch, request.leader, "BeginQuorumEpoch", context)) {
    Reply(state, event.token, RaftError::kBrokerNotAvailable, context);
    return;
  }
  FollowAgain(state, request.leader, context);
  // What the request says of the leader is true whomever it was meant for.
  const bool meant = request.voter == state.self;
  Reply(state, event.token, meant ? RaftError::kNone : RaftError::kInvalidVoterKey, context);
}

void OnBeginResponse(State& state, const BeginQuorumEpochResponded& event, StepContext& context) {
  if (event.correlation.incarnation != state.incarnation) return;
  if (!std::holds_alternative<Leader>(state.role)) return;
  // The period of the announcement is its own retry, so there is nothing to do but learn.
  (void)HandleHeader(state, event.response.header, context);
}

void SendDueBegins(State& state, StepContext& context) {
  Leader* leader = std::get_if<Leader>(&state.role);
  if (leader == nullptr || leader->begin_due > context.now) return;
  const Duration period = state.config.fetch_timeout / 2;
  leader->begin_due = RoundUp(context.now + period, state.config.timer_grid);
  for (const Voter& voter : state.voters.Latest()) {
    if (voter.key == state.self) continue;
    const auto found = leader->progress.find(voter.key);
    const bool fetches = found != leader->progress.end() && found->second.last_fetch.has_value() &&
                         *found->second.last_fetch > context.now - period;
    if (fetches) continue;
    const BeginQuorumEpochRequest request{state.self, voter.key, state.election.epoch};
    SendTo(state, voter.key, Gate::kQuorum, request, context);
  }
}

}  // namespace quorum::raft
