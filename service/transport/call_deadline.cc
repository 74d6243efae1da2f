#include "service/transport/call_deadline.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace quorum::transport {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
// The range of google.protobuf.Duration, ten thousand years, is more than a Duration holds; what is
// longer than 136 years counts as that.
constexpr int64_t kMessageSecondsMax = 315'576'000'000;
constexpr int64_t kSecondsMax = int64_t{1} << 32;

}  // namespace

std::optional<Duration> DecodeDuration(const google::protobuf::Duration& message) {
  if (message.seconds() < 0 || message.seconds() > kMessageSecondsMax) return std::nullopt;
  if (message.nanos() < 0 || message.nanos() >= kNanosPerSecond) return std::nullopt;
  return Duration(std::min(message.seconds(), kSecondsMax) * kNanosPerSecond + message.nanos());
}

void EncodeDuration(Duration duration, google::protobuf::Duration* message) {
  message->set_seconds(duration.count() / kNanosPerSecond);
  message->set_nanos(static_cast<int32_t>(duration.count() % kNanosPerSecond));
}

Duration TimeLeft(const grpc::CallbackServerContext& context) {
  const gpr_timespec deadline = context.raw_deadline();
  const gpr_timespec infinity = gpr_inf_future(deadline.clock_type);
  if (gpr_time_cmp(deadline, infinity) == 0) return Duration::max();
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  if (left.tv_sec >= kSecondsMax) return Duration::max();
  const Duration whole(left.tv_sec * kNanosPerSecond + left.tv_nsec);
  const Duration kept = std::min<Duration>(whole / 20, std::chrono::milliseconds(100));
  return std::max(whole - kept, Duration::zero());
}

}  // namespace quorum::transport
