#include "service/transport/call_error.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace quorum::transport {
namespace {

grpc::StatusCode CodeOf(v1::ErrorReason reason) {
  switch (reason) {
    case v1::ERROR_REASON_INVALID_REQUEST:
    case v1::ERROR_REASON_RECORD_TOO_LARGE:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case v1::ERROR_REASON_INCONSISTENT_CLUSTER_ID:
    case v1::ERROR_REASON_FENCED_LEADER_EPOCH:
    case v1::ERROR_REASON_PRODUCER_FENCED:
    case v1::ERROR_REASON_OUT_OF_ORDER_SEQUENCE:
    case v1::ERROR_REASON_UNKNOWN_PRODUCER:
    case v1::ERROR_REASON_NOT_ENOUGH_NODES:
    case v1::ERROR_REASON_FENCED_INCARNATION:
    case v1::ERROR_REASON_INTERNAL_TOPIC:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION:
    case v1::ERROR_REASON_VOTER_NOT_FOUND:
      return grpc::StatusCode::NOT_FOUND;
    case v1::ERROR_REASON_NOT_LEADER:
    case v1::ERROR_REASON_LEADER_NOT_AVAILABLE:
    case v1::ERROR_REASON_STORAGE_FAILED:
    case v1::ERROR_REASON_SHUTTING_DOWN:
      return grpc::StatusCode::UNAVAILABLE;
    case v1::ERROR_REASON_OFFSET_OUT_OF_RANGE:
      return grpc::StatusCode::OUT_OF_RANGE;
    case v1::ERROR_REASON_THROTTLED:
    case v1::ERROR_REASON_STORAGE_FULL:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case v1::ERROR_REASON_COMMIT_UNKNOWN:
    case v1::ERROR_REASON_REQUEST_TIMED_OUT:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case v1::ERROR_REASON_OFFSET_MISMATCH:
      return grpc::StatusCode::ABORTED;
    case v1::ERROR_REASON_TOPIC_ALREADY_EXISTS:
    case v1::ERROR_REASON_DUPLICATE_VOTER:
      return grpc::StatusCode::ALREADY_EXISTS;
    case v1::ERROR_REASON_NOT_IMPLEMENTED:
      return grpc::StatusCode::UNIMPLEMENTED;
    case v1::ERROR_REASON_UNSPECIFIED:
    case v1::ERROR_REASON_INTERNAL:
    case v1::ErrorReason_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::ErrorReason_INT_MAX_SENTINEL_DO_NOT_USE_:
      return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

// Errors travel in HTTP/2 trailers, which are small, and quote what clients sent, which is not.
constexpr size_t kTextBytesMax = 512;

// At most kTextBytesMax bytes of the text, cut between two characters.
std::string Shorten(std::string text) {
  if (text.size() <= kTextBytesMax) return text;
  size_t size = kTextBytesMax;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  text.resize(size);
  return text;
}

}  // namespace

CallError::CallError(v1::ErrorReason reason, std::string message)
    : reason_(reason), code_(CodeOf(reason)), message_(Shorten(std::move(message))) {}

CallError& CallError::WithCode(grpc::StatusCode code) {
  code_ = code;
  return *this;
}

CallError& CallError::With(const std::string& key, const std::string& value) {
  metadata_[key] = Shorten(value);
  return *this;
}

CallError& CallError::With(const std::string& key, int64_t value) {
  return With(key, absl::StrCat(value));
}

CallError& CallError::WithField(const std::string& field, const std::string& why) {
  fields_[field] = Shorten(why);
  return *this;
}

CallError& CallError::WithRetryAfter(Duration wait) {
  retry_after_ = wait;
  return *this;
}

bool CallError::is_refused() const {
  const auto found = metadata_.find(kOutcomeKey);
  return found != metadata_.end() && found->second == kOutcomeRefused;
}

google::rpc::Status CallError::ToRpc() const {
  google::rpc::Status status;
  status.set_code(static_cast<int>(code_));
  status.set_message(message_);
  google::rpc::ErrorInfo info;
  info.set_domain(kErrorDomain);
  info.set_reason(ReasonName(reason_));
  for (const auto& [key, value] : metadata_) (*info.mutable_metadata())[key] = value;
  status.add_details()->PackFrom(info);
  if (!fields_.empty()) {
    google::rpc::BadRequest bad;
    for (const auto& [field, why] : fields_) {
      google::rpc::BadRequest::FieldViolation* violation = bad.add_field_violations();
      violation->set_field(field);
      violation->set_description(why);
    }
    status.add_details()->PackFrom(bad);
  }
  if (retry_after_.has_value()) {
    google::rpc::RetryInfo retry;
    const int64_t nanos = retry_after_->count();
    retry.mutable_retry_delay()->set_seconds(nanos / 1'000'000'000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
    status.add_details()->PackFrom(retry);
  }
  return status;
}

grpc::Status CallError::ToGrpc() const {
  return grpc::Status(code_, message_, ToRpc().SerializeAsString());
}

CallError InvalidField(const std::string& field, const std::string& why) {
  return std::move(CallError(v1::ERROR_REASON_INVALID_REQUEST, absl::StrCat(field, ": ", why))
                       .WithField(field, why));
}

std::string ReasonName(v1::ErrorReason reason) {
  return std::string(absl::StripPrefix(v1::ErrorReason_Name(reason), "ERROR_REASON_"));
}

google::rpc::Status RpcStatusOf(const grpc::Status& status) {
  google::rpc::Status rpc;
  if (!status.error_details().empty() && rpc.ParseFromString(status.error_details()) &&
      rpc.code() == static_cast<int>(status.error_code())) {
    return rpc;
  }
  rpc.Clear();
  rpc.set_code(static_cast<int>(status.error_code()));
  rpc.set_message(status.error_message());
  return rpc;
}

std::optional<google::rpc::ErrorInfo> ErrorInfoOf(const google::rpc::Status& status) {
  for (const google::protobuf::Any& detail : status.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info) && info.domain() == kErrorDomain) return info;
  }
  return std::nullopt;
}

bool HasReason(const google::rpc::Status& status, v1::ErrorReason reason) {
  const std::optional<google::rpc::ErrorInfo> info = ErrorInfoOf(status);
  return info.has_value() && info->reason() == ReasonName(reason);
}

bool IsRefused(const google::rpc::Status& status) {
  const std::optional<google::rpc::ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) return false;
  const auto outcome = info->metadata().find(kOutcomeKey);
  return outcome != info->metadata().end() && outcome->second == kOutcomeRefused;
}

std::optional<int64_t> MetadataNumber(const google::rpc::Status& status, absl::string_view key) {
  const std::optional<google::rpc::ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) return std::nullopt;
  const auto found = info->metadata().find(std::string(key));
  int64_t number = 0;
  if (found == info->metadata().end() || !absl::SimpleAtoi(found->second, &number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace quorum::transport
