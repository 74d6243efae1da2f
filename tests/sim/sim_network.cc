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

void SimNetwork::Call(NodeId from, shard::LaneRequest request, Duration timeout,
                      shard::PeerDone done) {
  observer_.OnRequestLeaves(request);
  const NodeId to = request.envelope.to.key.id;
  Send(Message{0, from, to, std::move(request)}, timeout,
       [done = std::move(done)](std::optional<Answer> answer) {
         if (!answer.has_value()) return done(std::nullopt);
         done(std::get<shard::LaneResponse>(*std::move(answer)));
       });
}

void SimNetwork::CallController(NodeId from, const ReplicaKey& to,
                                const controller::BrokerRegistration& registration,
                                Duration timeout, RegistrationDone done) {
  Send(Message{0, from, to.id, Registration{to, registration, timeout}}, timeout,
       [done = std::move(done)](std::optional<Answer> answer) {
         if (!answer.has_value()) return done(std::nullopt);
         done(std::get<controller::ControllerResult>(*std::move(answer)));
       });
}

void SimNetwork::Send(Message message, Duration timeout,
                      std::function<void(std::optional<Answer>)> done) {
  const uint64_t call = ++last_call_;
  message.call = call;
  tracer_.Mix(call);
  const auto* batch = std::get_if<shard::LaneRequest>(&message.request);
  tracer_.Mix(static_cast<uint64_t>(message.to.value()) << 8 |
              (batch != nullptr ? batch->body.index() : 0xff));
  waiting_.emplace(call, Waiting{message.from, std::move(done)});
  queue_.After(timeout, [this, call] { Complete(call, std::nullopt); });
  if (IsCut(message.from, message.to) || prng_.Chance(options_.request_loss_ppm)) {
    statistics_.Add(Counter::kRequestsLost);
    return;
  }
  int copies = 1;
  if (prng_.Chance(options_.duplicate_ppm)) {
    statistics_.Add(Counter::kDuplicates);
    copies = 2;
  }
  const auto shared = std::make_shared<const Message>(std::move(message));
  for (int copy = 0; copy < copies; ++copy) {
    queue_.After(DrawDelay(), [this, shared] { Deliver(shared); });
  }
}

void SimNetwork::Deliver(const MessagePointer& message) {
  const auto host = hosts_.find(message->to);
  const bool taken =
      host != hosts_.end() &&
      std::visit([&](const auto& request) { return DeliverTo(*host->second, message, request); },
                 message->request);
  if (taken) return;
  // The machine answers for its dead process, or nobody does.
  if (prng_.Chance(options_.refuse_ppm)) {
    queue_.After(DrawDelay(), [this, call = message->call] { Complete(call, std::nullopt); });
  }
}

bool SimNetwork::DeliverTo(NetworkHost& host, const MessagePointer& message,
                           const shard::LaneRequest& request) {
  shard::ShardApi* shard = host.ShardOf(request.envelope.lane);
  if (shard == nullptr) return false;
  tracer_.Mix(message->call);
  const bool taken = shard->Post(request, [this, message](shard::LaneResponse response) {
    observer_.OnAnswerLeaves(std::get<shard::LaneRequest>(message->request), response);
    Return(message, std::move(response));
  });
  if (taken) return true;
  shard::LaneResponse refused;
  refused.body = shard::RefusedRequest{shard::EnvelopeError::kThrottled};
  refused.responder.key = request.envelope.to.key;
  queue_.After(DrawDelay(), [this, call = message->call, refused] { Complete(call, refused); });
  return true;
}

bool SimNetwork::DeliverTo(NetworkHost& host, const MessagePointer& message,
                           const Registration& registration) {
  controller::ControllerApi* api = host.ControllerOf(registration.to);
  if (api == nullptr) return false;
  tracer_.Mix(message->call);
  controller::BrokerRegistration arrived = registration.registration;
  arrived.deadline = host.HostClock().Now() + registration.timeout;
  api->RegisterBroker(std::move(arrived), [this, message](controller::ControllerResult result) {
    Return(message, std::move(result));
  });
  return true;
}

void SimNetwork::Return(const MessagePointer& message, Answer answer) {
  if (IsCut(message->to, message->from) || prng_.Chance(options_.answer_loss_ppm)) {
    statistics_.Add(Counter::kAnswersLost);
    return;
  }
  queue_.After(DrawDelay(), [this, call = message->call, answer = std::move(answer)] {
    Complete(call, answer);
  });
}

void SimNetwork::Complete(uint64_t call, std::optional<Answer> answer) {
  const auto found = waiting_.find(call);
  if (found == waiting_.end()) return;
  const auto done = std::move(found->second.done);
  waiting_.erase(found);
  tracer_.Mix(call << 1 | (answer.has_value() ? 1 : 0));
  done(std::move(answer));
}

std::optional<ReplicaKey> SimNetwork::Discover(NodeId from) {
  auto chosen = hosts_.begin();
  std::advance(chosen, static_cast<int64_t>(prng_.Below(hosts_.size())));
  const NodeId to = chosen->first;
  if (to == from || IsCut(from, to) || IsCut(to, from)) return std::nullopt;
  return chosen->second->Introduction();
}

void SimNetwork::DropCallsOf(NodeId node) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    it = it->second.from == node ? waiting_.erase(it) : std::next(it);
  }
}

}  // namespace quorum::sim
