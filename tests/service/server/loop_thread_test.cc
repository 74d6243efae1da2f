#include "service/server/loop_thread.h"

#include <gtest/gtest.h>

#include <atomic>

#include "service/server/system_clock.h"

namespace quorum::server {
namespace {

// Far more than anything here takes, and far less than what a missed call would cost.
constexpr Duration kLong = std::chrono::seconds(30);

TEST(WakerTest, ACallBeforeTheWaitIsNotLost) {
  const SystemClock clock;
  Waker waker;
  waker.Wake();
  EXPECT_TRUE(waker.WaitUntil(clock.Now() + kLong, clock));
}

TEST(WakerTest, ManyCallsWakeOnce) {
  const SystemClock clock;
  Waker waker;
  waker.Wake();
  waker.Wake();
  EXPECT_TRUE(waker.WaitUntil(clock.Now() + kLong, clock));
  EXPECT_FALSE(waker.WaitUntil(clock.Now() + std::chrono::milliseconds(1), clock));
}

TEST(WakerTest, ADeadlineInThePastReturnsAtOnce) {
  const SystemClock clock;
  Waker waker;
  EXPECT_FALSE(waker.WaitUntil(clock.Now() - kLong, clock));
}

TEST(LoopThreadTest, RoundsFollowEachOtherWhileTheyAreDue) {
  const SystemClock clock;
  Waker waker;
  Waker reached;
  std::atomic<int> rounds{0};
  LoopThread thread("test", &clock, &waker, [&] {
    if (++rounds == 100) reached.Wake();
    return clock.Now();
  });
  EXPECT_TRUE(reached.WaitUntil(clock.Now() + kLong, clock));
}

TEST(LoopThreadTest, WorkEndsTheSleep) {
  const SystemClock clock;
  Waker waker;
  Waker ran;
  LoopThread thread("test", &clock, &waker, [&] {
    ran.Wake();
    return kNever;
  });
  // The first round needs no reason. Later ones would, by themselves, be a second apart.
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(ran.WaitUntil(clock.Now() + kLong, clock));
    waker.Wake();
  }
}

TEST(LoopThreadTest, ARestingLoopStillShowsThatItRuns) {
  const SystemClock clock;
  Waker waker;
  Waker ran;
  LoopThread thread("test", &clock, &waker, [&] {
    ran.Wake();
    return kNever;
  });
  ASSERT_TRUE(ran.WaitUntil(clock.Now() + kLong, clock));
  const MonoTime first = thread.last_round();
  ASSERT_TRUE(ran.WaitUntil(clock.Now() + kLong, clock));
  EXPECT_GE(thread.last_round() - first, LoopThread::kRoundPeriodMax);
}

TEST(LoopThreadTest, NoRoundRunsAfterStop) {
  const SystemClock clock;
  Waker waker;
  std::atomic<int> rounds{0};
  LoopThread thread("test", &clock, &waker, [&] {
    ++rounds;
    return clock.Now();
  });
  thread.Stop();
  const int stopped_at = rounds;
  waker.Wake();
  EXPECT_EQ(rounds, stopped_at);
  thread.Stop();
}

}  // namespace
}  // namespace quorum::server
