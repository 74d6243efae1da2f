#include "service/raft/on_resign.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/raft/response.h"
#include "service/raft/transitions.h"

namespace quorum::raft {
namespace {

// Two successors never start closer together than this, as long as the list fits below the cap.
constexpr Duration kSuccessorStep = std::chrono::milliseconds(20);

bool IsWellFormed(const State& state, const EndQuorumEpochRequest& request) {
  if (request.leader.id < NodeId(1) || request.leader.directory.IsZero()) return false;
  return request.epoch >= Epoch(1) && IsAdoptable(state, request.epoch);
}

void Reply(const State& state, Token token, RaftError error, StepContext& context) {
  context.Emit(ReplyEndQuorumEpoch{token, EndQuorumEpochResponse{state.Header(error)}});
}

std::optional<size_t> PositionOf(const ReplicaKey& key, const std::vector<ReplicaKey>& list) {
  const auto found = std::find(list.begin(), list.end(), key);
  if (found == list.end()) return std::nullopt;
  return static_cast<size_t>(found - list.begin());
}

// The leader itself says that it is gone: its follower campaigns when its turn comes, and until
// then supports whoever comes first.
void TakeTurn(State& state, const EndQuorumEpochRequest& request, StepContext& context) {
  Follower* follower = std::get_if<Follower>(&state.role);
  if (follower == nullptr || state.election.leader != request.leader || !state.IsVoter()) return;
  const Duration wait = SuccessorBackoff(PositionOf(state.self, request.preferred_successors),
                                         request.preferred_successors.size(),
                                         state.config.election_backoff_max, context.prng);
  follower->fetch_deadline = context.now + wait;
  follower->has_fetched = false;
  follower->leader_resigned = true;
}

Resigned::Notice* FindNotice(State& state, const Correlation& correlation) {
  Resigned* resigned = std::get_if<Resigned>(&state.role);
  if (resigned == nullptr || correlation.incarnation != state.incarnation) return nullptr;
  for (Resigned::Notice& notice : resigned->unacknowledged) {
    if (notice.voter == correlation.peer && notice.request_number == correlation.number) {
      return &notice;
    }
  }
  return nullptr;
}

void Acknowledge(State& state, const ReplicaKey& voter) {
  auto& notices = std::get<Resigned>(state.role).unacknowledged;
  notices.erase(
      std::remove_if(notices.begin(), notices.end(),
                     [&voter](const Resigned::Notice& notice) { return notice.voter == voter; }),
      notices.end());
}

}  // namespace

void OnEndRequest(State& state, const EndQuorumEpochRequested& event, StepContext& context) {
  const EndQuorumEpochRequest& request = event.request;
  if (!IsWellFormed(state, request)) {
    Reply(state, event.token, RaftError::kInvalidRequest, context);
    return;
  }
  if (request.epoch < state.election.epoch) {
    Reply(state, event.token, RaftError::kFencedLeaderEpoch, context);
    return;
  }
  if (!Adopt(state, request.epoch, request.leader, "EndQuorumEpoch", context)) {
    Reply(state, event.token, RaftError::kBrokerNotAvailable, context);
    return;
  }
  TakeTurn(state, request, context);
  Reply(state, event.token, RaftError::kNone, context);
}

void OnEndResponse(State& state, const EndQuorumEpochResponded& event, StepContext& context) {
  if (FindNotice(state, event.correlation) == nullptr) return;
  switch (HandleHeader(state, event.response.header, context)) {
    case ResponseAction::kDone:
      return;
    case ResponseAction::kBackOff:
      OnEndFailed(state, event.correlation, context);
      return;
    case ResponseAction::kContinue:
      if (FindNotice(state, event.correlation) != nullptr) {
        Acknowledge(state, event.correlation.peer);
      }
      return;
  }
}

void OnEndFailed(State& state, const Correlation& correlation, StepContext& context) {
  Resigned::Notice* notice = FindNotice(state, correlation);
  if (notice == nullptr) return;
  notice->request_number = 0;
  ++notice->failures;
  notice->send_at = context.now + RetryBackoff(state.config, notice->failures);
}

void OnResign(State& state, const ResignRequested& event, StepContext& context) {
  if (!std::holds_alternative<Leader>(state.role) || event.epoch != state.election.epoch) return;
  BecomeResigned(state, event.preferred, "asked to resign", context);
}

void OnShutdown(State& state, StepContext& context) {
  if (state.shutting_down) return;
  state.shutting_down = true;
  if (std::holds_alternative<Leader>(state.role)) {
    BecomeResigned(state, std::nullopt, "shutting down", context);
  }
}

void SendDueNotices(State& state, StepContext& context) {
  Resigned* resigned = std::get_if<Resigned>(&state.role);
  if (resigned == nullptr) return;
  for (Resigned::Notice& notice : resigned->unacknowledged) {
    if (notice.send_at > context.now) continue;
    const EndQuorumEpochRequest request{state.self, state.election.epoch, resigned->successors};
    notice.request_number = SendTo(state, notice.voter, Gate::kQuorum, request, context);
    notice.send_at = context.now + state.config.request_timeout;
  }
}

std::vector<ReplicaKey> SortSuccessors(const State& state, const Leader& leader,
                                       const std::optional<ReplicaKey>& preferred) {
  std::vector<std::pair<std::optional<Offset>, ReplicaKey>> ranked;
  for (const Voter& voter : state.voters.Latest()) {
    if (voter.key == state.self) continue;
    const auto found = leader.progress.find(voter.key);
    ranked.emplace_back(found == leader.progress.end() ? std::nullopt : found->second.Counted(),
                        voter.key);
  }
  std::sort(ranked.begin(), ranked.end(), [&preferred](const auto& a, const auto& b) {
    const bool a_first = preferred == a.second;
    const bool b_first = preferred == b.second;
    if (a_first != b_first) return a_first;
    if (a.first != b.first) return a.first > b.first;
    return a.second < b.second;
  });
  std::vector<ReplicaKey> successors;
  successors.reserve(ranked.size());
  for (const auto& entry : ranked) successors.push_back(entry.second);
  return successors;
}

Duration SuccessorBackoff(std::optional<size_t> position, size_t count, Duration cap, Prng& prng) {
  CHECK(cap > Duration::zero());
  const Duration step =
      std::min(kSuccessorStep, Duration(cap.count() / static_cast<int64_t>(count + 1)));
  if (!position.has_value()) return prng.Between(step, cap);
  CHECK_LT(*position, count);
  if (*position == 0) return Duration::zero();
  // Halved for each place before the last one. A shift by 63 or more is not defined, and gives
  // nothing.
  const size_t places_before_last = count - *position;
  const int64_t halved = places_before_last < 63 ? cap.count() >> places_before_last : 0;
  const Duration linear = step * static_cast<int64_t>(*position);
  return std::max(linear, Duration(halved)) + prng.Between(Duration::zero(), step / 2);
}

}  // namespace quorum::raft
