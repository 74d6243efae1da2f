// What every call of a client says beside its subject: how long to wait, whether to forward.
//
// Thread: any.

#pragma once

#include <grpcpp/server_context.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
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

// The topics of a call about many partitions: at least one, and not more entries than the limit. A
// topic without partitions may mean all of them.
template <typename Request>
std::optional<CallError> CheckTopics(const ClientParts& parts, const Request& request) {
  if (request.topics().empty()) return InvalidField("topics", "at least one is required");
  size_t entries = 0;
  for (const auto& topic : request.topics()) {
    entries += 1 + static_cast<size_t>(topic.partitions_size());
    if (topic.partitions_size() > 0) continue;
    const auto view = parts.catalog.FindTopic(topic.topic());
    if (view != nullptr) entries += view->partitions.size();
    if (entries > parts.limits.entries_max) break;
  }
  if (entries <= parts.limits.entries_max) return std::nullopt;
  return InvalidField("topics", absl::StrCat("at most ", parts.limits.entries_max, " entries"));
}

// A call that was forwarded, or whose client forbids it, stays here.
template <typename Request>
bool MayForward(const Request& request) {
  return !request.no_forward() && !request.has_forwarded_by();
}

}  // namespace quorum::transport
