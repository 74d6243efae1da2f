#include "service/server/disk_watchdog.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "service/base/check.h"

namespace quorum::server {
namespace {

// Late by this much at most, and by a quarter of a short limit.
constexpr Duration kPeriodMax = std::chrono::milliseconds(100);

int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

DiskWatchdog::DiskWatchdog(const Clock* clock, const storage::SyncWatchdog* syncs,
                           const Limits& limits, Actions actions)
    : clock_(*clock), syncs_(*syncs), limits_(limits), actions_(std::move(actions)) {}

MonoTime DiskWatchdog::Round() {
  const MonoTime now = clock_.Now();
  const MonoTime next = now + std::min(kPeriodMax, limits_.resign / 4);
  const Duration outstanding = syncs_.Outstanding(now);
  if (outstanding > limits_.give_up) actions_.give_up(outstanding);
  stalled_ = outstanding > limits_.resign;
  if (!stalled_) {
    resign_at_.reset();
    return next;
  }
  if (!resign_at_.has_value()) {
    ++stalls_;
    resign_at_ = now;
  }
  if (now >= *resign_at_ && actions_.resign()) resign_at_ = now + limits_.resign;
  return next;
}

void DiskWatchdog::Tell() {
  // In this order: a stall that is over by now has been counted.
  const bool stalled = stalled_;
  const uint64_t stalls = stalls_;
  if (stalls > told_stalls_) {
    LOG(ERROR) << "the disk does not answer: a sync is out for more than "
               << Milliseconds(limits_.resign) << " ms; handing over everything that is led here";
    told_stalled_ = true;
  }
  told_stalls_ = stalls;
  if (told_stalled_ && !stalled) LOG(WARNING) << "the disk answers again";
  told_stalled_ = stalled;
}

}  // namespace quorum::server
