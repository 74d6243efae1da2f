#include "client/calls.h"

namespace quorum::client {
namespace {

constexpr Duration kRefreshInterval = std::chrono::seconds(1);
constexpr Duration kRefreshTimeout = std::chrono::seconds(5);

}  // namespace

UnaryCall<v1::ListOffsetsRequest, v1::ListOffsetsResponse>::Steps ListOffsetsSteps(
    std::function<void(Result<v1::ListOffsetsResponse>)> done) {
  auto steps = StepsOf<v1::ListOffsetsRequest, v1::ListOffsetsResponse>(std::move(done));
  steps.entry_error = [](const v1::ListOffsetsResponse& response) -> std::optional<Error> {
    std::optional<Error> error = EntryError(response);
    if (error.has_value() && !RetryPolicy::MayRepeat(CallKind::kRead, *error)) return std::nullopt;
    return error;
  };
  return steps;
}

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
  // Any node knows the addresses.
  v1::DescribeClusterRequest request;
  request.set_no_forward(true);
  std::make_shared<Refresh>(core, settings, std::move(request), std::move(steps))->Start();
}

}  // namespace quorum::client
