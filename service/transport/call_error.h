// CallError: what a failed call, or a failed entry of a batched call, tells its client
// (proto/quorum/v1/error.proto). One value is turned into a gRPC status with google.rpc details, or
// into the google.rpc.Status of an entry; both say the same.
//
//   return CallError(v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION, "there is no topic orders")
//       .With("topic", "orders").Refused().ToGrpc();
//
// Texts are cut at 512 bytes, whoever wrote them.
//
// Thread: plain values.

#pragma once

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "quorum/v1/error.pb.h"
#include "service/base/time.h"

namespace quorum::transport {

// The domain of every ErrorInfo of ours.
inline constexpr char kErrorDomain[] = "quorum.v1";

// The metadata key and the value that promise that an append is not, and will never be, in the log.
inline constexpr char kOutcomeKey[] = "outcome";
inline constexpr char kOutcomeRefused[] = "refused";

class CallError {
 public:
  // The gRPC code is the one that error.proto names for the reason.
  CallError(v1::ErrorReason reason, std::string message);

  // Another code, for the reasons that have two.
  CallError& WithCode(grpc::StatusCode code);
  // Adds a key to ErrorInfo.metadata.
  CallError& With(const std::string& key, const std::string& value);
  CallError& With(const std::string& key, int64_t value);
  // The field that is wrong and why, as BadRequest.
  CallError& WithField(const std::string& field, const std::string& why);
  // When trying again may help, as RetryInfo.
  CallError& WithRetryAfter(Duration wait);
  // For appends only: promises that the attempt is not, and will never be, in the log.
  CallError& Refused() { return With(kOutcomeKey, kOutcomeRefused); }

  v1::ErrorReason reason() const { return reason_; }
  grpc::StatusCode code() const { return code_; }
  bool is_refused() const;

  google::rpc::Status ToRpc() const;
  grpc::Status ToGrpc() const;

 private:
  v1::ErrorReason reason_;
  grpc::StatusCode code_;
  std::string message_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, std::string> fields_;
  std::optional<Duration> retry_after_;
};

// An INVALID_REQUEST about one field.
CallError InvalidField(const std::string& field, const std::string& why);

// The name of a reason as ErrorInfo says it, without its prefix.
std::string ReasonName(v1::ErrorReason reason);

// The details that a peer sent with its status; just code and message when there are none that can
// be read.
google::rpc::Status RpcStatusOf(const grpc::Status& status);

// Our ErrorInfo among the details; empty when there is none of our domain.
std::optional<google::rpc::ErrorInfo> ErrorInfoOf(const google::rpc::Status& status);

// True when the status carries an ErrorInfo of ours with this reason.
bool HasReason(const google::rpc::Status& status, v1::ErrorReason reason);

// True when the status promises that the append is not, and never will be, in the log.
bool IsRefused(const google::rpc::Status& status);

// The value of a metadata key of our ErrorInfo, read as a number; empty when it is none.
std::optional<int64_t> MetadataNumber(const google::rpc::Status& status, absl::string_view key);

}  // namespace quorum::transport
