#include "client/retry_policy.h"

#include <algorithm>

namespace quorum::client {
namespace {

// Less than this is not worth another attempt at a read.
constexpr Duration kReadTimeMin = std::chrono::milliseconds(5);

bool IsTransient(CallKind kind, v1::ErrorReason reason) {
  switch (reason) {
    case v1::ERROR_REASON_NOT_LEADER:
    case v1::ERROR_REASON_LEADER_NOT_AVAILABLE:
    case v1::ERROR_REASON_THROTTLED:
    case v1::ERROR_REASON_SHUTTING_DOWN:
      return true;
    case v1::ERROR_REASON_REQUEST_TIMED_OUT:
      // The time of one attempt was over before the append got to the log. A change may have been
      // made.
      return kind == CallKind::kIdempotent;
    case v1::ERROR_REASON_STORAGE_FAILED:
      // This node cannot read the partition; another one can.
      return kind == CallKind::kRead;
    default:
      // Protobuf enums are open: what a newer server says is for the caller to judge.
      return false;
  }
}

bool IsLostConnection(google::rpc::Code code) {
  return code == google::rpc::UNAVAILABLE || code == google::rpc::DEADLINE_EXCEEDED ||
         code == google::rpc::CANCELLED;
}

// Our server does not know what became of the append.
bool IsUnknownOutcome(v1::ErrorReason reason) {
  return reason == v1::ERROR_REASON_COMMIT_UNKNOWN || reason == v1::ERROR_REASON_INTERNAL;
}

bool PointsAtLeader(const Error& error) {
  if (error.reason != v1::ERROR_REASON_NOT_LEADER) return false;
  const LeaderHint hint = error.leader();
  return hint.node.has_value() || !hint.address.empty();
}

}  // namespace

bool RetryPolicy::MayRepeat(CallKind kind, const Error& error) {
  switch (error.origin) {
    case Error::Origin::kNotSent:
      return true;
    case Error::Origin::kTransport:
      return (kind == CallKind::kRead || kind == CallKind::kIdempotent) &&
             IsLostConnection(error.code);
    case Error::Origin::kServer:
      if (kind == CallKind::kIdempotent && IsUnknownOutcome(error.reason)) return true;
      return IsTransient(kind, error.reason);
  }
  return false;
}

std::optional<Duration> RetryPolicy::AfterFailure(const Error& error, Duration left) {
  const Duration time_min = kind_ == CallKind::kRead ? kReadTimeMin : settings_.write_time_min;
  if (!MayRepeat(kind_, error) || left <= time_min) return std::nullopt;
  if (PointsAtLeader(error) && hint_hops_ < settings_.hint_hops_max) {
    ++hint_hops_;
    return Duration(0);
  }
  hint_hops_ = 0;
  // Half of what is left at most, so that the last attempt is not given up for its wait.
  const Duration backoff = std::min(Backoff(), left / 2);
  if (!error.retry_delay.has_value()) return backoff;
  if (*error.retry_delay >= left) return std::nullopt;
  return std::max(backoff, *error.retry_delay);
}

void RetryPolicy::Reset() {
  failures_ = 0;
  hint_hops_ = 0;
}

Duration RetryPolicy::Backoff() {
  Duration step = settings_.backoff_first;
  for (int i = 0; i < failures_ && step < settings_.backoff_max; ++i) step *= 2;
  step = std::min(step, settings_.backoff_max);
  ++failures_;
  return prng_.Between(step / 2, step);
}

}  // namespace quorum::client
