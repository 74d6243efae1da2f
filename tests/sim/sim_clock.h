// SimClock: the clock of one simulated node. It runs at a rate of its own, which a fault may
// change, and its wall time may jump; the monotonic time never goes back.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>

#include "service/base/time.h"
#include "tests/sim/event_queue.h"

namespace quorum::sim {

class SimClock : public Clock {
 public:
  explicit SimClock(const EventQueue* queue) : queue_(*queue) {}

  MonoTime Now() const override { return MonoTime(Local()); }
  int64_t WallTimeMs() const override { return wall_start_ms_ + Local().count() / 1'000'000; }

  // The first world time at which this clock shows `local` or more, if its rate stays as it is.
  WorldTime WorldTimeOf(MonoTime local) const {
    const int64_t ahead = (local.time_since_epoch() - base_local_).count();
    if (ahead <= 0) return base_world_;
    const auto million = static_cast<uint64_t>(kMillion);
    const auto rate = static_cast<uint64_t>(rate_ppm_);
    const uint64_t world = (static_cast<uint64_t>(ahead) * million + rate - 1) / rate;
    return base_world_ + Duration(static_cast<int64_t>(world));
  }

  // 1'000'000 is the speed of the world.
  void SetRate(int64_t rate_ppm) {
    base_local_ = Local();
    base_world_ = queue_.now();
    rate_ppm_ = rate_ppm;
  }
  void JumpWallTime(int64_t milliseconds) { wall_start_ms_ += milliseconds; }

 private:
  static constexpr int64_t kMillion = 1'000'000;

  Duration Local() const {
    const int64_t passed = (queue_.now() - base_world_).count();
    return base_local_ +
           Duration(passed / kMillion * rate_ppm_ + passed % kMillion * rate_ppm_ / kMillion);
  }

  const EventQueue& queue_;
  // A process never starts at zero.
  Duration base_local_ = std::chrono::seconds(1000);
  WorldTime base_world_ = WorldTime::zero();
  int64_t rate_ppm_ = kMillion;
  int64_t wall_start_ms_ = 1'700'000'000'000;
};

}  // namespace quorum::sim
