// HealthService: grpc.health.v1.Health of our own, because the one of Debian's gRPC cannot be
// called through reflection. Holds a status per name: "" is the process, then "liveness",
// "startup", "readiness", and the full name of each service.
//
// Thread: any. No lock is held while gRPC is called.

#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "service/base/mutex.h"

namespace quorum::transport {

class HealthService : public grpc::health::v1::Health::CallbackService {
 public:
  // None of `names` serves until it is set: whoever asks as soon as the port is open is told so,
  // and not that there is no such name.
  explicit HealthService(const std::vector<std::string>& names = {});
  ~HealthService() override;

  // Tells everybody who watches the name.
  void Set(const std::string& name, bool serving);
  // All names at once, e.g. when the node begins to drain.
  void SetAll(bool serving);

  // NOT_FOUND for a name that was never set.
  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  // Sends the status now and at each change; SERVICE_UNKNOWN for a name that was never set.
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  using ServingStatus = grpc::health::v1::HealthCheckResponse::ServingStatus;
  class Watcher;

  // SERVICE_UNKNOWN for a name that was never set.
  ServingStatus Find(const std::string& name) const;
  std::set<std::shared_ptr<Watcher>> Watchers() const;
  // False when there are too many.
  bool Add(const std::shared_ptr<Watcher>& watcher);
  void Remove(const std::shared_ptr<Watcher>& watcher);

  mutable Mutex mutex_;
  std::map<std::string, ServingStatus> statuses_ ABSL_GUARDED_BY(mutex_);
  std::set<std::shared_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::transport
