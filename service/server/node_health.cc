#include "service/server/node_health.h"

#include <utility>
#include <vector>

namespace quorum::server {

NodeHealth::NodeHealth(Publish publish) : publish_(std::move(publish)) {}

std::vector<std::string> NodeHealth::Names() {
  std::map<std::string, bool> said;
  NodeHealth health([&said](const std::string& service, bool serving) { said[service] = serving; });
  (void)health.Update(HealthInputs());
  std::vector<std::string> names;
  for (const auto& [name, serving] : said) names.push_back(name);
  return names;
}

bool NodeHealth::Update(const HealthInputs& inputs) {
  const bool in_step =
      inputs.caught_up && inputs.in_step >= inputs.assigned && inputs.catching_up == 0;
  lags_ = inputs.lag > (lags_ || !was_ready_ ? kLagOver : kLagMax);
  const bool became_ready = in_step && !lags_ && !was_ready_ && !inputs.draining;
  was_ready_ = was_ready_ || became_ready;
  live_ = inputs.oldest_round < kStandstill;
  ready_ = live_ && was_ready_ && !lags_ && !inputs.catalog_failed && !inputs.draining;
  Say("", live_);
  Say("liveness", live_);
  Say("startup", true);
  Say("readiness", ready_);
  Say("quorum.v1.LogService", ready_);
  Say("quorum.v1.AdminService", ready_);
  Say("quorum.v1.VoterService", live_);
  Say("quorum.v1.ObserverService", live_);
  return became_ready;
}

void NodeHealth::Say(const std::string& service, bool serving) {
  const auto [said, is_new] = said_.try_emplace(service, serving);
  if (!is_new && said->second == serving) return;
  said->second = serving;
  publish_(service, serving);
}

}  // namespace quorum::server
