#include "service/server/file_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace quorum::server {
namespace {

TEST(FileLimitTest, TheSoftLimitRisesToTheHardOne) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_GT(before.rlim_max, 200u);
  const rlimit low{100, 200};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(RaiseOpenFilesLimit(), 200u);
  rlimit after;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, 200u);
}

}  // namespace
}  // namespace quorum::server
