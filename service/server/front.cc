#include "service/server/front.h"

#include <utility>
#include <vector>

#include "service/server/exit.h"
#include "service/server/loop_thread.h"
#include "service/server/node_health.h"
#include "service/transport/admin_service.h"
#include "service/transport/client_parts.h"
#include "service/transport/envelope_codec.h"
#include "service/transport/grpc_server.h"
#include "service/transport/health_service.h"
#include "service/transport/log_service.h"
#include "service/transport/observer_service.h"
#include "service/transport/outstanding_calls.h"
#include "service/transport/reflection_service.h"
#include "service/transport/voter_service.h"
#include "storage/rocksdb/worker_thread.h"

namespace quorum::server {
namespace {

// What reflection lists: everything that is registered below.
std::vector<std::string> ServiceNames() {
  return {"grpc.health.v1.Health",
          "grpc.reflection.v1.ServerReflection",
          "grpc.reflection.v1alpha.ServerReflection",
          "quorum.v1.AdminService",
          "quorum.v1.LogService",
          "quorum.v1.ObserverService",
          "quorum.v1.VoterService"};
}

transport::Receiver ReceiverOf(const storage::NodeIdentity& node) {
  return transport::Receiver{node.cluster_id, node.key(), node.lanes};
}

transport::ClientLimits LimitsOf(const ServeConfig& config) {
  transport::ClientLimits limits;
  limits.record_bytes_max = config.record_bytes_max;
  limits.batch_bytes_max = config.batch_bytes_max;
  limits.wait_max = config.client_wait_max;
  return limits;
}

}  // namespace

// The services outlive the gRPC server, and what they share outlives them.
struct Front::Impl {
  Impl(const ServeConfig& config, const Parts& parts)
      : client_parts{ReceiverOf(parts.node),
                     parts.shards,
                     parts.catalog,
                     parts.controller,
                     parts.hints,
                     parts.channels,
                     forwarded,
                     parts.clock,
                     LimitsOf(config)},
        voter_service(ReceiverOf(parts.node), parts.shards, parts.catalog),
        observer_service(ReceiverOf(parts.node), parts.node.incarnation,
                         {parts.shards, parts.catalog, parts.controller, parts.hints, parts.clock}),
        log_service(client_parts),
        admin_service(client_parts),
        health_service(NodeHealth::Names()),
        reflection_v1(ServiceNames()),
        reflection_v1alpha(ServiceNames()) {}

  transport::ErrorCounts errors;
  transport::OutstandingCalls forwarded;
  transport::ClientParts client_parts;
  transport::VoterService voter_service;
  transport::ObserverService observer_service;
  transport::LogService log_service;
  transport::AdminService admin_service;
  transport::HealthService health_service;
  transport::ReflectionV1 reflection_v1;
  transport::ReflectionV1Alpha reflection_v1alpha;
  std::unique_ptr<transport::GrpcServer> server;
};

std::optional<storage::StoreError> Front::Start(const ServeConfig& config, const Parts& parts,
                                                std::unique_ptr<Front>* front) {
  auto impl = std::make_unique<Impl>(config, parts);
  transport::GrpcServerOptions options;
  options.address = config.listen_address;
  options.errors = &impl->errors;
  auto server = transport::GrpcServer::Start(
      options,
      {&impl->voter_service, &impl->observer_service, &impl->log_service, &impl->admin_service,
       &impl->health_service, &impl->reflection_v1, &impl->reflection_v1alpha});
  if (!server.ok()) {
    return storage::ConfigError(kPortInUse, std::string(server.status().message()));
  }
  impl->server = *std::move(server);
  front->reset(new Front(std::move(impl)));
  return std::nullopt;
}

Front::Front(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Front::~Front() { Shutdown(Duration::zero()); }

void Front::SetHealth(const std::string& name, bool serving) {
  impl_->health_service.Set(name, serving);
}

const transport::ErrorCounts& Front::errors() const { return impl_->errors; }

void Front::Drain() { impl_->client_parts.shutting_down = true; }

void Front::Shutdown(Duration grace) {
  if (impl_->server == nullptr) return;
  const Clock& clock = impl_->client_parts.clock;
  Waker answered;
  {
    // A call that waits for another node is answered once that node does, or its call is cancelled.
    const storage::WorkerThread cancel("front-stop", [&] {
      answered.WaitUntil(clock.Now() + grace, clock);
      impl_->forwarded.CancelAndWait();
    });
    impl_->server->Shutdown(grace);
    answered.Wake();
  }
  impl_->server.reset();
}

}  // namespace quorum::server
