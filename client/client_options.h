// The settings of a client and of one call.
//
// Thread: plain values; callbacks say for themselves.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/error.h"
#include "client/retry_policy.h"
#include "service/base/time.h"

namespace quorum::client {

struct ClientOptions {
  // `host:port` of some nodes, at least one; see ParseBootstrap.
  std::vector<std::string> bootstrap;

  // Start with a node drawn by chance instead of the first, so that many clients spread.
  bool spread = true;

  // How long a connection may take before the next node is tried.
  Duration connect_timeout = std::chrono::seconds(1);

  // How long a call that may be repeated after a time-out, a read or an append of a producer, waits
  // for one node before another one is asked.
  Duration attempt_timeout = std::chrono::seconds(5);

  // How long a node that failed is tried last.
  Duration avoid_time = std::chrono::seconds(1);

  RetrySettings retry;

  // Seeds the waits and the spread; 0: from the clock.
  uint64_t seed = 0;
};

// A failed attempt that is made again.
struct RetryNotice {
  Error error;
  // Until the next attempt.
  Duration delay = Duration(0);
};

struct CallOptions {
  // For the whole call, all attempts and waits included. Positive.
  Duration timeout = std::chrono::seconds(30);

  // Called on the client's thread, before each repetition; must not block. May be empty.
  std::function<void(const RetryNotice&)> on_retry;
};

}  // namespace quorum::client
