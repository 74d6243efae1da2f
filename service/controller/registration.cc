// This process makes itself known: once after each start, and whenever the catalog says something
// else of it.

#include <optional>
#include <utility>

#include "service/controller/controller_state.h"

namespace quorum::controller {
namespace {

bool SameEndpoints(const std::vector<ListenerEndpoint>& stored,
                   const std::vector<NodeEndpoint>& own) {
  if (stored.size() != own.size()) return false;
  for (size_t i = 0; i < own.size(); ++i) {
    if (stored[i].listener != own[i].listener || stored[i].address != own[i].address) {
      return false;
    }
  }
  return true;
}

BrokerRegistration OwnRegistration(const ControllerState& state) {
  BrokerRegistration registration;
  registration.key = state.config.self;
  registration.incarnation = state.config.incarnation;
  registration.endpoints = state.config.endpoints;
  registration.lane_count = state.config.lane_count;
  registration.software_version = state.config.software_version;
  registration.deadline = state.now + state.config.request_timeout;
  return registration;
}

void OnAnswer(ControllerState& state, const std::optional<ControllerResult>& result) {
  state.registering = false;
  state.register_at = state.now + state.config.retry;
  if (!result.has_value()) return;
  if (result->error == ControllerError::kFencedIncarnation ||
      result->error == ControllerError::kInconsistentLaneCount) {
    state.seams.link.OnFenced(result->message);
  }
}

}  // namespace

bool IsRegistered(const ControllerState& state) {
  const Broker* broker = state.catalog.FindBroker(state.config.self.id);
  return broker != nullptr && broker->key == state.config.self &&
         broker->incarnation == state.config.incarnation &&
         SameEndpoints(broker->endpoints, state.config.endpoints);
}

void RegisterSelf(ControllerState& state) {
  if (state.registering || state.failed || state.now < state.register_at) return;
  if (!state.hint.leader.has_value() || IsRegistered(state)) return;
  state.registering = true;
  Mailbox<Task>* mailbox = &state.mailbox;
  auto done = [mailbox](std::optional<ControllerResult> result) {
    PostOwn(mailbox,
            [result = std::move(result)](ControllerState& owner) { OnAnswer(owner, result); });
  };
  BrokerRegistration registration = OwnRegistration(state);
  if (*state.hint.leader == state.config.self) {
    const MonoTime deadline = registration.deadline;
    AddChange(state, Change{std::move(registration), deadline,
                            [done](ControllerResult result) { done(std::move(result)); }});
    return;
  }
  state.seams.link.Register(*state.hint.leader, registration, state.config.request_timeout, done);
}

}  // namespace quorum::controller
