#include "service/transport/grpc_server.h"

#include <grpc/support/time.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "service/transport/callback_threads.h"

namespace quorum::transport {
namespace {

void Bound(const GrpcServerOptions& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(options.receive_bytes_max);
  builder->SetMaxSendMessageSize(kPeerMessageBytesMax);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams_max);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 16 << 10);
  builder->SetResourceQuota(grpc::ResourceQuota("quorum").Resize(options.memory_max));
}

void Listen(const GrpcServerOptions& options, grpc::ServerBuilder* builder, int* port) {
  // gRPC's default would let a second server share the port, and take half of the calls.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // gRPC's default ends a connection that is pinged more often than every five minutes.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kServerPingIntervalMinMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Clients that vanished without a word are noticed, and their streams end.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder->AddListeningPort(options.address, grpc::InsecureServerCredentials(), port);
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const GrpcServerOptions& options, const std::vector<grpc::Service*>& services) {
  KeepCallbackThreads();
  grpc::ServerBuilder builder;
  int port = 0;
  Bound(options, &builder);
  Listen(options, &builder, &port);
  if (options.errors != nullptr) {
    builder.experimental().SetInterceptorCreators(options.errors->Interceptors());
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on ", options.address,
        ": another process uses the port, or the address does not belong to this machine"));
  }
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(server), port));
}

GrpcServer::GrpcServer(std::unique_ptr<grpc::Server> server, int port)
    : server_(std::move(server)), port_(port) {}

GrpcServer::~GrpcServer() { Shutdown(Duration::zero()); }

void GrpcServer::Shutdown(Duration grace) {
  if (server_ == nullptr) return;
  server_->Shutdown(gpr_time_from_nanos(grace.count(), GPR_TIMESPAN));
  server_->Wait();
  server_.reset();
}

}  // namespace quorum::transport
