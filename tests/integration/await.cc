#include "tests/integration/await.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "service/server/system_clock.h"

namespace quorum::integration {
namespace {

constexpr Duration kPauseMin = std::chrono::milliseconds(5);
constexpr Duration kPauseMax = std::chrono::milliseconds(50);

}  // namespace

MonoTime Now() { return server::SystemClock().Now(); }

testing::AssertionResult Await(const std::string& what, const Condition& condition,
                               Duration limit) {
  const MonoTime deadline = Now() + limit;
  Duration pause = kPauseMin;
  for (;;) {
    const std::string missing = condition();
    if (missing.empty()) return testing::AssertionSuccess();
    if (Now() >= deadline) {
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
      return testing::AssertionFailure()
             << "not within " << waited.count() << " ms: " << what << "; still: " << missing;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kPauseMax);
  }
}

}  // namespace quorum::integration
