#include "tests/bench/resources.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

namespace quorum::bench {
namespace {

TEST(ResourcesTest, SumsTheRowsOfACounter) {
  const std::string page =
      "# HELP quorum_fsyncs_total Syncs.\n"
      "# TYPE quorum_fsyncs_total counter\n"
      "quorum_fsyncs_total{file=\"log\"} 12\n"
      "quorum_fsyncs_total{file=\"acked_floor\"} 3\n"
      "quorum_fsyncs_total_other 100\n"
      "plain_total 7\n";
  EXPECT_EQ(SumOfCounter(page, "quorum_fsyncs_total"), 15);
  EXPECT_EQ(SumOfCounter(page, "plain_total"), 7);
  EXPECT_EQ(SumOfCounter(page, "missing_total"), std::nullopt);
}

TEST(ResourcesTest, ReadsThisProcess) {
  const std::optional<ProcessUsage> before = ReadProcess(getpid());
  ASSERT_TRUE(before.has_value());
  EXPECT_GT(before->rss_bytes, 100'000u);
  volatile uint64_t work = 0;
  std::optional<ProcessUsage> after = before;
  // A tick of the kernel's accounting is 10 ms.
  while (after.has_value() && after->cpu_seconds == before->cpu_seconds) {
    for (int i = 0; i < 1'000'000; ++i) work = work + 1;
    after = ReadProcess(getpid());
  }
  ASSERT_TRUE(after.has_value());
  EXPECT_GT(after->cpu_seconds, before->cpu_seconds);
}

TEST(ResourcesTest, AProcessThatIsGoneIsNone) { EXPECT_FALSE(ReadProcess(-1).has_value()); }

TEST(ResourcesTest, MeasuresWithoutAPage) {
  Subjects subjects;
  subjects.pids = {getpid()};
  const Usage usage = Measure(subjects);
  EXPECT_EQ(usage.servers.size(), 1u);
  EXPECT_GT(usage.machine_cpu_seconds, 0);
  EXPECT_EQ(usage.syncs, std::nullopt);
  EXPECT_EQ(usage.LargestRss(), usage.servers[0].rss_bytes);
}

}  // namespace
}  // namespace quorum::bench
