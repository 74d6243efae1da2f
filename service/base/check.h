// CHECK and its comparisons (glog): a broken invariant ends the process with both operands printed.
// They stay on in every build, `-c opt` included. QUORUM_BUG is for what is suspicious yet safe to
// go on from: it is counted and logged in production and fatal where tests switch that on.
//
// Thread: any.

#pragma once

#include <glog/logging.h>

#include <atomic>
#include <cstdint>

namespace quorum {

// How many QUORUM_BUGs this process has met.
inline std::atomic<uint64_t>& BugCount() {
  static std::atomic<uint64_t> count{0};
  return count;
}

// Tests and the simulator set this, so that no suspicion passes unseen.
inline std::atomic<bool>& BugsAreFatal() {
  static std::atomic<bool> fatal{false};
  return fatal;
}

}  // namespace quorum

#define QUORUM_BUG(message)                                         \
  do {                                                              \
    ::quorum::BugCount().fetch_add(1, ::std::memory_order_relaxed); \
    LOG(ERROR) << "BUG: " << message;                               \
    CHECK(!::quorum::BugsAreFatal().load()) << "BUG: " << message;  \
  } while (false)
