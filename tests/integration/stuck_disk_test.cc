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

TEST(StuckDiskTest, ANodeWhoseDiskHangsHandsOverAndThenEnds) {
  ClusterOptions cluster_options;
  cluster_options.flags.push_back("--disk-stuck-exit-after-ms=4000");
  Cluster cluster(cluster_options);
  const std::string folder = MakeScratchFolder("stuck");
  const auto stuck_file = [&](int32_t id) { return absl::StrCat(folder, "/", id); };
  for (const int32_t id : cluster.ids()) {
    cluster.node(id).settings().prefix = {
        "/usr/bin/env", "LD_PRELOAD=" + ProgramPath("tests/integration/libstuck_sync.so"),
        "QUORUM_TEST_STUCK=" + stuck_file(id)};
  }
  ASSERT_TRUE(cluster.Start());
  ASSERT_TRUE(cluster.CreateTopic(kTopic, 2, 3));
  WorkloadOptions options;
  options.topic = kTopic;
  options.partitions = 2;
  Workload workload(&cluster, options);
  ASSERT_TRUE(workload.AwaitAcks(10));
  Leadership before;
  ASSERT_TRUE(cluster.AwaitLeader(kTopic, 0, &before));
  Node& victim = cluster.node(before.leader);

  std::ofstream(stuck_file(before.leader)) << "x";
  EXPECT_TRUE(workload.AwaitAcks(10)) << "somebody else leads";
  EXPECT_EQ(victim.AwaitExit(), 4);
  EXPECT_THAT(ReadFile(victim.log_path()), HasSubstr("handing over everything"));
  EXPECT_THAT(ReadFile(victim.log_path()), HasSubstr("FATAL reason=DISK_STUCK"));
  EXPECT_TRUE(workload.AwaitAcks(10));

  std::filesystem::remove(stuck_file(before.leader));
  ASSERT_TRUE(cluster.Start());
  EXPECT_TRUE(workload.AwaitAcks(10));
  workload.StopAndCheck();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace quorum::integration
