#include "service/transport/client_parts.h"

#include <grpc/support/time.h>

#include <utility>

namespace quorum::transport {

void RunAfter(Duration wait, std::function<void()> run) {
  auto* alarm = new grpc::Alarm;
  alarm->Set(gpr_time_from_nanos(wait.count(), GPR_TIMESPAN),
             [alarm, run = std::move(run)](bool /*expired*/) {
               run();
               delete alarm;
             });
}

}  // namespace quorum::transport
