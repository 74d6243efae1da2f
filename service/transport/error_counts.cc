#include "service/transport/error_counts.h"

#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "google/rpc/code.pb.h"
#include "service/transport/call_error.h"

namespace quorum::transport {
namespace {

class Interceptor : public grpc::experimental::Interceptor {
 public:
  explicit Interceptor(ErrorCounts* counts) : counts_(*counts) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::PRE_SEND_STATUS)) {
      counts_.Note(methods->GetSendStatus());
    }
    methods->Proceed();
  }

 private:
  ErrorCounts& counts_;
};

class Factory : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(ErrorCounts* counts) : counts_(counts) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* /*info*/) override {
    // gRPC deletes it with the call.
    return new Interceptor(counts_);
  }

 private:
  ErrorCounts* const counts_;
};

v1::ErrorReason ReasonOf(const grpc::Status& status) {
  const std::optional<google::rpc::ErrorInfo> info = ErrorInfoOf(RpcStatusOf(status));
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  if (info.has_value()) {
    (void)v1::ErrorReason_Parse(absl::StrCat("ERROR_REASON_", info->reason()), &reason);
  }
  return reason;
}

}  // namespace

void ErrorCounts::Note(const grpc::Status& status) {
  if (status.ok()) return;
  const v1::ErrorReason reason = ReasonOf(status);
  if (reason != v1::ERROR_REASON_UNSPECIFIED) {
    by_reason_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const int code = status.error_code();
  const int known = code > 0 && code < kCodes ? code : static_cast<int>(grpc::StatusCode::UNKNOWN);
  by_code_[static_cast<size_t>(known)].fetch_add(1, std::memory_order_relaxed);
}

std::vector<std::pair<std::string, uint64_t>> ErrorCounts::Counts() const {
  std::vector<std::pair<std::string, uint64_t>> counts;
  for (size_t i = 1; i < by_reason_.size(); ++i) {
    const int reason = static_cast<int>(i);
    if (!v1::ErrorReason_IsValid(reason)) continue;
    counts.emplace_back(ReasonName(static_cast<v1::ErrorReason>(reason)), by_reason_[i].load());
  }
  for (size_t i = 1; i < by_code_.size(); ++i) {
    const auto code = static_cast<google::rpc::Code>(i);
    counts.emplace_back(absl::StrCat("GRPC_", google::rpc::Code_Name(code)), by_code_[i].load());
  }
  return counts;
}

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
ErrorCounts::Interceptors() {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<Factory>(this));
  return factories;
}

}  // namespace quorum::transport
