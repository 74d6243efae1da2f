// SystemClock: the operating system's clocks. This is the server's only reader of them.
//
// Thread: any.

#pragma once

#include "service/base/time.h"

namespace quorum::server {

class SystemClock : public Clock {
 public:
  MonoTime Now() const override;
  int64_t WallTimeMs() const override;
};

}  // namespace quorum::server
