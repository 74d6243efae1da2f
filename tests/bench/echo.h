// The RPC floor: a server that echoes, and callers that it answers.
//
// Thread: the server's handlers run on gRPC's threads.

#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "echo/echo.grpc.pb.h"
#include "tests/bench/caller.h"
#include "tests/bench/channels.h"
#include "tests/bench/workload.h"

namespace quorum::bench {

class EchoServer {
 public:
  // Serves at `address`, HOST:PORT; port 0 picks one. The process ends when the port is taken.
  explicit EchoServer(const std::string& address);
  ~EchoServer();

  int port() const { return port_; }
  // Until another thread or a signal ends the process.
  void Wait() { server_->Wait(); }

 private:
  class Service : public echo::Echo::CallbackService {
   public:
    grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context,
                                   const echo::EchoMessage* request,
                                   echo::EchoMessage* response) override;
  };

  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// A record is a payload of the shape's value size; a batch is sent as one payload.
std::unique_ptr<Caller> MakeEchoCaller(const std::shared_ptr<grpc::Channel>& channel, Shape shape);

}  // namespace quorum::bench
