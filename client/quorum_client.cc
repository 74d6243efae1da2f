#include "client/quorum_client.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/calls.h"
#include "client/client_core.h"
#include "service/base/check.h"
#include "service/base/mutex.h"

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
  Mutex mutex;
  CondVar changed;
  bool drained = false;
  core_->loop.Post([&, core = core_.get()] {
    core->closing = true;
    core->pool.Close();
    core->drained = [&] {
      MutexLock lock(&mutex);
      drained = true;
      changed.NotifyAll();
    };
    const auto closables = std::move(core->closables);
    core->closables.clear();
    for (const std::shared_ptr<Closable>& closable : closables) closable->Close();
    const auto flows = core->flows;
    for (const std::shared_ptr<CallFlow>& flow : flows) flow->Cancel();
    if (flows.empty()) core->drained();
  });
  {
    MutexLock lock(&mutex);
    while (!drained) changed.Wait(&mutex);
  }
  core_->loop.Stop();
}

void QuorumClient::AppendAsync(v1::AppendRequest request, CallOptions options,
                               std::function<void(AppendOutcome)> done) {
  using Append = UnaryCall<v1::AppendRequest, v1::AppendResponse>;
  const PartitionName partition{request.topic(), request.partition()};
  Append::Steps steps = StepsOf<v1::AppendRequest, v1::AppendResponse>(
      [&core = *core_, partition, done = std::move(done)](Result<v1::AppendResponse> result) {
        if (!result.ok()) return done(OutcomeOf(result.error()));
        Learn(partition, result.value(), &core.cache);
        RefreshNodes(core, partition);
        done(OutcomeOf(result.value()));
      });
  steps.set_timeout = &SetTimeout<v1::AppendRequest>;
  StartCall<v1::AppendRequest, v1::AppendResponse>(
      core_, CallSettings{CallKind::kAppend, partition, std::move(options)}, std::move(request),
      std::move(steps));
}

AppendOutcome QuorumClient::Append(v1::AppendRequest request, CallOptions options) {
  CHECK(!core_->loop.OnLoopThread()) << "a callback may not block";
  Mutex mutex;
  CondVar changed;
  std::optional<AppendOutcome> result;
  AppendAsync(std::move(request), std::move(options), [&](AppendOutcome outcome) {
    MutexLock lock(&mutex);
    result.emplace(std::move(outcome));
    changed.NotifyAll();
  });
  MutexLock lock(&mutex);
  while (!result.has_value()) changed.Wait(&mutex);
  return std::move(*result);
}

}  // namespace quorum::client
