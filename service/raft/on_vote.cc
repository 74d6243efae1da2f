#include "service/raft/on_vote.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "service/base/check.h"
#include "service/base/overloaded.h"
#include "service/raft/response.h"
#include "service/raft/transitions.h"

namespace quorum::raft {
namespace {

bool IsWellFormed(const State& state, const VoteRequest& request) {
  if (request.candidate.id < NodeId(1) || request.candidate.directory.IsZero()) return false;
  if (request.candidate == state.self) return false;
  if (request.log_end.offset < Offset(0) || request.log_end.offset >= kOffsetLimit) return false;
  if (request.log_end.epoch < Epoch(0) || !IsAdoptable(state, request.epoch)) return false;
  // A candidate has by construction never seen a record of its own new epoch.
  return request.pre_vote ? request.log_end.epoch <= request.epoch
                          : request.log_end.epoch < request.epoch;
}

// Judged by the end in memory: what is not synced yet may have been acknowledged by the time it
// counts.
bool IsUpToDate(const State& state, const VoteRequest& request) {
  return request.log_end >= state.log.EndPoint();
}

// A vote that may still be given, as Unattached and Prospective judge it.
bool GrantsOpenVote(const State& state, const VoteRequest& request) {
  if (state.election.voted.has_value()) return *state.election.voted == request.candidate;
  if (state.election.leader.has_value()) return false;
  return IsUpToDate(state, request);
}

// The verdict of each role on a request of its own epoch (protocol.md 2.3).
bool Grants(const State& state, const Unattached&, const VoteRequest& request) {
  return request.pre_vote ? IsUpToDate(state, request) : GrantsOpenVote(state, request);
}

bool Grants(const State& state, const Prospective&, const VoteRequest& request) {
  return request.pre_vote ? IsUpToDate(state, request) : GrantsOpenVote(state, request);
}

// A candidate's own vote is spent.
bool Grants(const State& state, const Candidate&, const VoteRequest& request) {
  return request.pre_vote && IsUpToDate(state, request);
}

bool Grants(const State&, const Leader&, const VoteRequest&) { return false; }

// A follower that fetches knows that its leader is alive. Only a poll by that very leader proves
// the opposite (BUG-014).
bool Grants(const State& state, const Follower& follower, const VoteRequest& request) {
  if (!request.pre_vote || !IsUpToDate(state, request)) return false;
  return !follower.has_fetched || state.election.leader == request.candidate;
}

// This replica led the epoch, so no other may be helped to lead it.
bool Grants(const State& state, const Resigned&, const VoteRequest& request) {
  return request.pre_vote && IsUpToDate(state, request);
}

void Reply(const State& state, Token token, RaftError error, bool granted, StepContext& context) {
  context.Emit(ReplyVote{token, VoteResponse{state.Header(error), granted}});
}

void TraceVote(const State& state, const VoteRequest& request, bool granted, StepContext& context) {
  if (request.pre_vote && granted) return;
  const TraceKind kind = granted ? TraceKind::kVoteGranted : TraceKind::kVoteRefused;
  const RoleKind role = KindOf(state.role);
  context.Emit(Trace{TraceEvent{kind, state.election.epoch, role, role, state.election.leader,
                                request.candidate, request.log_end.offset,
                                request.pre_vote ? "pre-vote" : "vote"}});
}

Election* ElectionOf(State& state) {
  if (auto* prospective = std::get_if<Prospective>(&state.role)) return &prospective->election;
  if (auto* candidate = std::get_if<Candidate>(&state.role)) return &candidate->election;
  return nullptr;
}

// The ballot that `correlation` answers; null when it answers nothing that is still asked.
Election::Ballot* FindBallot(State& state, const Correlation& correlation) {
  Election* election = ElectionOf(state);
  if (election == nullptr || correlation.incarnation != state.incarnation) return nullptr;
  Election::Ballot* ballot = election->Find(correlation.peer);
  if (ballot == nullptr || ballot->request_number != correlation.number) return nullptr;
  return ballot;
}

void BackOff(const State& state, Election::Ballot& ballot, StepContext& context) {
  if (ballot.send_at == kNever) return;
  ballot.request_number = 0;
  ++ballot.failures;
  ballot.send_at = context.now + RetryBackoff(state.config, ballot.failures);
}

// When the voter of `answer` is asked again. Who has refused a poll may grant it a moment later,
// when it misses the leader as well; until then its refusal counts. A vote is final.
MonoTime AskAgainAt(const State& state, Election::Answer answer, const StepContext& context) {
  const bool poll = std::holds_alternative<Prospective>(state.role);
  if (!poll || answer == Election::Answer::kGranted) return kNever;
  const Config& config = state.config;
  const Duration wait = std::max(config.election_timeout / 4, config.retry_backoff);
  return RoundUp(context.now + wait, config.timer_grid);
}

// `other` polls as well and has this one's grant: it has its turn. It is ready to grant by now what
// it refused before, and if both won their polls they would split the votes. So an answer that it
// gives on a request before this one does not count.
void GiveWay(State& state, const ReplicaKey& other, StepContext& context) {
  auto* prospective = std::get_if<Prospective>(&state.role);
  if (prospective == nullptr) return;
  Election::Ballot* ballot = prospective->election.Find(other);
  if (ballot == nullptr || ballot->answer != Election::Answer::kRefused) return;
  ballot->request_number = 0;
  ballot->send_at = AskAgainAt(state, ballot->answer, context);
}

// Notes an answer. A pre-vote may change its mind; a real vote must not.
void Count(State& state, Election::Ballot& ballot, bool granted, StepContext& context) {
  const Election::Answer answer = granted ? Election::Answer::kGranted : Election::Answer::kRefused;
  const bool standard = std::holds_alternative<Candidate>(state.role);
  if (standard && ballot.answer != Election::Answer::kNone && ballot.answer != answer) {
    Quarantine(state, "a voter gave two answers to one vote", context);
    return;
  }
  ballot.answer = answer;
  ballot.send_at = AskAgainAt(state, answer, context);
  ConcludeElection(state, context);
}

}  // namespace

void OnVoteRequest(State& state, const VoteRequested& event, StepContext& context) {
  const VoteRequest& request = event.request;
  if (!IsWellFormed(state, request)) {
    Reply(state, event.token, RaftError::kInvalidRequest, false, context);
    return;
  }
  if (request.epoch < state.election.epoch) {
    Reply(state, event.token, RaftError::kFencedLeaderEpoch, false, context);
    return;
  }
  if (request.epoch > state.election.epoch) {
    BecomeUnattached(state, request.epoch, "a vote request of a higher epoch", context);
  }
  if (request.voter != state.self) {
    Reply(state, event.token, RaftError::kInvalidVoterKey, false, context);
    return;
  }
  const bool granted =
      std::visit([&](const auto& role) { return Grants(state, role, request); }, state.role);
  if (granted && !request.pre_vote && !state.election.voted.has_value()) {
    RecordVote(state, request.candidate, context);
  }
  if (granted && request.pre_vote) GiveWay(state, request.candidate, context);
  TraceVote(state, request, granted, context);
  Reply(state, event.token, RaftError::kNone, granted, context);
}

void OnVoteResponse(State& state, const VoteResponded& event, StepContext& context) {
  Election::Ballot* ballot = FindBallot(state, event.correlation);
  if (ballot == nullptr) return;
  const ResponseAction action = HandleHeader(state, event.response.header, context);
  if (action == ResponseAction::kDone) return;
  // Naming a leader of this epoch has made this replica its follower, whatever the answer says
  // else.
  ballot = FindBallot(state, event.correlation);
  if (ballot == nullptr) return;
  if (action == ResponseAction::kBackOff) {
    BackOff(state, *ballot, context);
    return;
  }
  if (event.response.header.error == RaftError::kUnsupportedVersion) {
    if (std::holds_alternative<Prospective>(state.role)) {
      BecomeCandidate(state, "a voter knows no pre-vote", context);
    } else {
      BackOff(state, *ballot, context);
    }
    return;
  }
  ballot->failures = 0;
  Count(state, *ballot, event.response.granted, context);
}

void OnVoteFailed(State& state, const Correlation& correlation, StepContext& context) {
  Election::Ballot* ballot = FindBallot(state, correlation);
  if (ballot != nullptr) BackOff(state, *ballot, context);
}

void SendDueVotes(State& state, StepContext& context) {
  Election* election = ElectionOf(state);
  if (election == nullptr || election->NextSend() > context.now) return;
  const bool pre_vote = std::holds_alternative<Prospective>(state.role);
  for (Election::Ballot& ballot : election->ballots()) {
    if (ballot.send_at > context.now) continue;
    const VoteRequest request{state.self, ballot.voter, state.election.epoch, state.log.EndPoint(),
                              pre_vote};
    // The log that a candidate boasts of must be synced, and so must its own vote.
    ballot.request_number = SendTo(state, ballot.voter, Gate::kLog, request, context);
    ballot.send_at = context.now + state.config.request_timeout;
  }
}

void ConcludeElection(State& state, StepContext& context) {
  if (const auto* prospective = std::get_if<Prospective>(&state.role)) {
    if (prospective->election.IsWon()) {
      BecomeCandidate(state, "a majority would vote for it", context);
    } else if (prospective->election.IsLost()) {
      LeaveProspective(state, "a majority refuses", context);
    }
  }
  if (const auto* candidate = std::get_if<Candidate>(&state.role)) {
    if (candidate->election.IsWon()) BecomeLeader(state, context);
  }
}

void LeaveProspective(State& state, const char* reason, StepContext& context) {
  CHECK(std::holds_alternative<Prospective>(state.role));
  if (state.election.leader.has_value() && *state.election.leader != state.self) {
    BecomeFollower(state, state.election.epoch, *state.election.leader, reason, context);
  } else {
    BecomeUnattached(state, state.election.epoch, reason, context);
  }
}

}  // namespace quorum::raft
