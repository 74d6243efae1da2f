#include "tests/bench/channels.h"

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

namespace quorum::bench {

Channels MakeChannels(const std::string& address, size_t count) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A killed node shall be called again as soon as it is back.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetMaxReceiveMessageSize(-1);
  Channels channels;
  for (size_t i = 0; i < count; ++i) {
    channels.push_back(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  return channels;
}

void SetDeadline(grpc::ClientContext* context, Duration time_max) {
  context->set_deadline(gpr_time_from_nanos(time_max.count(), GPR_TIMESPAN));
}

}  // namespace quorum::bench
