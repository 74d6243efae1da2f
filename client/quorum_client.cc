#include "client/quorum_client.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/call_flow.h"
#include "client/client_core.h"
#include "client/waiter.h"
#include "service/base/check.h"

namespace quorum::client {
namespace {

uint64_t SeedOf(const ClientOptions& options, const Clock& clock) {
  if (options.seed != 0) return options.seed;
  return static_cast<uint64_t>(clock.WallTimeMs()) ^
         static_cast<uint64_t>(clock.Now().time_since_epoch().count()) ^
         (static_cast<uint64_t>(getpid()) << 32);
}

std::shared_ptr<ClientCore> MakeCore(ClientOptions options) {
  CHECK(!options.bootstrap.empty()) << "a client needs at least one bootstrap address";
  const uint64_t seed = SeedOf(options, SystemClock());
  std::vector<std::string> bootstrap = options.bootstrap;
  if (options.spread) {
    const auto first = static_cast<int64_t>(Prng(seed).Below(bootstrap.size()));
    std::rotate(bootstrap.begin(), bootstrap.begin() + first, bootstrap.end());
  }
  return std::make_shared<ClientCore>(std::move(options), seed, std::move(bootstrap));
}

}  // namespace

QuorumClient::QuorumClient(ClientOptions options) : core_(MakeCore(std::move(options))) {}

QuorumClient::~QuorumClient() {
  Waiter<bool> drained;
  core_->loop.Post([&drained, core = core_.get()] {
    core->closing = true;
    core->pool.Close();
    core->drained = [&drained, told = false]() mutable {
      if (!std::exchange(told, true)) drained.Give(true);
    };
    const auto closables = std::move(core->closables);
    core->closables.clear();
    for (const std::shared_ptr<Closable>& closable : closables) closable->Close();
    const auto flows = core->flows;
    for (const std::shared_ptr<CallFlow>& flow : flows) flow->Cancel();
    if (flows.empty()) core->drained();
  });
  drained.Take();
  core_->loop.Stop();
}

}  // namespace quorum::client
