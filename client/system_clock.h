// The client library's reading of the machine's clocks.
//
// Thread: any.

#pragma once

#include <cstdint>

#include "service/base/time.h"

namespace quorum::client {

class SystemClock : public Clock {
 public:
  MonoTime Now() const override;
  int64_t WallTimeMs() const override;
};

}  // namespace quorum::client
