// DiskWatchdog: notices a disk that does not answer, without touching it (reliability.md 7.6). A
// sync that is out for longer than the fetch timeout makes the node hand over everything that it
// leads, because nothing that it is sent can become durable here; and again each time that much
// more has passed, since it may have been elected anew.
//
// Thread: Round from one thread of its own; stalls from any.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "service/base/time.h"
#include "storage/api/sync_watchdog.h"

namespace quorum::server {

class DiskWatchdog {
 public:
  // `resign` hands over everything, and is false when it could not be asked; it is then tried again
  // in the next round. All outlive the watchdog.
  DiskWatchdog(const Clock* clock, const storage::SyncWatchdog* syncs, Duration limit,
               std::function<bool()> resign);

  // Looks once. Returns when to look again.
  MonoTime Round();

  // Syncs that took longer than the limit.
  uint64_t stalls() const { return stalls_; }

 private:
  const Clock& clock_;
  const storage::SyncWatchdog& syncs_;
  const Duration limit_;
  const std::function<bool()> resign_;
  std::atomic<uint64_t> stalls_{0};
  // The running sync is over the limit; when everything is handed over next.
  std::optional<MonoTime> resign_at_;
};

}  // namespace quorum::server
