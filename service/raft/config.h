// Config: the timeouts and bounds of a replica. Defaults are Kafka's (protocol.md 4).
//
// Guarantees, checked by Validate: election_timeout < fetch_timeout; request_timeout <=
// fetch_timeout; fetch_max_wait < fetch_timeout / 2; retry_backoff > 0.
//
// Thread: a plain value, constant for a process life.

#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "service/base/time.h"

namespace quorum::raft {

struct Config {
  // T: an election timer is drawn from [T, 2T).
  Duration election_timeout = std::chrono::milliseconds(1000);
  // How long a follower goes without an answer of its leader before it asks for an election. The
  // leader's check-quorum is 1.5 times this, its BeginQuorumEpoch period half of it.
  Duration fetch_timeout = std::chrono::milliseconds(2000);
  // The cap of the back-off that EndQuorumEpoch gives its successors.
  Duration election_backoff_max = std::chrono::milliseconds(1000);
  // When an unanswered peer request is sent again.
  Duration request_timeout = std::chrono::milliseconds(2000);
  // How long a peer is left alone after it failed. Doubles with each failure in a row, 32 times at
  // most.
  Duration retry_backoff = std::chrono::milliseconds(50);
  // How long a leader may hold a Fetch that has nothing to answer.
  Duration fetch_max_wait = std::chrono::milliseconds(500);
  // Deadlines are rounded up to this grid, so that partitions share rounds. Zero switches it off.
  Duration timer_grid = std::chrono::milliseconds(10);
  // Appends that wait for their commit, per partition. At the bound an append is refused.
  size_t appends_in_flight_max = 10'000;
  // Fetches of one partition that wait for records or watermark. At the bound one is answered
  // empty.
  size_t parked_fetches_max = 1'000;
  // Observers that a leader keeps count of; further ones are served but not described.
  size_t observers_max = 1'000;
};

// Empty when the config keeps its guarantees, else a sentence that says which one it breaks.
std::string Validate(const Config& config);

}  // namespace quorum::raft
