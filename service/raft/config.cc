#include "service/raft/config.h"

#include <string>

namespace quorum::raft {

std::string Validate(const Config& config) {
  constexpr Duration kZero = Duration::zero();
  if (config.election_timeout < kZero) return "the election timeout must not be negative";
  if (config.fetch_timeout <= kZero) return "the fetch timeout must be above zero";
  if (config.request_timeout <= kZero) return "the request timeout must be above zero";
  if (config.retry_backoff <= kZero) return "the retry back-off must be above zero";
  if (config.election_backoff_max <= kZero) return "the election back-off cap must be above zero";
  if (config.fetch_max_wait < kZero) return "the fetch wait must not be negative";
  if (config.timer_grid < kZero) return "the timer grid must not be negative";
  if (config.election_timeout >= config.fetch_timeout) {
    return "the election timeout must be below the fetch timeout";
  }
  if (config.request_timeout > config.fetch_timeout) {
    return "the request timeout must not be above the fetch timeout";
  }
  if (config.fetch_max_wait >= config.fetch_timeout / 2) {
    return "the fetch wait must be below half the fetch timeout";
  }
  if (config.appends_in_flight_max == 0) return "at least one append must fit in flight";
  if (config.parked_fetches_max == 0) return "at least one fetch must fit in the parking";
  return "";
}

}  // namespace quorum::raft
