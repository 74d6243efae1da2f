#include "service/raft/errors.h"

namespace quorum::raft {

const char* Name(RaftError error) {
  switch (error) {
    case RaftError::kNone:
      return "NONE";
    case RaftError::kUnknownTopicOrPartition:
      return "UNKNOWN_TOPIC_OR_PARTITION";
    case RaftError::kNotLeaderOrFollower:
      return "NOT_LEADER_OR_FOLLOWER";
    case RaftError::kBrokerNotAvailable:
      return "BROKER_NOT_AVAILABLE";
    case RaftError::kUnsupportedVersion:
      return "UNSUPPORTED_VERSION";
    case RaftError::kInvalidRequest:
      return "INVALID_REQUEST";
    case RaftError::kFencedLeaderEpoch:
      return "FENCED_LEADER_EPOCH";
    case RaftError::kUnknownLeaderEpoch:
      return "UNKNOWN_LEADER_EPOCH";
    case RaftError::kInvalidVoterKey:
      return "INVALID_VOTER_KEY";
    case RaftError::kThrottled:
      return "THROTTLED";
    case RaftError::kRequestTimedOut:
      return "REQUEST_TIMED_OUT";
  }
  return "INVALID";
}

}  // namespace quorum::raft
