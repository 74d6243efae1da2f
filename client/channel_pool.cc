#include "client/channel_pool.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/grpc_time.h"
#include "client/version.h"

namespace quorum::client {
namespace {

// A watch of a channel's state cannot be cancelled, so it is renewed this often: the end of the
// client waits for no more.
constexpr Duration kWatch = std::chrono::milliseconds(100);

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(16 << 20);
  arguments.SetMaxSendMessageSize(16 << 20);
  // The server takes pings no more often than every 10 s.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 15'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // Back-off and connections are this client's own, also beside another one in the same process.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetUserAgentPrefix(absl::StrCat("quorum-client/", kVersion));
  return arguments;
}

}  // namespace

void ChannelPool::Connect(const std::string& address, Duration time_max, Connected connected) {
  Await(&StubsFor(address), loop_.Now() + time_max, std::move(connected));
}

NodeStubs& ChannelPool::StubsFor(const std::string& address) {
  NodeStubs& node = nodes_[address];
  if (node.channel == nullptr) {
    node.channel =
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), Arguments());
    node.log = v1::LogService::NewStub(node.channel);
    node.admin = v1::AdminService::NewStub(node.channel);
  }
  return node;
}

void ChannelPool::Await(NodeStubs* node, MonoTime until, Connected connected) {
  if (closed_) return connected(nullptr);
  const grpc_connectivity_state state = node->channel->GetState(/*try_to_connect=*/true);
  if (state == GRPC_CHANNEL_READY) return connected(node);
  const Duration left = until - loop_.Now();
  if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN ||
      left <= Duration(0)) {
    return connected(nullptr);
  }
  node->channel->NotifyOnStateChange(
      state, TimeSpan(std::min(left, kWatch)), loop_.queue(),
      EventLoop::Tag([this, node, until, connected = std::move(connected)](bool) {
        Await(node, until, connected);
      }));
}

}  // namespace quorum::client
