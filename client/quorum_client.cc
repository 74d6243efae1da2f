#include "client/quorum_client.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/client_core.h"
#include "client/learn.h"
#include "client/tail_flow.h"
#include "client/tail_queue.h"
#include "client/unary_call.h"
#include "service/base/check.h"
#include "service/base/mutex.h"

namespace quorum::client {
namespace {

constexpr Duration kRefreshInterval = std::chrono::seconds(1);
constexpr Duration kRefreshTimeout = std::chrono::seconds(5);

// Makes each gRPC call: one overload a request, so that the rest is written once.
#define QUORUM_PREPARE(Call, stub)                                                     \
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::Call##Response>> Prepare(        \
      NodeStubs& node, grpc::ClientContext* context, const v1::Call##Request& request, \
      grpc::CompletionQueue* queue) {                                                  \
    return node.stub->PrepareAsync##Call(context, request, queue);                     \
  }
QUORUM_PREPARE(Append, log)
QUORUM_PREPARE(ListOffsets, log)
QUORUM_PREPARE(CreateTopic, admin)
QUORUM_PREPARE(DeleteTopic, admin)
QUORUM_PREPARE(ElectLeader, admin)
QUORUM_PREPARE(ListTopics, admin)
QUORUM_PREPARE(DescribeTopic, admin)
QUORUM_PREPARE(DescribeQuorum, admin)
QUORUM_PREPARE(DescribeCluster, admin)
#undef QUORUM_PREPARE

template <typename Request>
void SetTimeout(Request* request, Duration timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  request->mutable_timeout()->set_seconds(seconds.count());
  request->mutable_timeout()->set_nanos(static_cast<int32_t>((timeout - seconds).count()));
}

template <typename Request, typename Response>
typename UnaryCall<Request, Response>::Steps StepsOf(std::function<void(Result<Response>)> done) {
  typename UnaryCall<Request, Response>::Steps steps;
  steps.prepare = [](NodeStubs& node, grpc::ClientContext* context, const Request& request,
                     grpc::CompletionQueue* queue) {
    return Prepare(node, context, request, queue);
  };
  steps.done = std::move(done);
  return steps;
}

template <typename Request, typename Response>
void StartCall(const std::shared_ptr<ClientCore>& core, CallSettings settings, Request request,
               typename UnaryCall<Request, Response>::Steps steps) {
  const bool posted =
      core->loop.Post([&core = *core, settings = std::move(settings), request = std::move(request),
                       steps = std::move(steps)]() mutable {
        std::make_shared<UnaryCall<Request, Response>>(core, std::move(settings),
                                                       std::move(request), std::move(steps))
            ->Start();
      });
  CHECK(posted) << "a call on a client that was destroyed";
}

// Makes the call and waits for what becomes of it.
template <typename Request, typename Response>
Result<Response> Call(const std::shared_ptr<ClientCore>& core, CallSettings settings,
                      Request request, typename UnaryCall<Request, Response>::Steps steps) {
  CHECK(!core->loop.OnLoopThread()) << "a callback may not block";
  Mutex mutex;
  CondVar changed;
  std::optional<Result<Response>> result;
  // On the loop's thread. Notified under the lock, because the waiter owns all three.
  steps.done = [&, &cache = core->cache](Result<Response> answer) {
    if (answer.ok()) Learn(answer.value(), &cache);
    MutexLock lock(&mutex);
    result.emplace(std::move(answer));
    changed.NotifyAll();
  };
  StartCall<Request, Response>(core, std::move(settings), std::move(request), std::move(steps));
  MutexLock lock(&mutex);
  while (!result.has_value()) changed.Wait(&mutex);
  return std::move(*result);
}

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

// Asks for the nodes' addresses when a leader is known by its id only. On the loop's thread.
void RefreshNodes(ClientCore& core, const PartitionName& partition) {
  using Refresh = UnaryCall<v1::DescribeClusterRequest, v1::DescribeClusterResponse>;
  if (!core.cache.LacksLeaderAddress(partition) || core.closing) return;
  if (core.loop.Now() < core.refresh_after) return;
  core.refresh_after = core.loop.Now() + kRefreshInterval;
  CallSettings settings;
  settings.options.timeout = kRefreshTimeout;
  auto steps = StepsOf<v1::DescribeClusterRequest, v1::DescribeClusterResponse>(
      [&core](Result<v1::DescribeClusterResponse> result) {
        if (result.ok()) Learn(result.value(), &core.cache);
      });
  std::make_shared<Refresh>(core, settings, v1::DescribeClusterRequest(), std::move(steps))
      ->Start();
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

std::unique_ptr<TailReader> QuorumClient::Tail(const TailSpec& spec, CallOptions options) {
  auto queue = std::make_shared<TailQueue>();
  auto flow = std::make_shared<TailFlow>(*core_, spec, std::move(options), queue);
  core_->loop.Post([flow] { flow->Start(); });
  return std::make_unique<TailReader>(core_, std::move(flow), std::move(queue));
}

Result<v1::ListOffsetsResponse> QuorumClient::ListOffsets(v1::ListOffsetsRequest request,
                                                          CallOptions options) {
  CallSettings settings{CallKind::kRead, std::nullopt, std::move(options)};
  if (request.topics_size() == 1 && request.topics(0).partitions_size() == 1) {
    settings.partition = PartitionName{request.topics(0).topic(), request.topics(0).partitions(0)};
  }
  auto steps = StepsOf<v1::ListOffsetsRequest, v1::ListOffsetsResponse>(nullptr);
  steps.entry_error = [](const v1::ListOffsetsResponse& response) -> std::optional<Error> {
    std::optional<Error> error = EntryError(response);
    if (error.has_value() && !RetryPolicy::MayRepeat(CallKind::kRead, *error)) return std::nullopt;
    return error;
  };
  return Call<v1::ListOffsetsRequest, v1::ListOffsetsResponse>(
      core_, std::move(settings), std::move(request), std::move(steps));
}

Result<v1::CreateTopicResponse> QuorumClient::CreateTopic(v1::CreateTopicRequest request,
                                                          CallOptions options) {
  auto steps = StepsOf<v1::CreateTopicRequest, v1::CreateTopicResponse>(nullptr);
  steps.set_timeout = &SetTimeout<v1::CreateTopicRequest>;
  return Call<v1::CreateTopicRequest, v1::CreateTopicResponse>(
      core_, CallSettings{CallKind::kChange, std::nullopt, std::move(options)}, std::move(request),
      std::move(steps));
}

Result<v1::DeleteTopicResponse> QuorumClient::DeleteTopic(v1::DeleteTopicRequest request,
                                                          CallOptions options) {
  auto steps = StepsOf<v1::DeleteTopicRequest, v1::DeleteTopicResponse>(nullptr);
  steps.set_timeout = &SetTimeout<v1::DeleteTopicRequest>;
  return Call<v1::DeleteTopicRequest, v1::DeleteTopicResponse>(
      core_, CallSettings{CallKind::kChange, std::nullopt, std::move(options)}, std::move(request),
      std::move(steps));
}

Result<v1::ElectLeaderResponse> QuorumClient::ElectLeader(v1::ElectLeaderRequest request,
                                                          CallOptions options) {
  auto steps = StepsOf<v1::ElectLeaderRequest, v1::ElectLeaderResponse>(nullptr);
  steps.set_timeout = &SetTimeout<v1::ElectLeaderRequest>;
  return Call<v1::ElectLeaderRequest, v1::ElectLeaderResponse>(
      core_, CallSettings{CallKind::kChange, std::nullopt, std::move(options)}, std::move(request),
      std::move(steps));
}

Result<v1::ListTopicsResponse> QuorumClient::ListTopics(v1::ListTopicsRequest request,
                                                        CallOptions options) {
  auto steps = StepsOf<v1::ListTopicsRequest, v1::ListTopicsResponse>(nullptr);
  return Call<v1::ListTopicsRequest, v1::ListTopicsResponse>(
      core_, CallSettings{CallKind::kRead, std::nullopt, std::move(options)}, std::move(request),
      std::move(steps));
}

Result<v1::DescribeTopicResponse> QuorumClient::DescribeTopic(v1::DescribeTopicRequest request,
                                                              CallOptions options) {
  auto steps = StepsOf<v1::DescribeTopicRequest, v1::DescribeTopicResponse>(nullptr);
  return Call<v1::DescribeTopicRequest, v1::DescribeTopicResponse>(
      core_, CallSettings{CallKind::kRead, std::nullopt, std::move(options)}, std::move(request),
      std::move(steps));
}

Result<v1::DescribeQuorumResponse> QuorumClient::DescribeQuorum(v1::DescribeQuorumRequest request,
                                                                CallOptions options) {
  auto steps = StepsOf<v1::DescribeQuorumRequest, v1::DescribeQuorumResponse>(nullptr);
  return Call<v1::DescribeQuorumRequest, v1::DescribeQuorumResponse>(
      core_, CallSettings{CallKind::kRead, std::nullopt, std::move(options)}, std::move(request),
      std::move(steps));
}

Result<v1::DescribeClusterResponse> QuorumClient::DescribeCluster(
    v1::DescribeClusterRequest request, CallOptions options) {
  auto steps = StepsOf<v1::DescribeClusterRequest, v1::DescribeClusterResponse>(nullptr);
  return Call<v1::DescribeClusterRequest, v1::DescribeClusterResponse>(
      core_, CallSettings{CallKind::kRead, std::nullopt, std::move(options)}, std::move(request),
      std::move(steps));
}

}  // namespace quorum::client
