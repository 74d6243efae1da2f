// Server reflection over the generated descriptors, v1 and v1alpha from the same code. Debian's
// library serves v1alpha only, and leaves json_name out, which some callers print names by.
//
// Thread: any; a descriptor pool is safe to read.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace quorum::transport {

// `services` are the full names that list_services tells.
class ReflectionV1 : public grpc::reflection::v1::ServerReflection::CallbackService {
 public:
  explicit ReflectionV1(std::vector<std::string> services) : services_(std::move(services)) {}

  grpc::ServerBidiReactor<grpc::reflection::v1::ServerReflectionRequest,
                          grpc::reflection::v1::ServerReflectionResponse>*
  ServerReflectionInfo(grpc::CallbackServerContext* context) override;

 private:
  const std::vector<std::string> services_;
};

class ReflectionV1Alpha : public grpc::reflection::v1alpha::ServerReflection::CallbackService {
 public:
  explicit ReflectionV1Alpha(std::vector<std::string> services) : services_(std::move(services)) {}

  grpc::ServerBidiReactor<grpc::reflection::v1alpha::ServerReflectionRequest,
                          grpc::reflection::v1alpha::ServerReflectionResponse>*
  ServerReflectionInfo(grpc::CallbackServerContext* context) override;

 private:
  const std::vector<std::string> services_;
};

}  // namespace quorum::transport
