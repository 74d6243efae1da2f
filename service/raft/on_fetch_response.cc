// The follower's side of Fetch.

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/base/overloaded.h"
#include "service/base/plant.h"
#include "service/raft/on_fetch.h"
#include "service/raft/response.h"
#include "service/raft/transitions.h"
#include "service/raft/watermark.h"

namespace quorum::raft {
namespace {

// Clears the outstanding Fetch. False when `correlation` is not of it.
bool TakeOutstanding(State& state, const Correlation& correlation) {
  if (correlation.incarnation != state.incarnation) return false;
  if (state.fetch.outstanding == 0 || state.fetch.outstanding != correlation.number) return false;
  state.fetch.outstanding = 0;
  return true;
}

void Pause(State& state, const StepContext& context) {
  ++state.fetch.failures;
  state.fetch.send_at = context.now + RetryBackoff(state.config, state.fetch.failures);
}

void BackOff(State& state, const StepContext& context) {
  Pause(state, context);
  // One try elsewhere, then the leader again.
  state.fetch.ask_others = !state.fetch.ask_others;
}

// The first batch that may not be appended ends what is taken of an answer.
bool IsNext(const State& state, const BatchSummary& batch, Offset end, Epoch last_epoch) {
  return batch.base_offset == end && batch.last_offset >= batch.base_offset &&
         batch.last_offset < kOffsetLimit && batch.epoch >= last_epoch && batch.epoch >= Epoch(1) &&
         batch.epoch <= state.election.epoch;
}

// False when not even the first of them can be taken.
bool AppendBatches(State& state, const FetchedBatches& fetched, StepContext& context) {
  AppendFetchedBatches effect;
  for (const BatchSummary& batch : fetched.batches) {
    if (!IsNext(state, batch, state.log.end(), state.log.epochs().LastEpoch())) break;
    if (state.log.Append(batch.base_offset, batch.next_offset(), batch.epoch,
                         context.write_number)) {
      effect.epoch_starts.emplace_back(batch.epoch, batch.base_offset);
    }
    if (batch.voters.has_value()) {
      state.voters.Append(batch.last_offset, *batch.voters);
      effect.voters.emplace_back(batch.last_offset, *batch.voters);
    }
    ++effect.count;
  }
  if (effect.count == 0) return false;
  context.Emit(std::move(effect));
  return true;
}

void Truncate(State& state, const OffsetAndEpoch& diverging, StepContext& context) {
  const Offset committed = state.committed.value_or(Offset(0));
  const Offset end = TruncationPoint(state, diverging);
  const bool below = diverging.offset < committed || end < committed;
  if (below && !Planted(Plant::kM10)) {
    Quarantine(state, "the leader asks for a truncation below the high watermark", context);
    return;
  }
  if (diverging.epoch < Epoch(0) || end >= state.log.end()) {
    Quarantine(state, "the leader's diverging epoch does not shorten this log", context);
    return;
  }
  state.log.TruncateTo(end);
  state.voters.TruncateTo(end);
  if (below) state.committed = end;
  context.Emit(TruncateTo{end});
  context.Emit(Trace{TraceEvent{TraceKind::kTruncation, state.election.epoch, KindOf(state.role),
                                KindOf(state.role), state.election.leader, std::nullopt, end,
                                "the leader's log differs"}});
}

void NoteContact(State& state, StepContext& context) {
  Follower& follower = std::get<Follower>(state.role);
  // A leader that has resigned leads its epoch never again: it has sent this answer before.
  if (!follower.leader_resigned) {
    follower.has_fetched = true;
    follower.fetch_deadline =
        RoundUp(context.now + follower.fetch_timeout, state.config.timer_grid);
  }
}

void FetchOn(State& state, StepContext& context) {
  state.fetch.failures = 0;
  state.fetch.ask_others = false;
  state.fetch.send_at = context.now;
}

void TakePayload(State& state, const FetchResponse& response, StepContext& context) {
  NoteContact(state, context);
  // The next Fetch would bring again what cannot be taken now, as fast as the two nodes can.
  bool useful = true;
  std::visit(
      Overloaded{
          [](const FetchedNothing&) {},
          [&](const FetchedBatches& fetched) { useful = AppendBatches(state, fetched, context); },
          [&](const FetchedDivergence& diverging) { Truncate(state, diverging.point, context); },
      },
      response.payload);
  if (state.quarantine.has_value()) return;
  if (useful) {
    FetchOn(state, context);
  } else {
    Pause(state, context);
  }
  // A log that has just been cut may still differ from the leader's below its new end, so only an
  // answer that found it to agree says what of it is committed.
  bool agrees = !std::holds_alternative<FetchedDivergence>(response.payload);
  if (Planted(Plant::kM37) && state.log.durable_end() < state.log.end()) agrees = false;
  if (agrees && response.high_watermark.has_value()) {
    LearnWatermark(state, *response.high_watermark, context);
  }
  UpdateExposed(state, context);
}

// Anybody who may know the leader, but this replica itself and `except`.
std::vector<ReplicaKey> Acquaintances(const State& state, const std::optional<ReplicaKey>& except) {
  std::vector<ReplicaKey> peers;
  const auto add = [&](const ReplicaKey& key) {
    if (key == state.self || except == key) return;
    if (std::find(peers.begin(), peers.end(), key) == peers.end()) peers.push_back(key);
  };
  for (const Voter& voter : state.voters.Latest()) add(voter.key);
  for (const ReplicaKey& key : state.discovery_peers) add(key);
  return peers;
}

bool Fetches(const State& state) {
  return std::holds_alternative<Follower>(state.role) ||
         std::holds_alternative<Unattached>(state.role);
}

// The leader where one is known; else, and now and then when it does not answer, somebody else.
std::optional<ReplicaKey> Destination(const State& state, StepContext& context) {
  const std::optional<ReplicaKey>& leader = state.election.leader;
  const bool leader_usable = leader.has_value() && *leader != state.self;
  if (leader_usable && !state.fetch.ask_others) return leader;
  const std::vector<ReplicaKey> others = Acquaintances(state, leader);
  if (others.empty()) return leader_usable ? leader : std::nullopt;
  return others[context.prng.Below(others.size())];
}

// A leader that has nothing new keeps a fetch, and a session does not speak of it. So until its
// leader has answered once, a follower says that it knows no watermark and is told it: only then
// has it fetched, whatever it knows from before.
bool KnowsWatermark(const State& state) {
  const Follower* follower = std::get_if<Follower>(&state.role);
  return state.committed.has_value() && (follower == nullptr || follower->has_fetched);
}

// Plants M37, the half that makes the other one (log_shape.cc) matter: a Fetch that does not wait
// for the disk and names what is synced, which is safe, so that a log is cut while writes are out.
void NameDurableEnd(const State& state, FetchRequest& request) {
  const Offset end = state.log.durable_end();
  if (end == state.log.end()) return;
  request.fetch_offset = end;
  request.last_fetched_epoch =
      end > state.log.start() ? state.log.epochs().EpochAt(end + -1) : Epoch(0);
}

FetchRequest MakeFetch(const State& state) {
  FetchRequest request;
  request.replica = state.self;
  request.current_leader_epoch = state.election.epoch;
  request.fetch_offset = state.log.end();
  request.last_fetched_epoch = state.log.epochs().LastEpoch();
  if (Planted(Plant::kM37)) NameDurableEnd(state, request);
  request.known_high_watermark =
      KnowsWatermark(state) ? KnownHighWatermark::kKnown : KnownHighWatermark::kUnknown;
  request.high_watermark = state.committed.value_or(Offset(0));
  return request;
}

}  // namespace

// Each round is strictly shorter (3.3).
Offset TruncationPoint(const State& state, const OffsetAndEpoch& diverging) {
  const Offset start = state.log.start();
  const Offset end = state.log.end();
  if (diverging.epoch == Epoch(0)) return std::max(std::min(end, diverging.offset), start);
  const OffsetAndEpoch own = state.log.epochs().EndOf(diverging.epoch, start, end);
  const bool shared = own.epoch == diverging.epoch;
  return std::max(shared ? std::min(own.offset, diverging.offset) : own.offset, start);
}

void OnFetchResponse(State& state, const FetchResponded& event, StepContext& context) {
  if (!TakeOutstanding(state, event.correlation)) return;
  const FetchResponse& response = event.response;
  switch (HandleHeader(state, response.header, context)) {
    case ResponseAction::kDone:
      return;
    case ResponseAction::kBackOff:
      BackOff(state, context);
      return;
    case ResponseAction::kContinue:
      break;
  }
  const bool from_leader = std::holds_alternative<Follower>(state.role) &&
                           state.election.leader == event.correlation.peer &&
                           response.header.epoch == state.election.epoch;
  if (!from_leader || response.header.error != RaftError::kNone) {
    BackOff(state, context);
    return;
  }
  TakePayload(state, response, context);
}

void OnFetchFailed(State& state, const Correlation& correlation, StepContext& context) {
  if (TakeOutstanding(state, correlation)) BackOff(state, context);
}

void SendDueFetch(State& state, StepContext& context) {
  if (!Fetches(state) || state.fetch.outstanding != 0) return;
  if (state.fetch.send_at > context.now) return;
  const std::optional<ReplicaKey> destination = Destination(state, context);
  if (!destination.has_value()) {
    state.fetch.send_at = kNever;
    return;
  }
  const bool early = Planted(Plant::kM06) || Planted(Plant::kM37);
  const Gate gate = early ? Gate::kQuorum : Gate::kLog;
  state.fetch.destination = *destination;
  state.fetch.outstanding = SendTo(state, *destination, gate, MakeFetch(state), context);
}

MonoTime NextFetchTime(const State& state) {
  if (!Fetches(state) || state.fetch.outstanding != 0) return kNever;
  return state.fetch.send_at;
}

}  // namespace quorum::raft
