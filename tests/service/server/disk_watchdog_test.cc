#include "service/server/disk_watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/service/server/fake_clock.h"

namespace quorum::server {
namespace {

using testing::HasSubstr;

class DiskWatchdogTest : public testing::Test {
 protected:
  FakeClock clock_;
  storage::SyncWatchdog syncs_;
  bool can_resign_ = true;
  int resigned_ = 0;
  std::vector<Duration> gave_up_;
  DiskWatchdog watchdog_{&clock_,
                         &syncs_,
                         {std::chrono::seconds(2), std::chrono::seconds(60)},
                         {[this] {
                            if (can_resign_) ++resigned_;
                            return can_resign_;
                          },
                          [this](Duration outstanding) { gave_up_.push_back(outstanding); }}};
};

TEST_F(DiskWatchdogTest, AnIdleDiskIsLeftAlone) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_GT(watchdog_.Round(), clock_.Now());
    clock_.Advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(resigned_, 0);
}

TEST_F(DiskWatchdogTest, ASyncAtTheLimitIsStillFine) {
  syncs_.Begin(clock_.Now());
  clock_.Advance(std::chrono::seconds(2));
  watchdog_.Round();
  EXPECT_EQ(resigned_, 0);
}

TEST_F(DiskWatchdogTest, ASyncOverTheLimitHandsOverOnce) {
  syncs_.Begin(clock_.Now());
  clock_.Advance(std::chrono::milliseconds(2001));
  watchdog_.Round();
  watchdog_.Round();
  EXPECT_EQ(resigned_, 1);
  EXPECT_EQ(watchdog_.stalls(), 1u);
}

TEST_F(DiskWatchdogTest, WhatIsElectedDuringTheStallIsHandedOverToo) {
  syncs_.Begin(clock_.Now());
  clock_.Advance(std::chrono::milliseconds(2001));
  watchdog_.Round();
  clock_.Advance(std::chrono::seconds(2));
  watchdog_.Round();
  EXPECT_EQ(resigned_, 2);
  EXPECT_EQ(watchdog_.stalls(), 1u);
}

TEST_F(DiskWatchdogTest, WhatCouldNotBeAskedIsAskedInTheNextRound) {
  syncs_.Begin(clock_.Now());
  clock_.Advance(std::chrono::milliseconds(2001));
  can_resign_ = false;
  watchdog_.Round();
  can_resign_ = true;
  watchdog_.Round();
  EXPECT_EQ(resigned_, 1);
}

TEST_F(DiskWatchdogTest, ASyncThatNeverComesBackEndsTheProcess) {
  syncs_.Begin(clock_.Now());
  clock_.Advance(std::chrono::seconds(60));
  watchdog_.Round();
  EXPECT_TRUE(gave_up_.empty());
  clock_.Advance(std::chrono::milliseconds(1));
  watchdog_.Round();
  ASSERT_EQ(gave_up_.size(), 1u);
  EXPECT_EQ(gave_up_[0], std::chrono::milliseconds(60'001));
}

TEST_F(DiskWatchdogTest, TheEndNeedsNoHandOverBefore) {
  DiskWatchdog patient(
      &clock_, &syncs_, {std::chrono::seconds(600), std::chrono::seconds(60)},
      {[] { return true; }, [this](Duration outstanding) { gave_up_.push_back(outstanding); }});
  syncs_.Begin(clock_.Now());
  clock_.Advance(std::chrono::seconds(61));
  patient.Round();
  EXPECT_EQ(gave_up_.size(), 1u);
}

// The log may lie on the disk that does not answer: whoever acts must not wait for it.
TEST_F(DiskWatchdogTest, SaysNothingWhereItActs) {
  const auto said = [](const std::function<void()>& act) {
    testing::internal::CaptureStderr();
    act();
    return testing::internal::GetCapturedStderr();
  };
  const auto round = [this] { watchdog_.Round(); };
  const auto tell = [this] { watchdog_.Tell(); };
  syncs_.Begin(clock_.Now());
  clock_.Advance(std::chrono::milliseconds(2001));
  EXPECT_EQ(said(round), "");
  EXPECT_EQ(resigned_, 1);
  EXPECT_THAT(said(tell), HasSubstr("handing over everything"));
  EXPECT_EQ(said(tell), "") << "once";
  syncs_.End();
  EXPECT_EQ(said(round), "");
  EXPECT_THAT(said(tell), HasSubstr("answers again"));
  EXPECT_EQ(said(tell), "");
}

TEST_F(DiskWatchdogTest, AStallThatIsOverIsToldAllTheSame) {
  syncs_.Begin(clock_.Now());
  clock_.Advance(std::chrono::milliseconds(2001));
  watchdog_.Round();
  syncs_.End();
  watchdog_.Round();
  testing::internal::CaptureStderr();
  watchdog_.Tell();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, HasSubstr("does not answer"));
  EXPECT_THAT(told, HasSubstr("answers again"));
}

TEST_F(DiskWatchdogTest, SlowSyncsOneAfterTheOtherDoNot) {
  for (int i = 0; i < 100; ++i) {
    syncs_.Begin(clock_.Now());
    clock_.Advance(std::chrono::seconds(59));
    watchdog_.Round();
    syncs_.End();
    watchdog_.Round();
  }
  EXPECT_TRUE(gave_up_.empty());
  EXPECT_EQ(watchdog_.stalls(), 100u);
}

TEST_F(DiskWatchdogTest, ASecondStallIsAnotherOne) {
  syncs_.Begin(clock_.Now());
  clock_.Advance(std::chrono::milliseconds(2001));
  watchdog_.Round();
  syncs_.End();
  watchdog_.Round();
  syncs_.Begin(clock_.Now());
  watchdog_.Round();
  EXPECT_EQ(resigned_, 1);
  clock_.Advance(std::chrono::milliseconds(2001));
  watchdog_.Round();
  EXPECT_EQ(resigned_, 2);
  EXPECT_EQ(watchdog_.stalls(), 2u);
}

}  // namespace
}  // namespace quorum::server
