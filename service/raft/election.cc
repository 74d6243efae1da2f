#include "service/raft/election.h"

#include <algorithm>
#include <vector>

#include "service/base/check.h"
#include "service/base/plant.h"

namespace quorum::raft {

Election::Election(const VoterSet& voters, const ReplicaKey& self, MonoTime now)
    : majority_(voters.Majority()) {
  if (Planted(Plant::kM04)) majority_ = std::max<size_t>(1, voters.size() / 2);
  ballots_.reserve(voters.size());
  for (const Voter& voter : voters) {
    Ballot ballot;
    ballot.voter = voter.key;
    ballot.send_at = now;
    if (voter.key == self) {
      ballot.answer = Answer::kGranted;
      ballot.send_at = kNever;
    }
    ballots_.push_back(ballot);
  }
}

Election::Ballot* Election::Find(const ReplicaKey& voter) {
  for (Ballot& ballot : ballots_) {
    if (ballot.voter == voter) return &ballot;
  }
  return nullptr;
}

size_t Election::Count(Answer answer) const {
  return static_cast<size_t>(
      std::count_if(ballots_.begin(), ballots_.end(),
                    [answer](const Ballot& ballot) { return ballot.answer == answer; }));
}

bool Election::IsWon() const { return Count(Answer::kGranted) >= majority_; }

bool Election::IsLost() const { return Count(Answer::kGranted) + Count(Answer::kNone) < majority_; }

std::vector<ReplicaKey> Election::Granting() const {
  std::vector<ReplicaKey> granting;
  for (const Ballot& ballot : ballots_) {
    if (ballot.answer == Answer::kGranted) granting.push_back(ballot.voter);
  }
  return granting;
}

MonoTime Election::NextSend() const {
  MonoTime next = kNever;
  if (IsWon() || IsLost()) return next;
  for (const Ballot& ballot : ballots_) next = std::min(next, ballot.send_at);
  return next;
}

}  // namespace quorum::raft
