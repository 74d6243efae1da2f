#include "service/transport/reflection_service.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>

#include "absl/strings/str_cat.h"

namespace quorum::transport {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

const DescriptorPool& Pool() { return *DescriptorPool::generated_pool(); }

// The file and everything that it imports, each once, imports first.
void Collect(const FileDescriptor* file, std::set<const FileDescriptor*>* seen,
             std::vector<const FileDescriptor*>* files) {
  if (!seen->insert(file).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) Collect(file->dependency(i), seen, files);
  files->push_back(file);
}

std::string Serialize(const FileDescriptor* file) {
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  file->CopyJsonNameTo(&proto);
  return proto.SerializeAsString();
}

template <typename Response>
void FillError(const std::string& message, Response* response) {
  response->mutable_error_response()->set_error_code(grpc::StatusCode::NOT_FOUND);
  response->mutable_error_response()->set_error_message(message);
}

// The file that was asked for comes first, as callers expect it.
template <typename Response>
void FillFiles(const FileDescriptor* file, const std::string& asked, Response* response) {
  if (file == nullptr) {
    FillError(absl::StrCat("not found: ", asked.substr(0, 200)), response);
    return;
  }
  std::set<const FileDescriptor*> seen;
  std::vector<const FileDescriptor*> files;
  Collect(file, &seen, &files);
  auto* filled = response->mutable_file_descriptor_response();
  for (auto next = files.rbegin(); next != files.rend(); ++next) {
    filled->add_file_descriptor_proto(Serialize(*next));
  }
}

template <typename Extension>
const FileDescriptor* FindExtension(const Extension& asked) {
  const Descriptor* type = Pool().FindMessageTypeByName(asked.containing_type());
  if (type == nullptr) return nullptr;
  const FieldDescriptor* field = Pool().FindExtensionByNumber(type, asked.extension_number());
  return field == nullptr ? nullptr : field->file();
}

template <typename Response>
void FillExtensionNumbers(const std::string& type_name, Response* response) {
  const Descriptor* type = Pool().FindMessageTypeByName(type_name);
  if (type == nullptr) {
    FillError(absl::StrCat("not found: ", type_name.substr(0, 200)), response);
    return;
  }
  std::vector<const FieldDescriptor*> extensions;
  Pool().FindAllExtensions(type, &extensions);
  auto* filled = response->mutable_all_extension_numbers_response();
  filled->set_base_type_name(type_name);
  for (const FieldDescriptor* extension : extensions) {
    filled->add_extension_number(extension->number());
  }
}

template <typename Request, typename Response>
void Answer(const std::vector<std::string>& services, const Request& request, Response* response) {
  response->Clear();
  response->set_valid_host(request.host());
  *response->mutable_original_request() = request;
  switch (request.message_request_case()) {
    case Request::kFileByFilename:
      FillFiles(Pool().FindFileByName(request.file_by_filename()), request.file_by_filename(),
                response);
      return;
    case Request::kFileContainingSymbol:
      FillFiles(Pool().FindFileContainingSymbol(request.file_containing_symbol()),
                request.file_containing_symbol(), response);
      return;
    case Request::kFileContainingExtension:
      FillFiles(FindExtension(request.file_containing_extension()),
                request.file_containing_extension().containing_type(), response);
      return;
    case Request::kAllExtensionNumbersOfType:
      FillExtensionNumbers(request.all_extension_numbers_of_type(), response);
      return;
    case Request::kListServices:
      for (const std::string& name : services) {
        response->mutable_list_services_response()->add_service()->set_name(name);
      }
      return;
    case Request::MESSAGE_REQUEST_NOT_SET:
      break;
  }
  response->mutable_error_response()->set_error_code(grpc::StatusCode::INVALID_ARGUMENT);
  response->mutable_error_response()->set_error_message("nothing is asked for");
}

// Answers one question after the other, until the caller has no more.
template <typename Request, typename Response>
class Reactor : public grpc::ServerBidiReactor<Request, Response> {
 public:
  explicit Reactor(const std::vector<std::string>& services) : services_(services) {
    this->StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      End(grpc::Status::OK);
      return;
    }
    Answer(services_, request_, &response_);
    this->StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      this->StartRead(&request_);
    } else {
      End(grpc::Status::CANCELLED);
    }
  }
  void OnDone() override { delete this; }

 private:
  // Reads and writes take turns, so one of them ends the call.
  void End(const grpc::Status& status) { this->Finish(status); }

  const std::vector<std::string>& services_;
  Request request_;
  Response response_;
};

}  // namespace

grpc::ServerBidiReactor<grpc::reflection::v1::ServerReflectionRequest,
                        grpc::reflection::v1::ServerReflectionResponse>*
ReflectionV1::ServerReflectionInfo(grpc::CallbackServerContext* /*context*/) {
  return new Reactor<grpc::reflection::v1::ServerReflectionRequest,
                     grpc::reflection::v1::ServerReflectionResponse>(services_);
}

grpc::ServerBidiReactor<grpc::reflection::v1alpha::ServerReflectionRequest,
                        grpc::reflection::v1alpha::ServerReflectionResponse>*
ReflectionV1Alpha::ServerReflectionInfo(grpc::CallbackServerContext* /*context*/) {
  return new Reactor<grpc::reflection::v1alpha::ServerReflectionRequest,
                     grpc::reflection::v1alpha::ServerReflectionResponse>(services_);
}

}  // namespace quorum::transport
