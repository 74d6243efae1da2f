#include "tests/sim/sim_network.h"

#include <utility>

namespace quorum::sim {

SimNetwork::SimNetwork(EventQueue* queue, const NetworkOptions& options, Prng prng, Tracer* tracer,
                       Statistics* statistics, NetworkObserver* observer)
    : queue_(*queue),
      options_(options),
      prng_(prng),
      tracer_(*tracer),
      statistics_(*statistics),
      observer_(*observer) {}

bool SimNetwork::IsCut(NodeId from, NodeId to) const {
  const auto found = cuts_.find({from, to});
  return found != cuts_.end() && found->second > 0;
}

void SimNetwork::Mend(NodeId from, NodeId to) {
  const auto found = cuts_.find({from, to});
  if (found != cuts_.end() && --found->second == 0) cuts_.erase(found);
}

void SimNetwork::Heal() {
  cuts_.clear();
  options_.slow_ppm = 0;
  options_.request_loss_ppm = 0;
  options_.answer_loss_ppm = 0;
  options_.duplicate_ppm = 0;
}

Duration SimNetwork::DrawDelay() {
  const bool slow = options_.slow_ppm > 0 && prng_.Chance(options_.slow_ppm);
  return prng_.Between(options_.delay_min, slow ? options_.slow_max : options_.delay_max);
}

void SimNetwork::Call(shard::LaneRequest request, Duration timeout, shard::PeerDone done) {
  observer_.OnRequestLeaves(request);
  const NodeId from = request.envelope.from.key.id;
  const NodeId to = request.envelope.to.key.id;
  const uint64_t call = ++last_call_;
  tracer_.Mix(call);
  tracer_.Mix(static_cast<uint64_t>(to.value()) << 8 | request.body.index());
  waiting_.emplace(call, Waiting{from, std::move(done)});
  queue_.After(timeout, [this, call] { Complete(call, std::nullopt); });
  int copies = 1;
  if (IsCut(from, to) || prng_.Chance(options_.request_loss_ppm)) {
    statistics_.Add(Counter::kRequestsLost);
    return;
  }
  if (prng_.Chance(options_.duplicate_ppm)) {
    statistics_.Add(Counter::kDuplicates);
    copies = 2;
  }
  for (int copy = 1; copy < copies; ++copy) {
    queue_.After(DrawDelay(), [this, call, request] { Deliver(call, request); });
  }
  queue_.After(DrawDelay(), [this, call, last = std::move(request)] { Deliver(call, last); });
}

void SimNetwork::Deliver(uint64_t call, const shard::LaneRequest& request) {
  const NodeId to = request.envelope.to.key.id;
  const auto host = hosts_.find(to);
  shard::ShardApi* shard =
      host == hosts_.end() ? nullptr : host->second->ForLane(request.envelope.lane);
  if (shard == nullptr) {
    // The machine answers for its dead process, or nobody does.
    if (prng_.Chance(options_.refuse_ppm)) {
      queue_.After(DrawDelay(), [this, call] { Complete(call, std::nullopt); });
    }
    return;
  }
  tracer_.Mix(call);
  const bool taken = shard->Post(request, [this, call, request](shard::LaneResponse response) {
    Answer(call, request, std::move(response));
  });
  if (taken) return;
  shard::LaneResponse refused;
  refused.body = shard::RefusedRequest{shard::EnvelopeError::kThrottled};
  refused.responder.key = request.envelope.to.key;
  queue_.After(DrawDelay(), [this, call, refused] { Complete(call, refused); });
}

void SimNetwork::Answer(uint64_t call, const shard::LaneRequest& request,
                        shard::LaneResponse response) {
  observer_.OnAnswerLeaves(request, response);
  const NodeId from = request.envelope.from.key.id;
  const NodeId to = request.envelope.to.key.id;
  if (IsCut(to, from) || prng_.Chance(options_.answer_loss_ppm)) {
    statistics_.Add(Counter::kAnswersLost);
    return;
  }
  queue_.After(DrawDelay(),
               [this, call, response = std::move(response)] { Complete(call, response); });
}

void SimNetwork::Complete(uint64_t call, std::optional<shard::LaneResponse> response) {
  const auto found = waiting_.find(call);
  if (found == waiting_.end()) return;
  const shard::PeerDone done = std::move(found->second.done);
  waiting_.erase(found);
  tracer_.Mix(call << 1 | (response.has_value() ? 1 : 0));
  done(std::move(response));
}

void SimNetwork::DropCallsOf(NodeId node) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    it = it->second.from == node ? waiting_.erase(it) : std::next(it);
  }
}

}  // namespace quorum::sim
