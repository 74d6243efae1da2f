#include "service/raft/config.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

namespace quorum::raft {
namespace {

using std::chrono::milliseconds;

TEST(ConfigTest, DefaultsAreValid) { EXPECT_EQ(Validate(Config{}), ""); }

TEST(ConfigTest, EdgesAreValid) {
  Config config;
  config.election_timeout = Duration::zero();
  config.request_timeout = config.fetch_timeout;
  config.fetch_max_wait = config.fetch_timeout / 2 - Duration(1);
  config.timer_grid = Duration::zero();
  config.observers_max = 0;
  EXPECT_EQ(Validate(config), "");
  config.election_timeout = config.fetch_timeout - Duration(1);
  config.fetch_max_wait = Duration::zero();
  EXPECT_EQ(Validate(config), "");
}

TEST(ConfigTest, EachBrokenGuaranteeIsNamed) {
  const std::pair<const char*, std::function<void(Config&)>> broken[] = {
      {"the election timeout must not be negative",
       [](Config& config) { config.election_timeout = milliseconds(-1); }},
      {"the fetch timeout must be above zero",
       [](Config& config) { config.fetch_timeout = Duration::zero(); }},
      {"the request timeout must be above zero",
       [](Config& config) { config.request_timeout = Duration::zero(); }},
      {"the retry back-off must be above zero",
       [](Config& config) { config.retry_backoff = Duration::zero(); }},
      {"the election back-off cap must be above zero",
       [](Config& config) { config.election_backoff_max = Duration::zero(); }},
      {"the fetch wait must not be negative",
       [](Config& config) { config.fetch_max_wait = milliseconds(-1); }},
      {"the timer grid must not be negative",
       [](Config& config) { config.timer_grid = milliseconds(-1); }},
      {"the election timeout must be below the fetch timeout",
       [](Config& config) { config.election_timeout = config.fetch_timeout; }},
      {"the request timeout must not be above the fetch timeout",
       [](Config& config) { config.request_timeout = config.fetch_timeout + Duration(1); }},
      {"the fetch wait must be below half the fetch timeout",
       [](Config& config) { config.fetch_max_wait = config.fetch_timeout / 2; }},
      {"at least one append must fit in flight",
       [](Config& config) { config.appends_in_flight_max = 0; }},
      {"at least one fetch must fit in the parking",
       [](Config& config) { config.parked_fetches_max = 0; }},
  };
  for (const auto& [sentence, breakage] : broken) {
    Config config;
    breakage(config);
    EXPECT_EQ(Validate(config), sentence);
  }
}

}  // namespace
}  // namespace quorum::raft
