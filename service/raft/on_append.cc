#include "service/raft/on_append.h"

#include <optional>
#include <variant>

#include "service/base/plant.h"
#include "service/raft/on_fetch.h"
#include "service/raft/watermark.h"

namespace quorum::raft {
namespace {

// Why an append cannot go into the log; kNone when it can.
RaftError Judge(const State& state, const AppendRequested& event) {
  const Leader* leader = std::get_if<Leader>(&state.role);
  if (leader == nullptr) return RaftError::kNotLeaderOrFollower;
  if (state.shutting_down) return RaftError::kBrokerNotAvailable;
  if (event.record_count <= 0) return RaftError::kInvalidRequest;
  if (event.record_count >= kOffsetLimit - state.log.end()) return RaftError::kInvalidRequest;
  if (event.leader_epoch.has_value()) {
    if (*event.leader_epoch < state.election.epoch) return RaftError::kFencedLeaderEpoch;
    if (*event.leader_epoch > state.election.epoch) return RaftError::kUnknownLeaderEpoch;
  }
  if (leader->pending_appends.size() >= state.config.appends_in_flight_max) {
    return RaftError::kThrottled;
  }
  return RaftError::kNone;
}

}  // namespace

void OnAppend(State& state, const AppendRequested& event, StepContext& context) {
  const RaftError error = Judge(state, event);
  if (error != RaftError::kNone) {
    context.Emit(AppendRefused{event.token, state.Header(error)});
    return;
  }
  Leader& leader = std::get<Leader>(state.role);
  const Offset base = state.log.end();
  const Offset next = base + event.record_count;
  const bool starts_epoch =
      state.log.Append(base, next, state.election.epoch, context.write_number);
  context.Emit(AppendClientBatch{event.token, base, state.election.epoch, starts_epoch});
  leader.pending_appends.push_back(PendingAppend{event.token, base, next});
  WakeFetches(state, leader, context);
  if (Planted(Plant::kM05)) UpdateWatermark(state, context);
}

void AcknowledgeAppends(Leader& leader, Epoch epoch, Offset high_watermark, StepContext& context) {
  while (!leader.pending_appends.empty() &&
         leader.pending_appends.front().next_offset <= high_watermark) {
    const PendingAppend& append = leader.pending_appends.front();
    context.Emit(AppendCommitted{append.token, append.base_offset, epoch});
    leader.pending_appends.pop_front();
  }
}

void SettleLostLeadership(const State& state, const Leader& old, StepContext& context) {
  const RaftError error = state.quarantine.has_value() ? RaftError::kBrokerNotAvailable
                                                       : RaftError::kNotLeaderOrFollower;
  const ResponseHeader header = state.Header(error);
  if (!Planted(Plant::kM13)) {
    for (const ParkedFetch& parked : old.parked) {
      context.Emit(
          ReplyFetch{parked.token, header, std::nullopt, state.log.start(), FetchedNothing{}});
    }
  }
  for (const PendingAppend& append : old.pending_appends) {
    if (Planted(Plant::kM43)) {
      context.Emit(AppendRefused{append.token, header});
    } else {
      context.Emit(AppendUnknown{append.token, header});
    }
  }
}

}  // namespace quorum::raft
