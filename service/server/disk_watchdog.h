// DiskWatchdog: notices a disk that does not answer, without touching it (reliability.md 7.6). A
// sync that is out for longer than the fetch timeout makes the node hand over everything that it
// leads, because nothing that it is sent can become durable here; and again each time that much
// more has passed, since it may have been elected anew. One that is out for much longer will not
// come back: the process ends, so that whoever looks after it hears of it.
//
// Thread: Round from one thread of its own, which waits for nothing; Tell from one other, because
// the log may lie on the very disk that does not answer; stalls from any.

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
  struct Limits {
    // Then everything is handed over.
    Duration resign;
    // Then the process ends.
    Duration give_up;
  };
  struct Actions {
    // Hands over everything; false when it could not be asked. It is then tried again in the next
    // round.
    std::function<bool()> resign;
    // Ends the process; told how long the sync has been out.
    std::function<void(Duration)> give_up;
  };

  // All that is pointed to outlives the watchdog.
  DiskWatchdog(const Clock* clock, const storage::SyncWatchdog* syncs, const Limits& limits,
               Actions actions);

  // Looks once. Returns when to look again.
  MonoTime Round();

  // Writes to the log what has changed since the last call.
  void Tell();

  // Syncs that took longer than the first limit.
  uint64_t stalls() const { return stalls_; }

 private:
  const Clock& clock_;
  const storage::SyncWatchdog& syncs_;
  const Limits limits_;
  const Actions actions_;
  std::atomic<uint64_t> stalls_{0};
  std::atomic<bool> stalled_{false};
  // What Tell has told.
  uint64_t told_stalls_ = 0;
  bool told_stalled_ = false;
  // The running sync is over the limit; when everything is handed over next.
  std::optional<MonoTime> resign_at_;
};

}  // namespace quorum::server
