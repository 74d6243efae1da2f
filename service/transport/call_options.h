// What every call of a client says beside its subject: how long to wait, whether to forward.
//
// Thread: any.

#pragma once

#include <grpcpp/server_context.h>

#include <algorithm>
#include <optional>

#include "service/transport/call_deadline.h"
#include "service/transport/call_error.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

// When the call must have its answer. `timeout` is the request's, absent where it has none.
inline MonoTime DeadlineOf(const ClientParts& parts, const grpc::CallbackServerContext& context,
                           std::optional<Duration> timeout) {
  Duration wait = std::min(parts.limits.wait_max, TimeLeft(context));
  if (timeout.has_value()) wait = std::min(wait, *timeout);
  return parts.clock.Now() + wait;
}

// The timeout field of a request, checked.
template <typename Request>
std::optional<CallError> ReadTimeout(const Request& request, std::optional<Duration>* timeout) {
  if (!request.has_timeout()) return std::nullopt;
  *timeout = DecodeDuration(request.timeout());
  if (timeout->has_value()) return std::nullopt;
  return InvalidField("timeout", "must be a duration of at least 0s");
}

// A call that was forwarded, or whose client forbids it, stays here.
template <typename Request>
bool MayForward(const Request& request) {
  return !request.no_forward() && !request.has_forwarded_by();
}

}  // namespace quorum::transport
