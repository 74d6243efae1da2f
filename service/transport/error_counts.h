// ErrorCounts: how many calls this server has answered with an error, by reason: the ErrorInfo's
// where there is one, else the name of the gRPC code. It sits between the services and gRPC, so
// that no service can forget to count. Entries of batched calls that are refused inside of an
// answer are not seen here; the shards count theirs.
//
//   ErrorCounts counts;                            // Outlives the server.
//   builder.experimental().SetInterceptorCreators(counts.Interceptors());
//
// Thread: any.

#pragma once

#include <grpcpp/support/server_interceptor.h>
#include <grpcpp/support/status.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quorum/v1/error.pb.h"

namespace quorum::transport {

class ErrorCounts {
 public:
  // Counts an answer; OK is none of our business.
  void Note(const grpc::Status& status);

  // (reason, count) of all reasons that there are.
  std::vector<std::pair<std::string, uint64_t>> Counts() const;

  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
  Interceptors();

 private:
  // gRPC codes go from 0 to 16.
  static constexpr int kCodes = 17;

  std::array<std::atomic<uint64_t>, v1::ErrorReason_ARRAYSIZE> by_reason_{};
  std::array<std::atomic<uint64_t>, kCodes> by_code_{};
};

}  // namespace quorum::transport
