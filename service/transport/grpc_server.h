// GrpcServer: one listener with its services. The port is never shared with another process, every
// size is bounded, and pings of other nodes are welcome. With the first one, the process keeps
// gRPC's callback threads to its end (callback_threads.h).
//
// Thread: Start and Shutdown from one thread; the services run on gRPC's.

#pragma once

#include <grpcpp/server.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/base/time.h"
#include "service/transport/error_counts.h"
#include "service/transport/wire_limits.h"

namespace quorum::transport {

struct GrpcServerOptions {
  // `host:port`; port 0 takes a free one.
  std::string address;
  // The largest message taken in, in bytes.
  int receive_bytes_max = kClientMessageBytesMax;
  // Calls at the same time on one connection.
  int streams_max = 10'000;
  // What all connections together may hold in buffers, in bytes.
  size_t memory_max = size_t{1} << 30;
  // Counts the calls that are answered with an error; null for none. Outlives the server.
  ErrorCounts* errors = nullptr;
};

class GrpcServer {
 public:
  // Begins to serve. UNAVAILABLE, with a sentence for people, when the port cannot be had. The
  // services must outlive the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const GrpcServerOptions& options, const std::vector<grpc::Service*>& services);

  // As Shutdown with no grace.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  int port() const { return port_; }

  // Takes no new calls, and cancels those that run longer than `grace`. Returns when the last one
  // has been answered, so whoever answers them must still run.
  void Shutdown(Duration grace);

 private:
  GrpcServer(std::unique_ptr<grpc::Server> server, int port);

  std::unique_ptr<grpc::Server> server_;
  int port_;
};

}  // namespace quorum::transport
