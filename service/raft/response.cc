#include "service/raft/response.h"

#include "service/raft/transitions.h"

namespace quorum::raft {
namespace {

ResponseAction ActOnError(State& state, RaftError error, StepContext& context) {
  switch (error) {
    case RaftError::kNone:
    case RaftError::kUnsupportedVersion:
      return ResponseAction::kContinue;
    case RaftError::kInvalidRequest:
      Quarantine(state, "a peer calls a request of this replica invalid", context);
      return ResponseAction::kDone;
    case RaftError::kUnknownTopicOrPartition:
    case RaftError::kNotLeaderOrFollower:
    case RaftError::kBrokerNotAvailable:
    case RaftError::kFencedLeaderEpoch:
    case RaftError::kUnknownLeaderEpoch:
    case RaftError::kInvalidVoterKey:
    case RaftError::kThrottled:
    case RaftError::kRequestTimedOut:
      return ResponseAction::kBackOff;
  }
  return ResponseAction::kBackOff;
}

}  // namespace

ResponseAction HandleHeader(State& state, const ResponseHeader& header, StepContext& context) {
  // A replica that is not open there knows no epoch; neither does one that answers nonsense.
  if (header.error == RaftError::kUnknownTopicOrPartition || !IsAdoptable(state, header.epoch)) {
    return ResponseAction::kBackOff;
  }
  if (header.epoch < state.election.epoch || header.error == RaftError::kUnknownLeaderEpoch) {
    return ResponseAction::kBackOff;
  }
  const uint64_t incarnation = state.incarnation;
  const bool higher = header.epoch > state.election.epoch;
  if (!Adopt(state, header.epoch, header.leader, "an answer says so", context)) {
    return ResponseAction::kDone;
  }
  const bool changed = state.incarnation != incarnation;
  if (changed && (higher || header.error != RaftError::kNone)) return ResponseAction::kDone;
  return ActOnError(state, header.error, context);
}

}  // namespace quorum::raft
