#include "client/error.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"

namespace quorum::client {
namespace {

google::rpc::Code CodeOf(int code) {
  return google::rpc::Code_IsValid(code) ? static_cast<google::rpc::Code>(code)
                                         : google::rpc::UNKNOWN;
}

// A wait that a hostile or broken server names must not overflow, nor be negative.
Duration BoundedDelay(const google::protobuf::Duration& delay) {
  constexpr int64_t kSecondsMax = 3600;
  if (delay.seconds() < 0 || delay.nanos() < 0) return Duration(0);
  if (delay.seconds() >= kSecondsMax) return std::chrono::seconds(kSecondsMax);
  return std::chrono::seconds(delay.seconds()) + Duration(delay.nanos());
}

void TakeErrorInfo(const google::rpc::ErrorInfo& info, Error* error) {
  if (info.domain() != kErrorDomain) return;
  error->origin = Error::Origin::kServer;
  error->reason_name = info.reason();
  if (!v1::ErrorReason_Parse(absl::StrCat("ERROR_REASON_", info.reason()), &error->reason)) {
    error->reason = v1::ERROR_REASON_UNSPECIFIED;
  }
  error->metadata.insert(info.metadata().begin(), info.metadata().end());
}

void TakeDetail(const google::protobuf::Any& detail, Error* error) {
  google::rpc::ErrorInfo info;
  google::rpc::RetryInfo retry;
  google::rpc::BadRequest bad;
  if (detail.Is<google::rpc::ErrorInfo>() && detail.UnpackTo(&info)) {
    TakeErrorInfo(info, error);
  } else if (detail.Is<google::rpc::RetryInfo>() && detail.UnpackTo(&retry)) {
    error->retry_delay = BoundedDelay(retry.retry_delay());
  } else if (detail.Is<google::rpc::BadRequest>() && detail.UnpackTo(&bad)) {
    for (const auto& violation : bad.field_violations()) {
      error->violations.push_back(absl::StrCat(violation.field(), ": ", violation.description()));
    }
  }
}

template <typename Number>
std::optional<Number> NumberIn(const std::map<std::string, std::string>& metadata,
                               const std::string& key) {
  const auto found = metadata.find(key);
  Number number = 0;
  if (found == metadata.end() || !absl::SimpleAtoi(found->second, &number)) return std::nullopt;
  return number;
}

}  // namespace

LeaderHint Error::leader() const {
  LeaderHint hint;
  if (const auto node = NumberIn<int32_t>(metadata, "leader_id"); node.has_value() && *node > 0) {
    hint.node = NodeId(*node);
  }
  if (const auto epoch = NumberIn<int64_t>(metadata, "leader_epoch"); epoch.has_value()) {
    hint.epoch = Epoch(*epoch);
  }
  const auto address = metadata.find("leader_endpoint");
  if (address != metadata.end()) hint.address = address->second;
  return hint;
}

std::string Error::ReasonName() const {
  return reason_name.empty() ? google::rpc::Code_Name(code) : reason_name;
}

std::string Error::ToString() const {
  std::string text = absl::StrCat(ReasonName(), ": ", message);
  for (const std::string& violation : violations) absl::StrAppend(&text, "; ", violation);
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

bool ProvesRefusal(const Error& error) {
  switch (error.origin) {
    case Error::Origin::kNotSent:
      return true;
    case Error::Origin::kTransport:
      return false;
    case Error::Origin::kServer: {
      const auto outcome = error.metadata.find("outcome");
      return outcome != error.metadata.end() && outcome->second == "refused";
    }
  }
  return false;
}

bool MayHaveHappened(const Error& error) {
  switch (error.origin) {
    case Error::Origin::kNotSent:
      return false;
    case Error::Origin::kTransport:
      return true;
    case Error::Origin::kServer:
      return error.reason == v1::ERROR_REASON_REQUEST_TIMED_OUT ||
             error.reason == v1::ERROR_REASON_INTERNAL;
  }
  return true;
}

Error ErrorFromStatus(int code, const std::string& message, absl::string_view details) {
  google::rpc::Status status;
  if (!status.ParseFromArray(details.data(), static_cast<int>(details.size()))) status.Clear();
  status.set_code(code);
  status.set_message(message);
  return ErrorFromStatus(status);
}

Error ErrorFromStatus(const google::rpc::Status& status) {
  Error error;
  error.code = CodeOf(status.code());
  error.message = status.message();
  for (const google::protobuf::Any& detail : status.details()) TakeDetail(detail, &error);
  return error;
}

Error NotSentError(const std::string& message) {
  Error error;
  error.origin = Error::Origin::kNotSent;
  error.code = google::rpc::UNAVAILABLE;
  error.message = message;
  return error;
}

}  // namespace quorum::client
