#include "service/raft/watermark.h"

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "service/base/check.h"
#include "service/base/plant.h"
#include "service/raft/high_watermark.h"
#include "service/raft/on_append.h"
#include "service/raft/on_fetch.h"
#include "service/raft/transitions.h"

namespace quorum::raft {
namespace {

std::vector<std::optional<Offset>> DurableEnds(const State& state, const Leader& leader) {
  std::vector<std::optional<Offset>> ends;
  for (const Voter& voter : state.voters.Latest()) {
    if (voter.key == state.self) {
      ends.push_back(Planted(Plant::kM05) ? state.log.end() : state.log.durable_end());
      continue;
    }
    const auto found = leader.progress.find(voter.key);
    ends.push_back(found == leader.progress.end() ? std::nullopt : found->second.Counted());
  }
  return ends;
}

bool IsPastEpochStart(const Leader& leader, Offset candidate) {
  if (Planted(Plant::kM07)) return candidate >= leader.epoch_start;
  return candidate > leader.epoch_start;
}

void Commit(State& state, Offset high_watermark, const char* reason, StepContext& context) {
  state.committed = high_watermark;
  context.Emit(Trace{TraceEvent{TraceKind::kHighWatermark, state.election.epoch, KindOf(state.role),
                                KindOf(state.role), state.election.leader, std::nullopt,
                                high_watermark, reason}});
}

void NoteLag(State& state, Offset high_watermark, const StepContext& context) {
  if (high_watermark <= state.log.end()) {
    state.was_in_step = true;
    state.behind_since.reset();
  } else if (!state.behind_since.has_value()) {
    state.behind_since = context.now;
  }
}

}  // namespace

void UpdateWatermark(State& state, StepContext& context) {
  Leader* leader = std::get_if<Leader>(&state.role);
  if (leader == nullptr || state.voters.Latest().empty()) return;
  const std::optional<Offset> candidate = MajorityOffset(DurableEnds(state, *leader));
  if (!candidate.has_value() || !IsPastEpochStart(*leader, *candidate)) return;
  if (leader->ready && state.committed.has_value() && *candidate <= *state.committed) return;
  CHECK_LE(*candidate, state.log.end());
  const bool was_ready = leader->ready;
  leader->ready = true;
  state.watermark_named = true;
  state.was_in_step = true;
  state.behind_since.reset();
  Commit(state, *candidate, "a majority holds it", context);
  if (!was_ready) {
    context.Emit(LeadershipChanged{state.election.epoch, state.election.leader, true});
  }
  AcknowledgeAppends(*leader, state.election.epoch, *candidate, context);
  WakeFetches(state, *leader, context);
  UpdateExposed(state, context);
}

void LearnWatermark(State& state, Offset high_watermark, StepContext& context) {
  if (state.committed.has_value() && high_watermark < *state.committed) {
    Quarantine(state, "the leader's high watermark is below a known one", context);
    return;
  }
  state.watermark_named = true;
  NoteLag(state, high_watermark, context);
  const Offset known = std::min(high_watermark, state.log.end());
  if (state.committed == known) return;
  Commit(state, known, "the leader says so", context);
  UpdateExposed(state, context);
}

void UpdateExposed(State& state, StepContext& context) {
  const std::optional<Offset> high_watermark = state.HighWatermark();
  if (!high_watermark.has_value()) return;
  const Offset visible = std::min(*high_watermark, state.log.durable_end());
  if (visible <= state.exposed) return;
  state.exposed = visible;
  context.Emit(CommitAdvanced{visible, *high_watermark});
}

}  // namespace quorum::raft
