#include "service/transport/error_code.h"

#include <utility>

namespace quorum::transport {
namespace {

using raft::RaftError;
using shard::SessionError;

constexpr std::pair<RaftError, v1::ErrorCode> kRaftErrors[] = {
    {RaftError::kNone, v1::ERROR_CODE_NONE},
    {RaftError::kUnknownTopicOrPartition, v1::ERROR_CODE_UNKNOWN_TOPIC_OR_PARTITION},
    {RaftError::kNotLeaderOrFollower, v1::ERROR_CODE_NOT_LEADER_OR_FOLLOWER},
    {RaftError::kBrokerNotAvailable, v1::ERROR_CODE_BROKER_NOT_AVAILABLE},
    {RaftError::kUnsupportedVersion, v1::ERROR_CODE_UNSUPPORTED_VERSION},
    {RaftError::kInvalidRequest, v1::ERROR_CODE_INVALID_REQUEST},
    {RaftError::kFencedLeaderEpoch, v1::ERROR_CODE_FENCED_LEADER_EPOCH},
    {RaftError::kUnknownLeaderEpoch, v1::ERROR_CODE_UNKNOWN_LEADER_EPOCH},
    {RaftError::kInvalidVoterKey, v1::ERROR_CODE_INVALID_VOTER_KEY},
    {RaftError::kThrottled, v1::ERROR_CODE_THROTTLING_QUOTA_EXCEEDED},
    {RaftError::kRequestTimedOut, v1::ERROR_CODE_REQUEST_TIMED_OUT},
};

constexpr std::pair<SessionError, v1::ErrorCode> kSessionErrors[] = {
    {SessionError::kNone, v1::ERROR_CODE_NONE},
    {SessionError::kSessionIdNotFound, v1::ERROR_CODE_FETCH_SESSION_ID_NOT_FOUND},
    {SessionError::kInvalidSessionEpoch, v1::ERROR_CODE_INVALID_FETCH_SESSION_EPOCH},
    {SessionError::kInconsistentLaneCount, v1::ERROR_CODE_INCONSISTENT_LANE_COUNT},
    {SessionError::kInvalidRequest, v1::ERROR_CODE_INVALID_REQUEST},
};

}  // namespace

v1::ErrorCode ToErrorCode(RaftError error) {
  for (const auto& [ours, code] : kRaftErrors) {
    if (ours == error) return code;
  }
  return v1::ERROR_CODE_UNKNOWN_SERVER_ERROR;
}

RaftError ToRaftError(v1::ErrorCode code) {
  for (const auto& [ours, known] : kRaftErrors) {
    if (known == code) return ours;
  }
  return RaftError::kBrokerNotAvailable;
}

v1::ErrorCode ToErrorCode(SessionError error) {
  for (const auto& [ours, code] : kSessionErrors) {
    if (ours == error) return code;
  }
  return v1::ERROR_CODE_INVALID_REQUEST;
}

SessionError ToSessionError(v1::ErrorCode code) {
  for (const auto& [ours, known] : kSessionErrors) {
    if (known == code) return ours;
  }
  return SessionError::kInvalidRequest;
}

}  // namespace quorum::transport
