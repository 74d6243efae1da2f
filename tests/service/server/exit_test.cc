#include "service/server/exit.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <set>
#include <string>

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

TEST(ReportDeathTest, TheEndDoesNotWaitForALogThatDoesNotTakeIt) {
  const storage::StoreError error = storage::DamageError(kDiskStuck, "It hangs.");
  EXPECT_EXIT(EndWith(error), testing::ExitedWithCode(4), "FATAL reason=DISK_STUCK It hangs.");
  const auto end_blocked = [&error] {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    const std::string page(4096, ' ');
    while (write(ends[1], page.data(), page.size()) > 0) {
    }
    ASSERT_EQ(fcntl(ends[1], F_SETFL, 0), 0);
    ASSERT_NE(dup2(ends[1], STDERR_FILENO), -1);
    EndWith(error);
  };
  EXPECT_EXIT(end_blocked(), testing::ExitedWithCode(4), "");
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
