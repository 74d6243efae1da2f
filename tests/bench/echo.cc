#include "tests/bench/echo.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <utility>

#include "service/base/check.h"
#include "tests/bench/unary_caller.h"

namespace quorum::bench {
namespace {

class EchoCaller : public UnaryCaller<echo::Echo::Stub, echo::EchoMessage, echo::EchoMessage> {
 public:
  EchoCaller(const std::shared_ptr<grpc::Channel>& channel, Shape shape)
      : UnaryCaller(echo::Echo::NewStub(channel), kCallTimeMax),
        records_(shape.records),
        payload_(ValueOf(shape.value_bytes * shape.records)) {}

  uint64_t records() const override { return records_; }

 private:
  void Fill(echo::EchoMessage* request) override {
    if (request->payload().empty()) request->set_payload(payload_);
  }
  void Start(Async* async, grpc::ClientContext* context, const echo::EchoMessage* request,
             echo::EchoMessage* response, std::function<void(grpc::Status)> done) override {
    async->Call(context, request, response, std::move(done));
  }
  grpc::Status Judge(const echo::EchoMessage& response) override {
    CHECK_EQ(response.payload().size(), payload_.size());
    return grpc::Status::OK;
  }

  const uint64_t records_;
  const std::string payload_;
};

}  // namespace

grpc::ServerUnaryReactor* EchoServer::Service::Call(grpc::CallbackServerContext* context,
                                                    const echo::EchoMessage* request,
                                                    echo::EchoMessage* response) {
  response->set_payload(request->payload());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

EchoServer::EchoServer(const std::string& address) {
  grpc::ServerBuilder builder;
  // A port that another process holds is an error.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  CHECK(server_ != nullptr && port_ != 0) << "cannot listen at " << address;
}

EchoServer::~EchoServer() { server_->Shutdown(); }

std::unique_ptr<Caller> MakeEchoCaller(const std::shared_ptr<grpc::Channel>& channel, Shape shape) {
  return std::make_unique<EchoCaller>(channel, shape);
}

}  // namespace quorum::bench
