#include "service/raft/state.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace quorum::raft {

std::optional<Offset> State::HighWatermark() const {
  const Leader* leader = std::get_if<Leader>(&role);
  if (leader != nullptr && !leader->ready) return std::nullopt;
  return committed;
}

ResponseHeader State::Header(RaftError error) const {
  return ResponseHeader{error, election.epoch, election.leader};
}

MonoTime DrawElectionDeadline(const State& state, StepContext& context) {
  const Duration timeout = state.config.election_timeout;
  return RoundUp(context.now + context.prng.Between(timeout, 2 * timeout), state.config.timer_grid);
}

Duration DrawFetchTimeout(const State& state, StepContext& context) {
  const Duration timeout = state.config.fetch_timeout;
  return context.prng.Between(timeout, timeout + state.config.election_timeout / 2);
}

Duration RetryBackoff(const Config& config, int failures) {
  constexpr int kDoublingsMax = 5;
  const int doublings = std::clamp(failures - 1, 0, kDoublingsMax);
  return config.retry_backoff * (int64_t{1} << doublings);
}

uint64_t SendTo(State& state, const ReplicaKey& peer, Gate gate, PeerMessage message,
                StepContext& context) {
  const uint64_t number = ++state.last_send_number;
  context.Emit(Send{peer, state.incarnation, number, gate, std::move(message)});
  return number;
}

}  // namespace quorum::raft
