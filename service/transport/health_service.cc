#include "service/transport/health_service.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quorum::transport {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

namespace {

// Streams that watch at the same time.
constexpr size_t kWatchersMax = 1'000;

}  // namespace

// One Watch. Sends the newest status whenever it differs from the last one sent.
class HealthService::Watcher : public grpc::ServerWriteReactor<HealthCheckResponse>,
                               public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(HealthService& service, std::string name) : service_(service), name_(std::move(name)) {}

  void Refresh() {
    {
      MutexLock lock(&mutex_);
      const ServingStatus status = service_.Find(name_);
      if (writing_ || ended_ || told_ == status) return;
      writing_ = true;
      told_ = status;
      message_.set_status(status);
    }
    StartWrite(&message_);
  }

  void End(const grpc::Status& status) {
    {
      MutexLock lock(&mutex_);
      if (ended_) return;
      ended_ = true;
    }
    Finish(status);
  }

  void OnWriteDone(bool ok) override {
    {
      MutexLock lock(&mutex_);
      writing_ = false;
    }
    if (ok) {
      Refresh();
    } else {
      End(grpc::Status::CANCELLED);
    }
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override { service_.Remove(shared_from_this()); }

 private:
  HealthService& service_;
  const std::string name_;
  HealthCheckResponse message_;
  Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<ServingStatus> told_ ABSL_GUARDED_BY(mutex_);
};

HealthService::HealthService(const std::vector<std::string>& names) {
  for (const std::string& name : names) statuses_[name] = HealthCheckResponse::NOT_SERVING;
}
HealthService::~HealthService() = default;

void HealthService::Set(const std::string& name, bool serving) {
  {
    MutexLock lock(&mutex_);
    statuses_[name] = serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
  }
  for (const std::shared_ptr<Watcher>& watcher : Watchers()) watcher->Refresh();
}

void HealthService::SetAll(bool serving) {
  {
    MutexLock lock(&mutex_);
    for (auto& [name, status] : statuses_) {
      status = serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
    }
  }
  for (const std::shared_ptr<Watcher>& watcher : Watchers()) watcher->Refresh();
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const ServingStatus status = Find(request->service());
  if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
    reactor->Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no such service here"));
    return reactor;
  }
  response->set_status(status);
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(
    grpc::CallbackServerContext* /*context*/, const HealthCheckRequest* request) {
  const auto watcher = std::make_shared<Watcher>(*this, request->service());
  const bool taken = Add(watcher);
  if (taken) {
    watcher->Refresh();
  } else {
    watcher->End(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watch already"));
  }
  return watcher.get();
}

HealthService::ServingStatus HealthService::Find(const std::string& name) const {
  MutexLock lock(&mutex_);
  const auto found = statuses_.find(name);
  return found == statuses_.end() ? HealthCheckResponse::SERVICE_UNKNOWN : found->second;
}

std::set<std::shared_ptr<HealthService::Watcher>> HealthService::Watchers() const {
  MutexLock lock(&mutex_);
  return watchers_;
}

// Kept in any case until OnDone, because gRPC has a plain pointer.
bool HealthService::Add(const std::shared_ptr<Watcher>& watcher) {
  MutexLock lock(&mutex_);
  watchers_.insert(watcher);
  return watchers_.size() <= kWatchersMax;
}

void HealthService::Remove(const std::shared_ptr<Watcher>& watcher) {
  MutexLock lock(&mutex_);
  watchers_.erase(watcher);
}

}  // namespace quorum::transport
