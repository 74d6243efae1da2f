// Monotonic time as a value. Nothing here reads a clock: the shard is given a Clock, reads it once
// a round and passes the instant down. Wall time appears only in record timestamps and log lines.
//
// Thread: plain values; a Clock says for itself.

#pragma once

#include <chrono>
#include <cstdint>

namespace quorum {

using Duration = std::chrono::nanoseconds;

// Tags MonoTime. It has no now(): an instant comes from a Clock only.
struct MonoTimeline {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<MonoTimeline, Duration>;
};

// An instant on the process's monotonic clock. Instants of two processes cannot be compared.
using MonoTime = MonoTimeline::time_point;

// Later than every deadline.
inline constexpr MonoTime kNever = MonoTime::max();

// Rounds an instant up to the next multiple of `grid`; a zero grid changes nothing, and what would
// lie past the end of time is kNever. Deadlines on one grid fall due together, so that partitions
// share rounds, syncs and requests.
inline constexpr MonoTime RoundUp(MonoTime instant, Duration grid) {
  if (grid.count() <= 0 || instant == kNever) return instant;
  const auto since_start = instant.time_since_epoch().count();
  const auto rest = since_start % grid.count();
  if (rest == 0) return instant;
  // The rest of a negative instant is negative: the multiple above is the one towards zero.
  const Duration step(rest < 0 ? -rest : grid.count() - rest);
  return instant > kNever - step ? kNever : instant + step;
}

// The one way to learn the time. The production reader is in service/server, the simulated one in
// tests/sim. Both methods may be called from any thread and never block.
class Clock {
 public:
  virtual ~Clock() = default;

  // Never goes back within a process.
  virtual MonoTime Now() const = 0;

  // Milliseconds since the Unix epoch. May jump; used for record timestamps only.
  virtual int64_t WallTimeMs() const = 0;
};

}  // namespace quorum
