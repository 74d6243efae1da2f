// RaftError: what a replica answers to a peer or a client. The transport maps each to the ErrorCode
// of the same name (proto/quorum/v1/error.proto), numbered as Kafka's.
//
// Thread: a plain value.

#pragma once

#include <ostream>

namespace quorum::raft {

enum class RaftError {
  kNone,
  // No replica of that partition is open here. It creates nothing; the sender tries again.
  kUnknownTopicOrPartition,
  // The epoch matches, but this replica does not lead it.
  kNotLeaderOrFollower,
  // This replica cannot answer now: it shuts down or is quarantined.
  kBrokerNotAvailable,
  // A peer too old for the request. Only ever received.
  kUnsupportedVersion,
  // A field is out of its range. Nothing was done, no epoch was adopted.
  kInvalidRequest,
  // The request's epoch is below this replica's.
  kFencedLeaderEpoch,
  // The request's epoch is above this replica's, on a request that only a leader serves.
  kUnknownLeaderEpoch,
  // The request was meant for another replica key.
  kInvalidVoterKey,
  // A bound is reached; nothing was done, try later.
  kThrottled,
  // The request's time was over before anything was done. Never sent by a replica to a peer.
  kRequestTimedOut,
};

const char* Name(RaftError error);
inline std::ostream& operator<<(std::ostream& out, RaftError error) { return out << Name(error); }

}  // namespace quorum::raft
