// A disk that hangs: the node hands over what it leads, the cluster goes on, and the process ends
// with a line that says why, for nothing that it is told can become durable any more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/cluster.h"
#include "tests/integration/workload.h"

namespace quorum::integration {
namespace {

using testing::HasSubstr;

constexpr char kTopic[] = "orders";

// Everybody's disk can be made to hang by a file.
class StuckDiskTest : public testing::Test {
 protected:
  StuckDiskTest() : cluster_(Options()), folder_(MakeScratchFolder("stuck")) {
    for (const int32_t id : cluster_.ids()) {
      cluster_.node(id).settings().prefix = {
          "/usr/bin/env", "LD_PRELOAD=" + ProgramPath("tests/integration/libstuck_sync.so"),
          "QUORUM_TEST_STUCK=" + FileOf(id)};
    }
  }
  ~StuckDiskTest() override { std::filesystem::remove_all(folder_); }

  static ClusterOptions Options() {
    ClusterOptions options;
    options.flags.push_back("--disk-stuck-exit-after-ms=4000");
    // Over long before the disk is given up.
    options.flags.push_back("--shutdown-timeout-ms=500");
    return options;
  }
  std::string FileOf(int32_t id) const { return absl::StrCat(folder_, "/", id); }
  void Hang(int32_t id) { std::ofstream(FileOf(id)) << "x"; }

  Cluster cluster_;
  const std::string folder_;
};

// Whoever waits for its end would wait for ever.
TEST_F(StuckDiskTest, ANodeWhoseDiskHangsWhileItStopsEnds) {
  ASSERT_TRUE(cluster_.Start());
  ASSERT_TRUE(cluster_.CreateTopic(kTopic, 2, 3));
  Leadership leadership;
  ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &leadership));
  Node& victim = cluster_.node(leadership.leader);
  Hang(leadership.leader);
  EXPECT_EQ(victim.Terminate(), 4);
  EXPECT_THAT(ReadFile(victim.log_path()), HasSubstr("FATAL reason=DISK_STUCK"));
  std::filesystem::remove(FileOf(leadership.leader));
}

TEST_F(StuckDiskTest, ANodeWhoseDiskHangsHandsOverAndThenEnds) {
  ASSERT_TRUE(cluster_.Start());
  ASSERT_TRUE(cluster_.CreateTopic(kTopic, 2, 3));
  WorkloadOptions options;
  options.topic = kTopic;
  options.partitions = 2;
  Workload workload(&cluster_, options);
  ASSERT_TRUE(workload.AwaitAcks(10));
  Leadership before;
  ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &before));
  Node& victim = cluster_.node(before.leader);

  Hang(before.leader);
  EXPECT_TRUE(workload.AwaitAcks(10)) << "somebody else leads";
  EXPECT_EQ(victim.AwaitExit(), 4);
  EXPECT_THAT(ReadFile(victim.log_path()), HasSubstr("handing over everything"));
  EXPECT_THAT(ReadFile(victim.log_path()), HasSubstr("FATAL reason=DISK_STUCK"));
  EXPECT_TRUE(workload.AwaitAcks(10));

  std::filesystem::remove(FileOf(before.leader));
  ASSERT_TRUE(cluster_.Start());
  EXPECT_TRUE(workload.AwaitAcks(10));
  workload.StopAndCheck();
}

}  // namespace
}  // namespace quorum::integration
