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
  } else if (result->error == ControllerError::kDuplicateRegistration ||
             result->error == ControllerError::kInvalidRequest) {
    if (std::exchange(state.registration_refusal, result->message) != result->message) {
      state.seams.link.OnRegistrationRefused(result->message);
    }
  }
}

// A registration that was there before is noticed only by who has read the catalog. But nobody
// feeds a process with an incarnation below one that is known, so it asks after a while, and is
// told.
bool HasReadCatalog(ControllerState& state) {
  if (state.caught_up) return true;
  if (!state.register_unread_at.has_value()) {
    state.register_unread_at = state.now + state.config.request_timeout;
  }
  return state.now >= *state.register_unread_at;
}

// Each start on a directory has an incarnation of its own. Who finds itself registered without
// having asked runs on a copied directory, or on one that was founded a second time under its old
// id and has forgotten its votes.
void CheckOwnRegistration(ControllerState& state) {
  if (state.asked_to_register) return;
  state.seams.link.OnFenced(
      "the cluster knows this incarnation already: the directory was copied, or founded again");
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
  if (IsRegistered(state)) {
    CheckOwnRegistration(state);
    return;
  }
  if (!state.hint.leader.has_value() || !HasReadCatalog(state)) return;
  state.registering = true;
  state.asked_to_register = true;
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
