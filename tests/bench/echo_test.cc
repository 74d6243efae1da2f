// The load generator against a real server: what it counts is what it did.

#include "tests/bench/echo.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/server/system_clock.h"
#include "tests/bench/closed_loop.h"

namespace quorum::bench {
namespace {

std::vector<std::unique_ptr<Caller>> Callers(const std::string& address, size_t count) {
  const Channels channels = MakeChannels(address, 2);
  std::vector<std::unique_ptr<Caller>> callers;
  Shape shape;
  shape.records = 3;
  for (size_t i = 0; i < count; ++i) {
    callers.push_back(MakeEchoCaller(channels[i % channels.size()], shape));
  }
  return callers;
}

TEST(EchoTest, ABoundOnCallsEndsTheLoopAndEachCallIsTimed) {
  EchoServer server("127.0.0.1:0");
  server::SystemClock clock;
  LoopOptions options;
  options.time_max = std::chrono::seconds(30);
  options.calls_max = 200;
  ClosedLoop loop(clock, Callers(absl::StrCat("127.0.0.1:", server.port()), 8), options);
  const LoopResult result = loop.Run([] {}, [] {});
  EXPECT_EQ(result.errors, 0u) << result.first_error;
  EXPECT_GE(result.calls, 200u);
  // Those that were out when the bound was met are not counted, but for one that just ends.
  EXPECT_LT(result.calls, 208u);
  EXPECT_EQ(result.records, result.calls * 3);
  EXPECT_GT(result.latency.Percentile(0.5), 1'000u);
  EXPECT_LT(result.elapsed, options.time_max);
}

TEST(EchoTest, ABoundOnTimeEndsTheLoop) {
  EchoServer server("127.0.0.1:0");
  server::SystemClock clock;
  LoopOptions options;
  options.warmup = std::chrono::milliseconds(50);
  options.time_max = std::chrono::milliseconds(200);
  ClosedLoop loop(clock, Callers(absl::StrCat("127.0.0.1:", server.port()), 4), options);
  const LoopResult result = loop.Run([] {}, [] {});
  EXPECT_GT(result.calls, 0u);
  EXPECT_GE(result.elapsed, options.time_max);
}

}  // namespace
}  // namespace quorum::bench
