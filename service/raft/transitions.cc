#include "service/raft/transitions.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/base/plant.h"
#include "service/raft/on_append.h"
#include "service/raft/on_fetch.h"
#include "service/raft/on_resign.h"
#include "service/raft/watermark.h"

namespace quorum::raft {
namespace {

// May a role of kind `from` become one of kind `to`, staying in its epoch (protocol.md 2.4)?
bool IsLegalInSameEpoch(RoleKind from, RoleKind to) {
  switch (to) {
    case RoleKind::kUnattached:
      return from == RoleKind::kProspective;
    case RoleKind::kProspective:
      return from == RoleKind::kUnattached || from == RoleKind::kCandidate ||
             from == RoleKind::kFollower;
    case RoleKind::kCandidate:
      return false;
    case RoleKind::kLeader:
      return from == RoleKind::kCandidate;
    case RoleKind::kFollower:
      return from == RoleKind::kUnattached || from == RoleKind::kProspective ||
             from == RoleKind::kCandidate;
    case RoleKind::kResigned:
      return from == RoleKind::kLeader;
  }
  return false;
}

// A higher epoch is entered as Unattached or Follower, and as Candidate from Prospective.
bool IsLegalInHigherEpoch(RoleKind from, RoleKind to) {
  switch (to) {
    case RoleKind::kUnattached:
    case RoleKind::kFollower:
      return true;
    case RoleKind::kCandidate:
      return from == RoleKind::kProspective;
    case RoleKind::kProspective:
    case RoleKind::kLeader:
    case RoleKind::kResigned:
      return false;
  }
  return false;
}

bool NeedsVoter(RoleKind to) {
  return to == RoleKind::kProspective || to == RoleKind::kCandidate || to == RoleKind::kLeader;
}

void CheckLegal(const State& state, RoleKind to, const ElectionState& next) {
  const RoleKind from = KindOf(state.role);
  CHECK_GE(next.epoch, state.election.epoch) << "the epoch of a replica never falls";
  if (next.epoch == state.election.epoch) {
    CHECK(IsLegalInSameEpoch(from, to)) << from << " -> " << to << " in epoch " << next.epoch;
    if (state.election.voted.has_value() && to != RoleKind::kLeader) {
      CHECK(next.voted == state.election.voted) << "the vote lives as long as the epoch";
    }
    if (state.election.leader.has_value()) CHECK(next.leader == state.election.leader);
  } else {
    CHECK(IsLegalInHigherEpoch(from, to)) << from << " -> " << to << " in epoch " << next.epoch;
  }
  if (NeedsVoter(to)) CHECK(state.IsVoter()) << to << " is for voters only";
}

// What is known of `epoch`, which is the current or a higher one, on entering it.
ElectionState InEpoch(const State& state, Epoch epoch) {
  CHECK_GE(epoch, state.election.epoch) << "the epoch of a replica never falls";
  if (epoch == state.election.epoch) return state.election;
  return ElectionState{epoch, std::nullopt, std::nullopt};
}

void Persist(State& state, const ElectionState& next, StepContext& context) {
  if (state.election == next) return;
  state.election = next;
  context.Emit(PersistElection{next});
}

// The one place that assigns the role.
void TransitionTo(State& state, Role role, const ElectionState& next, const char* reason,
                  StepContext& context) {
  const RoleKind from = KindOf(state.role);
  const RoleKind to = KindOf(role);
  CheckLegal(state, to, next);
  const bool led = from == RoleKind::kLeader;
  const bool leader_changed =
      next.epoch != state.election.epoch || next.leader != state.election.leader || led;
  Role old = std::exchange(state.role, std::move(role));
  ++state.incarnation;
  state.fetch = FetchState{};
  state.fetch.send_at = context.now;
  Persist(state, next, context);
  context.Emit(WithdrawFromSessions{state.Header(RaftError::kNotLeaderOrFollower)});
  if (led) SettleLostLeadership(state, std::get<Leader>(old), context);
  context.Emit(Trace{TraceEvent{TraceKind::kTransition, next.epoch, from, to, next.leader,
                                std::nullopt, state.log.end(), reason}});
  if (leader_changed) context.Emit(LeadershipChanged{next.epoch, next.leader, false});
}

// The time that is left on the old role's election timer, for a role that inherits it.
MonoTime InheritedElectionDeadline(const State& state, StepContext& context) {
  if (!state.IsVoter()) return kNever;
  if (const auto* unattached = std::get_if<Unattached>(&state.role)) {
    if (unattached->election_deadline != kNever) return unattached->election_deadline;
  }
  if (const auto* prospective = std::get_if<Prospective>(&state.role)) {
    if (!prospective->election.IsLost()) return prospective->election_deadline;
  }
  if (const auto* candidate = std::get_if<Candidate>(&state.role)) {
    return candidate->election_deadline;
  }
  if (const auto* resigned = std::get_if<Resigned>(&state.role)) {
    return resigned->election_deadline;
  }
  return DrawElectionDeadline(state, context);
}

std::vector<ReplicaKey> KeysOf(const VoterSet& voters) {
  std::vector<ReplicaKey> keys;
  keys.reserve(voters.size());
  for (const Voter& voter : voters) keys.push_back(voter.key);
  return keys;
}

// The records that open an epoch: LeaderChange, and the voter set while no log holds it yet
// (C-127).
void AppendEpochStart(State& state, std::vector<ReplicaKey> granting, StepContext& context) {
  const VoterSet voters = state.voters.Latest();
  const Offset base = state.log.end();
  AppendControlBatch batch;
  batch.base_offset = base;
  batch.epoch = state.election.epoch;
  batch.records.push_back(LeaderChange{state.self, KeysOf(voters), std::move(granting)});
  Offset next = base + 1;
  if (!state.voters.LatestOffset().has_value()) {
    batch.records.push_back(VotersRecord{voters});
    batch.voters.emplace(next, voters);
    state.voters.Append(next, voters);
    next = next + 1;
  }
  batch.starts_epoch = state.log.Append(base, next, state.election.epoch, context.write_number);
  CHECK(batch.starts_epoch) << "epoch " << state.election.epoch << " has records already";
  context.Emit(std::move(batch));
}

bool Contradict(State& state, const char* reason, StepContext& context) {
  Quarantine(state, reason, context);
  return false;
}

}  // namespace

void BecomeUnattached(State& state, Epoch epoch, const char* reason, StepContext& context) {
  const ElectionState next = InEpoch(state, epoch);
  Unattached role{InheritedElectionDeadline(state, context)};
  TransitionTo(state, role, next, reason, context);
}

void BecomeFollower(State& state, Epoch epoch, const ReplicaKey& leader, const char* reason,
                    StepContext& context) {
  CHECK(leader != state.self) << "a replica never follows itself";
  ElectionState next = InEpoch(state, epoch);
  next.leader = leader;
  Follower role;
  role.fetch_timeout = DrawFetchTimeout(state, context);
  role.fetch_deadline = RoundUp(context.now + role.fetch_timeout, state.config.timer_grid);
  TransitionTo(state, role, next, reason, context);
}

void BecomeProspective(State& state, const char* reason, StepContext& context) {
  Prospective role{Election(state.voters.Latest(), state.self, context.now),
                   DrawElectionDeadline(state, context)};
  TransitionTo(state, std::move(role), state.election, reason, context);
}

void BecomeCandidate(State& state, const char* reason, StepContext& context) {
  const std::optional<Epoch> epoch = TakeNextEpoch(state, context);
  if (!epoch.has_value()) return;
  const ElectionState next{*epoch, std::nullopt, state.self};
  Candidate role{Election(state.voters.Latest(), state.self, context.now),
                 DrawElectionDeadline(state, context)};
  TransitionTo(state, std::move(role), next, reason, context);
}

void BecomeLeader(State& state, StepContext& context) {
  CHECK(std::holds_alternative<Candidate>(state.role)) << KindOf(state.role);
  const Election& election = std::get<Candidate>(state.role).election;
  CHECK(election.IsWon()) << "a majority makes a leader";
  const std::vector<ReplicaKey> granting = election.Granting();
  const Duration fetch_timeout = state.config.fetch_timeout;
  Leader role;
  role.epoch_start = state.log.end();
  role.begin_due = context.now;
  role.check_quorum_deadline = context.now + fetch_timeout + fetch_timeout / 2;
  role.since = context.now;
  for (const Voter& voter : state.voters.Latest()) {
    if (voter.key != state.self) role.progress.emplace(voter.key, ReplicaProgress{});
  }
  ElectionState next = state.election;
  next.leader = state.self;
  next.voted = std::nullopt;
  TransitionTo(state, std::move(role), next, "won the election", context);
  AppendEpochStart(state, granting, context);
}

void BecomeResigned(State& state, const std::optional<ReplicaKey>& preferred, const char* reason,
                    StepContext& context) {
  CHECK(std::holds_alternative<Leader>(state.role)) << KindOf(state.role);
  const Leader& leader = std::get<Leader>(state.role);
  Resigned role;
  role.successors = SortSuccessors(state, leader, preferred);
  role.election_deadline = DrawElectionDeadline(state, context);
  for (const Voter& voter : state.voters.Latest()) {
    if (voter.key == state.self) continue;
    role.unacknowledged.push_back(Resigned::Notice{voter.key, context.now, 0, 0});
  }
  TransitionTo(state, std::move(role), state.election, reason, context);
}

void RecordVote(State& state, const ReplicaKey& candidate, StepContext& context) {
  const RoleKind kind = KindOf(state.role);
  CHECK(kind == RoleKind::kUnattached || kind == RoleKind::kProspective) << kind;
  CHECK(!state.election.voted.has_value());
  CHECK(candidate != state.self);
  ElectionState next = state.election;
  next.voted = candidate;
  Persist(state, next, context);
  if (auto* unattached = std::get_if<Unattached>(&state.role)) {
    if (state.IsVoter()) unattached->election_deadline = DrawElectionDeadline(state, context);
  } else {
    std::get<Prospective>(state.role).election_deadline = DrawElectionDeadline(state, context);
  }
}

std::optional<Epoch> TakeNextEpoch(State& state, StepContext& context) {
  const Epoch next = Next(state.election.epoch);
  if (next < kEpochLimit) return next;
  Quarantine(state, "the epochs are used up", context);
  return std::nullopt;
}

void Quarantine(State& state, const char* reason, StepContext& context) {
  if (state.quarantine.has_value()) return;
  state.quarantine = reason;
  ++state.incarnation;
  state.fetch = FetchState{};
  context.Emit(WithdrawFromSessions{state.Header(RaftError::kBrokerNotAvailable)});
  if (auto* leader = std::get_if<Leader>(&state.role)) {
    SettleLostLeadership(state, *leader, context);
    leader->parked.clear();
    leader->pending_appends.clear();
  }
  context.Emit(Trace{TraceEvent{TraceKind::kQuarantine, state.election.epoch, KindOf(state.role),
                                KindOf(state.role), state.election.leader, std::nullopt,
                                state.log.end(), reason}});
  context.Emit(Quarantined{reason});
}

bool IsAdoptable(const State& state, Epoch epoch) {
  if (epoch < Epoch(0) || epoch >= kEpochLimit) return false;
  return epoch.value() - state.election.epoch.value() <= kEpochJumpMax;
}

bool Adopt(State& state, Epoch epoch, const std::optional<ReplicaKey>& leader, const char* reason,
           StepContext& context) {
  CHECK(IsAdoptable(state, epoch));
  if (epoch < state.election.epoch) return true;
  const bool higher = epoch > state.election.epoch;
  if (!leader.has_value()) {
    if (higher) BecomeUnattached(state, epoch, reason, context);
    return true;
  }
  if (*leader == state.self) {
    if (higher || state.election.leader != leader) {
      return Contradict(state, "a peer names this replica as leader of an epoch it never led",
                        context);
    }
    return true;
  }
  if (!higher && state.election.leader.has_value()) {
    if (*state.election.leader == *leader) {
      // A replica that remembers its leader from before a restart has now heard of it again.
      if (std::holds_alternative<Unattached>(state.role)) {
        BecomeFollower(state, epoch, *leader, reason, context);
      }
      return true;
    }
    return Contradict(state, "two leaders are named for one epoch", context);
  }
  BecomeFollower(state, epoch, *leader, reason, context);
  return true;
}

}  // namespace quorum::raft
