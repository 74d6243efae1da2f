#include "service/server/exit.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "service/base/check.h"
#include "service/server/entropy.h"

namespace quorum::server {
namespace {

TEST(ReportTest, OneLineWithTheReasonAndTheExitCode) {
  testing::internal::CaptureStderr();
  const int code = Report(storage::DamageError(storage::kCorrupt, "Two\nlines."));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "FATAL reason=CORRUPT Two lines.\n");
  EXPECT_EQ(code, 4);
}

TEST(AssertionDeathTest, AFailedCheckEndsWithItsOwnCode) {
  const auto fail = [] {
    google::InitGoogleLogging("exit_test");
    InstallAssertionExit();
    CHECK_EQ(1 + 1, 3) << "the reason";
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(5), "the reason(.|\n)*FATAL reason=ASSERTION");
}

TEST(CrashDeathTest, ACrashPrintsAStackAndEndsBySignal) {
  const auto crash = [] {
    InstallCrashTrace();
    raise(SIGSEGV);
  };
  EXPECT_EXIT(crash(), testing::KilledBySignal(SIGSEGV), "SIGSEGV(.|\n)*@ +0x");
}

TEST(CrashDeathTest, BeingAskedToStopIsNone) {
  const auto stop = [] {
    InstallCrashTrace();
    raise(SIGTERM);
  };
  EXPECT_EXIT(stop(), testing::KilledBySignal(SIGTERM), "^$");
}

TEST(EntropyTest, DrawsDiffer) {
  std::set<uint64_t> seeds;
  std::set<DirectoryId> directories;
  for (int i = 0; i < 100; ++i) {
    seeds.insert(DrawSeed());
    directories.insert(DrawDirectoryId());
  }
  EXPECT_EQ(seeds.size(), 100u);
  EXPECT_EQ(directories.size(), 100u);
}

}  // namespace
}  // namespace quorum::server
