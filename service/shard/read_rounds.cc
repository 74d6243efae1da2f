// Read rounds: whether a replica led when it was asked.

#include <iterator>

#include "service/base/plant.h"
#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

// The session of this very voter; null when it has none. `State` is const or not, as its session
// is to be.
template <typename State>
auto SessionOf(State& shard, const Partition& partition, const Voter& voter)
    -> decltype(&shard.leader_sessions.begin()->second) {
  const auto found = shard.leader_sessions.find(SessionKey{voter.key.id, partition.lane});
  if (found == shard.leader_sessions.end()) return nullptr;
  return found->second.follower().key == voter.key ? &found->second : nullptr;
}

// The last answer of the session from before the round.
uint64_t LastBefore(const ReadRound& round, const LeaderSession& session) {
  const auto found = round.marks.find(session.follower().key.id);
  if (found == round.marks.end()) return 0;
  const ReadRound::Mark& mark = found->second;
  const bool same =
      mark.life == session.follower().incarnation && mark.session_id == session.session_id();
  // A session that has opened since then has sent all its answers since then.
  return same ? mark.last_answer : 0;
}

bool HasFollowedSince(const Partition& partition, const ReadRound& round,
                      const LeaderSession& session) {
  uint64_t answer = LastBefore(round, session);
  if (Planted(Plant::kM48) && answer > 0) --answer;
  return session.HasFollowedSince(partition.id, round.epoch, answer);
}

// A parked request is answered for the sake of the round, at most once each.
void AskVotersFor(ShardState& shard, const Partition& partition, const ReadRound& round) {
  for (const Voter& voter : partition.replica.voters().Latest()) {
    LeaderSession* session = SessionOf(shard, partition, voter);
    if (session == nullptr) continue;
    if (session->last_answer() <= LastBefore(round, *session)) session->Hurry();
  }
}

// For all rounds that are open. False when none is.
bool AskVoters(ShardState& shard, const Partition& partition) {
  bool open = false;
  for (const JudgedAppend& judged : partition.judged) {
    if (!judged.round.has_value()) continue;
    AskVotersFor(shard, partition, *judged.round);
    open = true;
  }
  return open;
}

}  // namespace

ReadRound BeginReadRound(const ShardState& shard, const Partition& partition) {
  ReadRound round;
  round.epoch = partition.replica.election().epoch;
  for (const Voter& voter : partition.replica.voters().Latest()) {
    const LeaderSession* session = SessionOf(shard, partition, voter);
    if (session == nullptr) continue;
    round.marks[voter.key.id] = ReadRound::Mark{session->follower().incarnation,
                                                session->session_id(), session->last_answer()};
  }
  return round;
}

bool IsProven(const ShardState& shard, const Partition& partition, const ReadRound& round) {
  if (Planted(Plant::kM33)) return true;
  size_t proven = 0;
  for (const Voter& voter : partition.replica.voters().Latest()) {
    const LeaderSession* session = SessionOf(shard, partition, voter);
    if (voter.key == shard.config.self) {
      ++proven;
    } else if (session != nullptr && HasFollowedSince(partition, round, *session)) {
      ++proven;
    }
  }
  return proven >= partition.replica.voters().Latest().Majority();
}

void FlushReadRounds(ShardState& shard) {
  for (auto it = shard.open_rounds.begin(); it != shard.open_rounds.end();) {
    // Only a request proves anything.
    if (it->second == shard.session_requests) {
      ++it;
      continue;
    }
    it->second = shard.session_requests;
    Partition* partition = shard.Find(it->first);
    if (partition != nullptr) ConcludeJudged(shard, *partition);
    const bool open = partition != nullptr && AskVoters(shard, *partition);
    it = open ? std::next(it) : shard.open_rounds.erase(it);
  }
}

}  // namespace quorum::shard
