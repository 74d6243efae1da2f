// Election: who has answered one request for votes, and what that means (KIP-595, KIP-996).
// Prospective and Candidate each hold one.
//
// Guarantees:
//   1. exactly one of IsWon, IsLost, and "undecided" holds;
//   2. with n voters, it is won with floor(n/2)+1 grants and lost as soon as that many can no
//   longer be
//      reached, for even n as well.
//
// Thread: a plain value.

#pragma once

#include <cstdint>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"

namespace quorum::raft {

class Election {
 public:
  enum class Answer { kNone, kGranted, kRefused };

  struct Ballot {
    ReplicaKey voter;
    Answer answer = Answer::kNone;
    // When the request is to be sent (again); kNever once the answer is final.
    MonoTime send_at;
    // The number of the last request, whose answer counts; 0 when none is awaited.
    uint64_t request_number = 0;
    // Failures in a row, for the back-off.
    int failures = 0;
  };

  // One ballot per voter; `self` has granted already when it is among them.
  Election(const VoterSet& voters, const ReplicaKey& self, MonoTime now);

  // The ballot of `voter`; null when it is no voter.
  Ballot* Find(const ReplicaKey& voter);

  bool IsWon() const;
  bool IsLost() const;
  std::vector<ReplicaKey> Granting() const;
  // When the next request is due; kNever once it is decided or every answer is final.
  MonoTime NextSend() const;

  std::vector<Ballot>& ballots() { return ballots_; }
  const std::vector<Ballot>& ballots() const { return ballots_; }

 private:
  size_t Count(Answer answer) const;

  size_t majority_;
  std::vector<Ballot> ballots_;
};

}  // namespace quorum::raft
