// The leader's side of Fetch.

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/base/plant.h"
#include "service/raft/on_fetch.h"
#include "service/raft/transitions.h"
#include "service/raft/watermark.h"

namespace quorum::raft {
namespace {

void ReplyEmpty(const State& state, Token token, RaftError error, StepContext& context) {
  const std::optional<Offset> high_watermark =
      error == RaftError::kNone ? state.HighWatermark() : std::nullopt;
  context.Emit(
      ReplyFetch{token, state.Header(error), high_watermark, state.log.start(), FetchedNothing{}});
}

bool IsWellFormed(const State& state, const FetchRequest& request) {
  if (request.replica.has_value()) {
    if (request.replica->id < NodeId(1) || request.replica->directory.IsZero()) return false;
    if (*request.replica == state.self) return false;
  }
  if (request.fetch_offset < Offset(0) || request.fetch_offset >= kOffsetLimit) return false;
  if (request.last_fetched_epoch < Epoch(0)) return false;
  if (request.last_fetched_epoch > request.current_leader_epoch) return false;
  if (!IsAdoptable(state, request.current_leader_epoch)) return false;
  return request.known_high_watermark != KnownHighWatermark::kKnown ||
         (request.high_watermark >= Offset(0) && request.high_watermark < kOffsetLimit);
}

// The rules of a request that only a leader serves (0.2), in their order.
RaftError Judge(const State& state, const FetchRequest& request) {
  if (!IsWellFormed(state, request)) return RaftError::kInvalidRequest;
  if (request.current_leader_epoch < state.election.epoch) return RaftError::kFencedLeaderEpoch;
  if (request.current_leader_epoch > state.election.epoch) return RaftError::kUnknownLeaderEpoch;
  if (!std::holds_alternative<Leader>(state.role)) return RaftError::kNotLeaderOrFollower;
  if (state.shutting_down) return RaftError::kBrokerNotAvailable;
  return RaftError::kNone;
}

// Where the fetcher has to truncate to; empty when its position is part of this log.
std::optional<OffsetAndEpoch> FindDivergence(const State& state, const FetchRequest& request) {
  if (request.fetch_offset == Offset(0) && state.log.start() == Offset(0)) return std::nullopt;
  const OffsetAndEpoch end =
      state.log.epochs().EndOf(request.last_fetched_epoch, state.log.start(), state.log.end());
  if (end.epoch == request.last_fetched_epoch && end.offset >= request.fetch_offset) {
    return std::nullopt;
  }
  return end;
}

// Drops the observers that have vanished; says whether one more may be kept count of.
bool HasRoomForObserver(const State& state, Leader& leader, MonoTime now) {
  size_t observers = 0;
  for (auto entry = leader.progress.begin(); entry != leader.progress.end();) {
    const bool observer = !state.voters.Latest().Contains(entry->first);
    if (observer && entry->second.HasVanished(now)) {
      entry = leader.progress.erase(entry);
      continue;
    }
    if (observer) ++observers;
    ++entry;
  }
  return observers < state.config.observers_max;
}

// Notes what the fetch acknowledges. Anonymous readers, and observers beyond the bound, are served
// without being tracked.
void NoteProgress(State& state, const FetchRequest& request, StepContext& context) {
  if (!request.replica.has_value()) return;
  Leader& leader = std::get<Leader>(state.role);
  auto found = leader.progress.find(*request.replica);
  if (found == leader.progress.end()) {
    const bool voter = state.voters.Latest().Contains(*request.replica);
    if (!voter && !HasRoomForObserver(state, leader, context.now)) return;
    found = leader.progress.emplace(*request.replica, ReplicaProgress{}).first;
  }
  ReplicaProgress& progress = found->second;
  if (!progress.OnFetch(request.fetch_offset, request.replica_incarnation, state.log.end(),
                        context.now)) {
    return;
  }
  if (request.known_high_watermark == KnownHighWatermark::kKnown) {
    progress.known_high_watermark = request.high_watermark;
  }
  UpdateWatermark(state, context);
}

bool WantsWatermark(const State& state, KnownHighWatermark known, Offset high_watermark) {
  const std::optional<Offset> own = state.HighWatermark();
  if (!own.has_value()) return false;
  switch (known) {
    case KnownHighWatermark::kNotAsked:
      return false;
    case KnownHighWatermark::kUnknown:
      return true;
    case KnownHighWatermark::kKnown:
      return high_watermark < *own;
  }
  return false;
}

// Answers when there is something to say. False when the fetch has to wait.
bool Serve(const State& state, Token token, const ParkedFetch& fetch, StepContext& context) {
  if (fetch.fetch_offset < state.log.end()) {
    context.Emit(ReplyFetch{token, state.Header(RaftError::kNone), state.HighWatermark(),
                            state.log.start(), ServeRecords{fetch.fetch_offset, state.log.end()}});
    return true;
  }
  if (!WantsWatermark(state, fetch.known_high_watermark, fetch.high_watermark)) return false;
  ReplyEmpty(state, token, RaftError::kNone, context);
  return true;
}

// A replica has one fetch at a time: a new one takes the place of the one that it gave up.
void ReplaceParked(const State& state, Leader& leader, const ReplicaKey& replica,
                   StepContext& context) {
  for (auto parked = leader.parked.begin(); parked != leader.parked.end(); ++parked) {
    if (parked->replica != replica) continue;
    ReplyEmpty(state, parked->token, RaftError::kNone, context);
    leader.parked.erase(parked);
    return;
  }
}

void Park(const State& state, Leader& leader, ParkedFetch fetch, StepContext& context) {
  if (leader.parked.size() >= state.config.parked_fetches_max) {
    ReplyEmpty(state, fetch.token, RaftError::kThrottled, context);
    return;
  }
  context.Emit(ParkFetch{fetch.token});
  leader.parked.push_back(fetch);
}

}  // namespace

void OnFetchRequest(State& state, const FetchRequested& event, StepContext& context) {
  const FetchRequest& request = event.request;
  const RaftError error = Judge(state, request);
  if (error != RaftError::kNone) {
    ReplyEmpty(state, event.token, error, context);
    return;
  }
  if (Planted(Plant::kM09)) NoteProgress(state, request, context);
  const std::optional<OffsetAndEpoch> divergence = FindDivergence(state, request);
  if (divergence.has_value()) {
    // Neither progress nor liveness: the fetcher has not shown that it follows this log.
    context.Emit(ReplyFetch{event.token, state.Header(RaftError::kNone), state.HighWatermark(),
                            state.log.start(), FetchedDivergence{*divergence}});
    return;
  }
  Leader& leader = std::get<Leader>(state.role);
  if (request.replica.has_value()) ReplaceParked(state, leader, *request.replica, context);
  NoteProgress(state, request, context);
  const ParkedFetch fetch{event.token, request.replica, request.fetch_offset,
                          request.known_high_watermark, request.high_watermark};
  if (Serve(state, event.token, fetch, context)) return;
  if (!request.may_wait) {
    ReplyEmpty(state, event.token, RaftError::kNone, context);
    return;
  }
  Park(state, leader, fetch, context);
}

void OnFetchWaitOver(State& state, Token token, StepContext& context) {
  Leader* leader = std::get_if<Leader>(&state.role);
  if (leader == nullptr) return;
  for (auto parked = leader->parked.begin(); parked != leader->parked.end(); ++parked) {
    if (parked->token != token) continue;
    leader->parked.erase(parked);
    ReplyEmpty(state, token, RaftError::kNone, context);
    return;
  }
}

void OnFetchCancelled(State& state, Token token) {
  Leader* leader = std::get_if<Leader>(&state.role);
  if (leader == nullptr) return;
  leader->parked.erase(
      std::remove_if(leader->parked.begin(), leader->parked.end(),
                     [token](const ParkedFetch& parked) { return parked.token == token; }),
      leader->parked.end());
}

void WakeFetches(const State& state, Leader& leader, StepContext& context) {
  std::vector<ParkedFetch> waiting;
  for (const ParkedFetch& parked : leader.parked) {
    if (!Serve(state, parked.token, parked, context)) waiting.push_back(parked);
  }
  leader.parked = std::move(waiting);
}

}  // namespace quorum::raft
