#include "service/transport/peer_channels.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <optional>

#include "service/transport/wire_limits.h"

namespace quorum::transport {
namespace {

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kPeerMessageBytesMax);
  arguments.SetMaxSendMessageSize(kPeerMessageBytesMax);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPeerKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPeerKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A pod comes back under a new address, and a killed process comes back at once.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // An append of unknown outcome must not be sent twice, and the shard repeats the rest itself.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // Without a pool of its own, a channel would share the connection of another one to that address.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

}  // namespace

std::shared_ptr<grpc::Channel> PeerChannels::Get(NodeId node, ChannelUse use) {
  const std::optional<std::string> address = addresses_.Find(node);
  if (!address.has_value()) return nullptr;
  {
    MutexLock lock(&mutex_);
    const auto found = channels_.find({node, use});
    if (found != channels_.end() && found->second.address == *address) {
      return found->second.channel;
    }
  }
  Entry made{*address,
             grpc::CreateCustomChannel(*address, grpc::InsecureChannelCredentials(), Arguments())};
  // What is replaced ends outside of the lock.
  Entry replaced;
  MutexLock lock(&mutex_);
  Entry& entry = channels_[{node, use}];
  if (entry.address == *address) return entry.channel;
  replaced = std::move(entry);
  entry = std::move(made);
  return entry.channel;
}

}  // namespace quorum::transport
