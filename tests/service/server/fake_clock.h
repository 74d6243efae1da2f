// A clock that stands still until a test moves it.
//
// Thread: the test's.

#pragma once

#include "service/base/time.h"

namespace quorum::server {

class FakeClock : public Clock {
 public:
  MonoTime Now() const override { return now_; }
  int64_t WallTimeMs() const override { return 1'700'000'000'000; }

  void Advance(Duration duration) { now_ += duration; }

 private:
  // Not the beginning of time, where every deadline would have passed already.
  MonoTime now_ = MonoTime(std::chrono::hours(1));
};

}  // namespace quorum::server
