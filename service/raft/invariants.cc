#include "service/raft/invariants.h"

#include <algorithm>
#include <variant>

#include "service/base/overloaded.h"

namespace quorum::raft {
namespace {

const char* CheckRole(const State& state) {
  const std::optional<ReplicaKey>& leader = state.election.leader;
  return std::visit(
      Overloaded{
          [](const Unattached&) -> const char* { return nullptr; },
          [&](const Prospective&) -> const char* {
            return leader == state.self ? "a prospective names itself as leader" : nullptr;
          },
          [&](const Candidate&) -> const char* {
            if (leader.has_value()) return "a candidate knows a leader of its epoch";
            return state.election.voted == state.self ? nullptr
                                                      : "a candidate did not vote for itself";
          },
          [&](const Leader&) -> const char* {
            return leader == state.self ? nullptr : "a leader does not name itself";
          },
          [&](const Follower&) -> const char* {
            if (!leader.has_value()) return "a follower has no leader";
            return *leader == state.self ? "a follower follows itself" : nullptr;
          },
          [&](const Resigned&) -> const char* {
            return leader == state.self ? nullptr : "a resigned replica does not name itself";
          },
      },
      state.role);
}

}  // namespace

Progression Remember(const State& state) {
  return Progression{state.election, state.incarnation, state.committed, state.exposed};
}

const char* CheckBasic(const State& state) {
  if (state.election.epoch < state.log.epochs().LastEpoch()) {
    return "the log holds records of an epoch that was never adopted";
  }
  if (state.log.durable_end() > state.log.end()) return "more is synced than there is";
  if (state.log.start() > state.log.durable_end()) return "the log ends below its start";
  const Offset committed = state.committed.value_or(Offset(0));
  if (committed > state.log.end()) return "the high watermark is above the log end";
  if (state.exposed > committed) return "readers see what is not committed";
  if (state.exposed > state.log.durable_end()) return "readers see what is not synced";
  return CheckRole(state);
}

const char* CheckDelta(const Progression& before, const State& state) {
  if (state.election.epoch < before.election.epoch) return "the epoch fell";
  if (state.election.epoch == before.election.epoch) {
    // A winner drops its own vote, for its name as leader says as much. It may have resigned in the
    // same step.
    const bool won = state.election.leader == state.self && before.election.voted == state.self;
    if (before.election.voted.has_value() && state.election.voted != before.election.voted &&
        !won) {
      return "the vote changed within its epoch";
    }
    if (before.election.leader.has_value() && state.election.leader != before.election.leader) {
      return "the leader changed within its epoch";
    }
  }
  if (state.incarnation < before.incarnation) return "the role incarnation fell";
  if (state.committed.value_or(Offset(0)) < before.committed.value_or(Offset(0))) {
    return "the high watermark fell";
  }
  if (state.exposed < before.exposed) return "readers were shown too much";
  return nullptr;
}

}  // namespace quorum::raft
