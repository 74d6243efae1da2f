// Health and reflection as callers use them: every service is found by its name and complete.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "quorum/v1/log.pb.h"
#include "service/transport/grpc_server.h"
#include "service/transport/health_service.h"
#include "service/transport/reflection_service.h"

namespace quorum::transport {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class HealthReflectionTest : public testing::Test {
 protected:
  void SetUp() override {
    // Links the schema that the tests ask about.
    ASSERT_NE(v1::AppendRequest::descriptor(), nullptr);
    auto server = GrpcServer::Start({"127.0.0.1:0"}, {&health_, &v1_, &v1alpha_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                   grpc::InsecureChannelCredentials());
  }

  // Asks one question; the descriptors of the answer, by file name.
  template <typename Stub, typename Request, typename Response>
  Response Ask(const Request& request) {
    const auto stub = Stub::NewStub(channel_);
    grpc::ClientContext context;
    const auto stream = stub->ServerReflectionInfo(&context);
    Response response;
    EXPECT_TRUE(stream->Write(request));
    EXPECT_TRUE(stream->Read(&response));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return response;
  }

  // What a caller does: load the files of a symbol into a pool of its own, imports included.
  template <typename Stub, typename Request, typename Response>
  void ExpectComplete(const std::string& symbol) {
    Request request;
    request.set_file_containing_symbol(symbol);
    const Response response = Ask<Stub, Request, Response>(request);
    google::protobuf::DescriptorPool pool;
    const auto& files = response.file_descriptor_response().file_descriptor_proto();
    ASSERT_GT(files.size(), 0) << symbol;
    std::vector<google::protobuf::FileDescriptorProto> protos(static_cast<size_t>(files.size()));
    for (int i = files.size() - 1; i >= 0; --i) {
      ASSERT_TRUE(protos[static_cast<size_t>(i)].ParseFromString(files[i]));
      ASSERT_NE(pool.BuildFile(protos[static_cast<size_t>(i)]), nullptr);
    }
    EXPECT_NE(pool.FindFileContainingSymbol(symbol), nullptr);
    // The file that was asked for comes first.
    EXPECT_EQ(pool.FindFileContainingSymbol(symbol)->name(), protos[0].name());
  }

  const std::vector<std::string> names_ = {"quorum.v1.LogService", "grpc.health.v1.Health"};
  HealthService health_{{"startup"}};
  ReflectionV1 v1_{names_};
  ReflectionV1Alpha v1alpha_{names_};
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(HealthReflectionTest, ANameHasTheStatusItWasGiven) {
  health_.Set("", true);
  health_.Set("quorum.v1.LogService", false);
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  const auto check = [&](const std::string& name, HealthCheckResponse* response) {
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(name);
    return stub->Check(&context, request, response).error_code();
  };
  HealthCheckResponse response;
  EXPECT_EQ(check("startup", &response), grpc::StatusCode::OK) << "known before it is set";
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(check("", &response), grpc::StatusCode::OK);
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(check("quorum.v1.LogService", &response), grpc::StatusCode::OK);
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(check("nothing", &response), grpc::StatusCode::NOT_FOUND);
  health_.SetAll(false);
  EXPECT_EQ(check("", &response), grpc::StatusCode::OK);
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthReflectionTest, AWatcherIsToldOfEachChange) {
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service("readiness");
  const auto reader = stub->Watch(&context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  health_.Set("readiness", true);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  health_.SetAll(false);
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  context.TryCancel();
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(HealthReflectionTest, AWatcherDoesNotHoldUpTheEnd) {
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  grpc::ClientContext context;
  const auto reader = stub->Watch(&context, {});
  HealthCheckResponse response;
  ASSERT_TRUE(reader->Read(&response));
  server_->Shutdown(Duration::zero());
  EXPECT_FALSE(reader->Read(&response));
}

TEST_F(HealthReflectionTest, BothVersionsOfReflectionAreComplete) {
  namespace one = grpc::reflection::v1;
  namespace alpha = grpc::reflection::v1alpha;
  for (const char* symbol :
       {"quorum.v1.LogService", "quorum.v1.LogService.Append", "grpc.health.v1.Health"}) {
    ExpectComplete<one::ServerReflection, one::ServerReflectionRequest,
                   one::ServerReflectionResponse>(symbol);
    ExpectComplete<alpha::ServerReflection, alpha::ServerReflectionRequest,
                   alpha::ServerReflectionResponse>(symbol);
  }
}

TEST_F(HealthReflectionTest, JsonNamesAreTold) {
  namespace one = grpc::reflection::v1;
  one::ServerReflectionRequest request;
  request.set_file_by_filename("quorum/v1/log.proto");
  const auto response =
      Ask<one::ServerReflection, one::ServerReflectionRequest, one::ServerReflectionResponse>(
          request);
  google::protobuf::FileDescriptorProto file;
  ASSERT_TRUE(file.ParseFromString(response.file_descriptor_response().file_descriptor_proto(0)));
  EXPECT_EQ(file.name(), "quorum/v1/log.proto");
  bool found = false;
  for (const auto& message : file.message_type()) {
    for (const auto& field : message.field()) {
      if (field.name() == "leader_id") found = found || field.json_name() == "leaderId";
    }
  }
  EXPECT_TRUE(found);
}

TEST_F(HealthReflectionTest, ServicesAreListedAndWhatIsNotThereIsAnError) {
  namespace alpha = grpc::reflection::v1alpha;
  const auto ask = [this](const alpha::ServerReflectionRequest& request) {
    return Ask<alpha::ServerReflection, alpha::ServerReflectionRequest,
               alpha::ServerReflectionResponse>(request);
  };
  alpha::ServerReflectionRequest request;
  request.set_list_services("");
  alpha::ServerReflectionResponse response = ask(request);
  ASSERT_EQ(response.list_services_response().service_size(), 2);
  EXPECT_EQ(response.list_services_response().service(0).name(), "quorum.v1.LogService");
  request.set_file_containing_symbol("quorum.v1.Nothing");
  response = ask(request);
  EXPECT_EQ(response.error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(response.original_request().file_containing_symbol(), "quorum.v1.Nothing");
  request.mutable_file_containing_extension()->set_containing_type("quorum.v1.AppendRequest");
  EXPECT_EQ(ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ask({}).error_response().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace quorum::transport
