#include "service/raft/replica.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/base/overloaded.h"
#include "service/base/plant.h"
#include "service/raft/invariants.h"
#include "service/raft/on_append.h"
#include "service/raft/on_begin_quorum_epoch.h"
#include "service/raft/on_fetch.h"
#include "service/raft/on_resign.h"
#include "service/raft/on_timer.h"
#include "service/raft/on_vote.h"
#include "service/raft/response.h"
#include "service/raft/transitions.h"
#include "service/raft/watermark.h"

namespace quorum::raft {
namespace {

bool IsSoleVoter(const State& state) {
  return state.voters.Latest().size() == 1 && state.IsVoter();
}

void RefuseFetch(const State& state, Token token, StepContext& context) {
  context.Emit(ReplyFetch{token, state.Header(RaftError::kBrokerNotAvailable), std::nullopt,
                          state.log.start(), FetchedNothing{}});
}

// A quarantined replica answers every request with BROKER_NOT_AVAILABLE and does nothing else.
void Refuse(const State& state, const Event& event, StepContext& context) {
  const ResponseHeader header = state.Header(RaftError::kBrokerNotAvailable);
  std::visit(
      Overloaded{
          [&](const VoteRequested& request) {
            context.Emit(ReplyVote{request.token, VoteResponse{header, false}});
          },
          [&](const BeginQuorumEpochRequested& request) {
            context.Emit(ReplyBeginQuorumEpoch{request.token, BeginQuorumEpochResponse{header}});
          },
          [&](const EndQuorumEpochRequested& request) {
            context.Emit(ReplyEndQuorumEpoch{request.token, EndQuorumEpochResponse{header}});
          },
          [&](const FetchRequested& request) { RefuseFetch(state, request.token, context); },
          [&](const AppendRequested& request) {
            context.Emit(AppendRefused{request.token, header});
          },
          [](const VoteResponded&) {},
          [](const BeginQuorumEpochResponded&) {},
          [](const EndQuorumEpochResponded&) {},
          [](const FetchResponded&) {},
          [](const PeerFailed&) {},
          [](const WriteDurable&) {},
          [](const TimerFired&) {},
          [](const FetchWaitOver&) {},
          [](const FetchCancelled&) {},
          [](const DiscoveryPeers&) {},
          [](const LeaderHint&) {},
          [](const ResignRequested&) {},
          [](const ShutdownRequested&) {},
          [](const Damaged&) {},
      },
      event);
}

void OnWriteDurable(State& state, const WriteDurable& event, StepContext& context) {
  if (!state.log.OnDurable(event.write_number)) return;
  UpdateWatermark(state, context);
  UpdateExposed(state, context);
}

void OnPeerFailed(State& state, const PeerFailed& event, StepContext& context) {
  OnVoteFailed(state, event.correlation, context);
  OnEndFailed(state, event.correlation, context);
  OnFetchFailed(state, event.correlation, context);
}

void OnDiscoveryPeers(State& state, const DiscoveryPeers& event, StepContext& context) {
  state.discovery_peers = event.peers;
  if (state.fetch.outstanding == 0 && state.fetch.send_at == kNever) {
    state.fetch.send_at = context.now;
  }
}

void OnLeaderHint(State& state, const LeaderHint& event, StepContext& context) {
  if (!IsAdoptable(state, event.epoch) || event.epoch < Epoch(1)) return;
  (void)Adopt(state, event.epoch, event.leader, "a hint", context);
}

// Plants M03: the former leader goes on as if nothing had happened.
void ResumeLeadership(State& state, StepContext& context) {
  Leader role;
  role.epoch_start = state.log.epochs().LastEpoch() == state.election.epoch
                         ? state.log.epochs().starts().back().second
                         : state.log.end();
  role.begin_due = context.now;
  role.check_quorum_deadline = context.now + state.config.fetch_timeout;
  role.since = context.now;
  for (const Voter& voter : state.voters.Latest()) {
    if (voter.key != state.self) role.progress.emplace(voter.key, ReplicaProgress{});
  }
  state.role = std::move(role);
}

MonoTime FirstElectionDeadline(const State& state, std::optional<Duration> after,
                               StepContext& context) {
  if (!state.IsVoter()) return kNever;
  if (after.has_value()) return context.now + *after;
  return DrawElectionDeadline(state, context);
}

void TakeFirstRole(State& state, std::optional<Duration> first_campaign_after,
                   StepContext& context) {
  const std::optional<ReplicaKey>& leader = state.election.leader;
  if (IsSoleVoter(state)) {
    state.role = Unattached{context.now};
  } else if (leader == state.self && Planted(Plant::kM03)) {
    ResumeLeadership(state, context);
  } else if (leader == state.self) {
    Resigned role;
    role.election_deadline = DrawElectionDeadline(state, context);
    for (const Voter& voter : state.voters.Latest()) {
      if (voter.key == state.self) continue;
      role.unacknowledged.push_back(Resigned::Notice{voter.key, context.now, 0, 0});
    }
    state.role = std::move(role);
  } else if (leader.has_value() && state.voters.Latest().Contains(*leader)) {
    Follower role;
    role.fetch_timeout = DrawFetchTimeout(state, context);
    role.fetch_deadline = RoundUp(context.now + role.fetch_timeout, state.config.timer_grid);
    state.role = role;
  } else {
    state.role = Unattached{FirstElectionDeadline(state, first_campaign_after, context)};
  }
}

ReplicaDescription DescribeSelf(const State& state, MonoTime now) {
  ReplicaDescription row;
  row.key = state.self;
  row.voter = state.IsVoter();
  row.log_end = state.log.end();
  row.last_fetch = now;
  row.last_caught_up = now;
  row.high_watermark = state.HighWatermark();
  return row;
}

ReplicaDescription DescribePeer(const ReplicaKey& key, const ReplicaProgress& progress,
                                bool voter) {
  ReplicaDescription row;
  row.key = key;
  row.voter = voter;
  row.log_end = progress.durable_end;
  row.last_fetch = progress.last_fetch;
  row.last_caught_up = progress.last_caught_up;
  row.high_watermark = progress.known_high_watermark;
  return row;
}

}  // namespace

Replica::Replica(ReplicaKey self, const Config& config, RecoveredState recovered)
    : state_(self, config,
             LogShape(recovered.log_start, recovered.log_end,
                      LeaderEpochs(std::move(recovered.leader_epochs))),
             std::move(recovered.voters)),
      first_campaign_after_(recovered.first_campaign_after),
      damage_(recovered.damage) {
  CHECK(!self.directory.IsZero());
  CHECK(Validate(config).empty()) << Validate(config);
  CHECK_LE(recovered.high_watermark_bound, recovered.log_end);
  state_.election = recovered.election;
  state_.incarnation = recovered.first_incarnation;
  if (recovered.high_watermark_bound > Offset(0)) {
    state_.committed = recovered.high_watermark_bound;
  }
}

void Replica::Start(StepContext& context) {
  const Epoch last = state_.log.epochs().LastEpoch();
  if (state_.election.epoch < last) {
    state_.election = ElectionState{last, std::nullopt, std::nullopt};
  }
  context.Emit(PersistElection{state_.election});
  if (damage_ != nullptr) {
    Quarantine(state_, damage_, context);
    return;
  }
  state_.fetch.send_at = context.now;
  TakeFirstRole(state_, first_campaign_after_, context);
  context.Emit(LeadershipChanged{state_.election.epoch, state_.election.leader, false});
  UpdateExposed(state_, context);
  if (IsSoleVoter(state_)) OnTimer(state_, TimerFired{}, context);
  Finish(context);
  Arm(context);
}

void Replica::Step(const Event& event, StepContext& context) {
  if (state_.quarantine.has_value()) {
    Refuse(state_, event, context);
    return;
  }
  const Progression before = Remember(state_);
  Dispatch(event, context);
  Finish(context);
  const char* wrong = CheckBasic(state_);
  if (wrong == nullptr && !Planted(Plant::kM10)) wrong = CheckDelta(before, state_);
  if (wrong != nullptr) {
    QUORUM_BUG(wrong << " role=" << role() << ' ' << state_.election
                     << " end=" << state_.log.end());
    Quarantine(state_, wrong, context);
  }
  Arm(context);
}

void Replica::Dispatch(const Event& event, StepContext& context) {
  State& state = state_;
  std::visit(Overloaded{
                 [&](const VoteRequested& e) { OnVoteRequest(state, e, context); },
                 [&](const BeginQuorumEpochRequested& e) { OnBeginRequest(state, e, context); },
                 [&](const EndQuorumEpochRequested& e) { OnEndRequest(state, e, context); },
                 [&](const FetchRequested& e) { OnFetchRequest(state, e, context); },
                 [&](const VoteResponded& e) { OnVoteResponse(state, e, context); },
                 [&](const BeginQuorumEpochResponded& e) { OnBeginResponse(state, e, context); },
                 [&](const EndQuorumEpochResponded& e) { OnEndResponse(state, e, context); },
                 [&](const FetchResponded& e) { OnFetchResponse(state, e, context); },
                 [&](const PeerFailed& e) { OnPeerFailed(state, e, context); },
                 [&](const AppendRequested& e) { OnAppend(state, e, context); },
                 [&](const WriteDurable& e) { OnWriteDurable(state, e, context); },
                 [&](const TimerFired& e) { OnTimer(state, e, context); },
                 [&](const FetchWaitOver& e) { OnFetchWaitOver(state, e.token, context); },
                 [&](const FetchCancelled& e) { OnFetchCancelled(state, e.token); },
                 [&](const DiscoveryPeers& e) { OnDiscoveryPeers(state, e, context); },
                 [&](const LeaderHint& e) { OnLeaderHint(state, e, context); },
                 [&](const ResignRequested& e) { OnResign(state, e, context); },
                 [&](const ShutdownRequested&) { OnShutdown(state, context); },
                 [&](const Damaged& e) { Quarantine(state, e.reason, context); },
             },
             event);
}

void Replica::Finish(StepContext& context) {
  if (state_.quarantine.has_value()) return;
  if (state_.shutting_down && role() == RoleKind::kLeader) {
    BecomeResigned(state_, std::nullopt, "shutting down", context);
  }
  auto* unattached = std::get_if<Unattached>(&state_.role);
  if (unattached != nullptr && unattached->election_deadline == kNever && state_.IsVoter()) {
    unattached->election_deadline = DrawElectionDeadline(state_, context);
  }
  SendDueVotes(state_, context);
  SendDueBegins(state_, context);
  SendDueNotices(state_, context);
  SendDueFetch(state_, context);
}

void Replica::Arm(StepContext& context) {
  const MonoTime deadline = NextDeadline(state_);
  if (deadline == state_.armed && deadline > context.now) return;
  state_.armed = deadline;
  context.Emit(ArmTimer{deadline});
}

bool Replica::is_ready_leader() const {
  const Leader* leader = std::get_if<Leader>(&state_.role);
  return leader != nullptr && leader->ready && !state_.quarantine.has_value();
}

bool Replica::ShutdownFinished() const {
  // A quarantined replica heeds no request to shut down, and has nothing to hand over.
  if (state_.quarantine.has_value()) return true;
  if (!state_.shutting_down) return false;
  if (!state_.IsVoter() || IsSoleVoter(state_)) return true;
  return state_.election.leader.has_value() && *state_.election.leader != state_.self;
}

Duration Replica::Lag(MonoTime now) const {
  if (role() != RoleKind::kFollower || !state_.behind_since.has_value()) return Duration::zero();
  return std::max(now - *state_.behind_since, Duration::zero());
}

std::vector<ReplicaDescription> Replica::Describe(MonoTime now) const {
  std::vector<ReplicaDescription> rows;
  const Leader* leader = std::get_if<Leader>(&state_.role);
  if (leader == nullptr) return rows;
  rows.push_back(DescribeSelf(state_, now));
  for (const bool voters : {true, false}) {
    for (const auto& [key, progress] : leader->progress) {
      if (state_.voters.Latest().Contains(key) != voters) continue;
      if (!voters && progress.HasVanished(now)) continue;
      rows.push_back(DescribePeer(key, progress, voters));
    }
  }
  return rows;
}

}  // namespace quorum::raft
