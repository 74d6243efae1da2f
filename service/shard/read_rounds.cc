// Read rounds: whether a replica led when it was asked.

#include <algorithm>
#include <utility>
#include <vector>

#include "service/base/plant.h"
#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

// The session of this very voter; null when it has none.
const LeaderSession* SessionOf(const ShardState& shard, Lane lane, const ReplicaKey& voter) {
  const auto found = shard.leader_sessions.find(SessionKey{voter.id, lane});
  if (found == shard.leader_sessions.end()) return nullptr;
  return found->second.follower().key == voter ? &found->second : nullptr;
}

// The last answer of the session from before the round.
uint64_t LastBefore(const ReadRound& round, const LeaderSession& session) {
  const auto found = round.marks.find(session.follower().key.id);
  if (found == round.marks.end()) return 0;
  // A session that has opened since then has sent all its answers since then.
  return found->second.session_id == session.session_id() ? found->second.last_answer : 0;
}

bool HasFollowedSince(const Partition& partition, const ReadRound& round,
                      const LeaderSession& session) {
  uint64_t answer = LastBefore(round, session);
  if (Planted(Plant::kM48) && answer > 0) --answer;
  return session.HasFollowedSince(partition.id, round.epoch, answer);
}

// A parked request is answered for the sake of the round, at most once each.
void AskVoters(ShardState& shard, const Partition& partition, const ReadRound& round) {
  for (const Voter& voter : partition.replica.voters().Latest()) {
    const auto found = shard.leader_sessions.find(SessionKey{voter.key.id, partition.lane});
    if (found == shard.leader_sessions.end()) continue;
    LeaderSession& session = found->second;
    if (session.last_answer() <= LastBefore(round, session)) session.Hurry();
  }
}

}  // namespace

ReadRound BeginReadRound(const ShardState& shard, const Partition& partition) {
  ReadRound round;
  round.epoch = partition.replica.election().epoch;
  for (const Voter& voter : partition.replica.voters().Latest()) {
    const LeaderSession* session = SessionOf(shard, partition.lane, voter.key);
    if (session == nullptr) continue;
    round.marks[voter.key.id] = ReadRound::Mark{session->session_id(), session->last_answer()};
  }
  return round;
}

bool IsProven(const ShardState& shard, const Partition& partition, const ReadRound& round) {
  if (Planted(Plant::kM33)) return true;
  size_t proven = 0;
  for (const Voter& voter : partition.replica.voters().Latest()) {
    const LeaderSession* session = SessionOf(shard, partition.lane, voter.key);
    if (voter.key == shard.config.self) {
      ++proven;
    } else if (session != nullptr && HasFollowedSince(partition, round, *session)) {
      ++proven;
    }
  }
  return proven >= partition.replica.voters().Latest().Majority();
}

void FlushReadRounds(ShardState& shard) {
  std::vector<PartitionId> closed;
  for (const PartitionId& id : shard.open_rounds) {
    Partition* partition = shard.Find(id);
    if (partition == nullptr) {
      closed.push_back(id);
      continue;
    }
    ConcludeJudged(shard, *partition);
    bool open = false;
    for (const JudgedAppend& judged : partition->judged) {
      if (!judged.round.has_value()) continue;
      AskVoters(shard, *partition, *judged.round);
      open = true;
    }
    if (!open) closed.push_back(id);
  }
  for (const PartitionId& id : closed) shard.open_rounds.erase(id);
}

}  // namespace quorum::shard
