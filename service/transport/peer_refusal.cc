#include "service/transport/peer_refusal.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace quorum::transport {

CallError OtherCluster(const std::string& cluster_id) {
  return CallError(v1::ERROR_REASON_INCONSISTENT_CLUSTER_ID,
                   absl::StrCat("this node belongs to the cluster ", cluster_id))
      .With("cluster_id", cluster_id);
}

CallError Throttled(const std::string& what) {
  return CallError(v1::ERROR_REASON_THROTTLED, what).WithRetryAfter(std::chrono::milliseconds(100));
}

grpc::Status RefusalOf(const absl::Status& status, const Receiver& receiver) {
  if (absl::IsFailedPrecondition(status)) return OtherCluster(receiver.cluster_id).ToGrpc();
  return CallError(v1::ERROR_REASON_INVALID_REQUEST, std::string(status.message())).ToGrpc();
}

grpc::Status RefusalOf(shard::EnvelopeError error, const Receiver& receiver) {
  switch (error) {
    case shard::EnvelopeError::kInconsistentClusterId:
      return OtherCluster(receiver.cluster_id).ToGrpc();
    case shard::EnvelopeError::kInvalidRequest:
      return CallError(v1::ERROR_REASON_INVALID_REQUEST, "the envelope is malformed").ToGrpc();
    case shard::EnvelopeError::kThrottled:
      return Throttled("too many requests wait for this lane").ToGrpc();
  }
  return grpc::Status(grpc::StatusCode::INTERNAL, "");
}

}  // namespace quorum::transport
