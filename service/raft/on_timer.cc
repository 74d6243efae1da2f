#include "service/raft/on_timer.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "service/base/overloaded.h"
#include "service/raft/on_fetch.h"
#include "service/raft/on_vote.h"
#include "service/raft/transitions.h"

namespace quorum::raft {
namespace {

void Campaign(State& state, const char* reason, StepContext& context) {
  BecomeProspective(state, reason, context);
  ConcludeElection(state, context);
}

// How many other voters have to fetch for the leader to be sure of a majority.
size_t FetchersNeeded(const State& state) {
  const VoterSet& voters = state.voters.Latest();
  if (voters.empty()) return 0;
  return voters.Majority() - (voters.Contains(state.self) ? 1 : 0);
}

// The moment at which a majority had last fetched: the last fetch of the least recent voter that is
// needed for one. A voter that has not fetched counts from the beginning of the leadership.
MonoTime MajoritySeen(const State& state, const Leader& leader, size_t needed) {
  std::vector<MonoTime> seen;
  for (const Voter& voter : state.voters.Latest()) {
    if (voter.key == state.self) continue;
    const auto found = leader.progress.find(voter.key);
    const bool known = found != leader.progress.end() && found->second.last_fetch.has_value();
    seen.push_back(known ? std::max(*found->second.last_fetch, leader.since) : leader.since);
  }
  std::sort(seen.begin(), seen.end(), std::greater<>());
  return seen[needed - 1];
}

void Note(State& state, const PeerSeen& seen) {
  if (auto* leader = std::get_if<Leader>(&state.role)) {
    const auto found = leader->progress.find(seen.peer);
    if (found != leader->progress.end()) found->second.OnSeen(seen.at, state.log.end());
    return;
  }
  auto* follower = std::get_if<Follower>(&state.role);
  if (follower == nullptr || follower->leader_resigned) return;
  if (state.election.leader != seen.peer) return;
  // The leader holds this stint's Fetch and has nothing to add: it succeeded as much as an empty
  // answer.
  follower->has_fetched = true;
  const MonoTime deadline = RoundUp(seen.at + follower->fetch_timeout, state.config.timer_grid);
  follower->fetch_deadline = std::max(follower->fetch_deadline, deadline);
}

// A replica that is leaving has no candidacy of its own: it waits for somebody else's (2.6).
bool MayCampaign(const State& state) { return state.IsVoter() && !state.shutting_down; }

void Expire(State& state, Unattached& role, StepContext& context) {
  if (!MayCampaign(state) || role.election_deadline > context.now) return;
  Campaign(state, "the election timer fired", context);
}

void Expire(State& state, Prospective& role, StepContext& context) {
  if (role.election_deadline > context.now) return;
  LeaveProspective(state, "the poll took too long", context);
}

void Expire(State& state, Candidate& role, StepContext& context) {
  if (role.election_deadline > context.now) return;
  Campaign(state, "the election was not won in time", context);
}

void Expire(State& state, Leader& role, StepContext& context) {
  const size_t needed = FetchersNeeded(state);
  if (needed == 0 || role.check_quorum_deadline > context.now) return;
  const Duration limit = state.config.fetch_timeout + state.config.fetch_timeout / 2;
  role.check_quorum_deadline = MajoritySeen(state, role, needed) + limit;
  if (role.check_quorum_deadline > context.now) return;
  BecomeResigned(state, std::nullopt, "no majority fetches any more", context);
}

void Expire(State& state, Follower& role, StepContext& context) {
  if (!state.IsVoter() || role.fetch_deadline > context.now) return;
  Campaign(state, "the fetch timer fired", context);
}

void Expire(State& state, Resigned& role, StepContext& context) {
  if (state.shutting_down || role.election_deadline > context.now) return;
  const std::optional<Epoch> next = TakeNextEpoch(state, context);
  if (next.has_value()) BecomeUnattached(state, *next, "nobody took over", context);
}

MonoTime RoleDeadline(const State& state, const Unattached& role) {
  return MayCampaign(state) ? role.election_deadline : kNever;
}

MonoTime RoleDeadline(const State&, const Prospective& role) {
  return std::min(role.election_deadline, role.election.NextSend());
}

MonoTime RoleDeadline(const State&, const Candidate& role) {
  return std::min(role.election_deadline, role.election.NextSend());
}

MonoTime RoleDeadline(const State& state, const Leader& role) {
  const bool alone = state.voters.Latest().size() <= 1 && state.IsVoter();
  if (alone) return kNever;
  const MonoTime check = FetchersNeeded(state) == 0 ? kNever : role.check_quorum_deadline;
  return std::min(role.begin_due, check);
}

MonoTime RoleDeadline(const State& state, const Follower& role) {
  return state.IsVoter() ? role.fetch_deadline : kNever;
}

MonoTime RoleDeadline(const State& state, const Resigned& role) {
  MonoTime deadline = state.shutting_down ? kNever : role.election_deadline;
  for (const Resigned::Notice& notice : role.unacknowledged) {
    deadline = std::min(deadline, notice.send_at);
  }
  return deadline;
}

}  // namespace

void OnTimer(State& state, const TimerFired& event, StepContext& context) {
  for (const PeerSeen& seen : event.seen) Note(state, seen);
  std::visit([&](auto& role) { Expire(state, role, context); }, state.role);
}

MonoTime NextDeadline(const State& state) {
  if (state.quarantine.has_value()) return kNever;
  const MonoTime role =
      std::visit([&](const auto& current) { return RoleDeadline(state, current); }, state.role);
  return std::min(role, NextFetchTime(state));
}

}  // namespace quorum::raft
