#include "service/server/metrics.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace quorum::server {
namespace {

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() {
    stats_.cluster_id = "demo";
    stats_.self = ReplicaKey{NodeId(2), DirectoryId{1, 2}};
    stats_.incarnation = Incarnation(7);
    stats_.started_at = 1'700'000'000;
    stats_.shards = {&first_, &second_};
  }

  // The value of the row that begins with `name`, labels included; empty without one.
  std::string Row(const std::string& name) const {
    for (const absl::string_view line : absl::StrSplit(MetricsPage(stats_), '\n')) {
      if (absl::StartsWith(line, name + " ")) return std::string(line.substr(name.size() + 1));
    }
    return "";
  }

  ShardStats first_;
  ShardStats second_;
  NodeStats stats_;
};

TEST_F(MetricsTest, ShardsAreAddedUp) {
  Add(&first_.elections, 2);
  Add(&second_.elections, 3);
  Add(&second_.truncations, 1);
  Add(&second_.damaged_fetches, 2);
  Add(&first_.appended_records, 1'000);
  first_.replicas = 10;
  second_.replicas = 20;
  EXPECT_EQ(Row("quorum_elections_total"), "5");
  EXPECT_EQ(Row("quorum_truncations_total"), "1");
  EXPECT_EQ(Row("quorum_damaged_fetches_total"), "2");
  EXPECT_EQ(Row("quorum_appended_records_total"), "1000");
  EXPECT_EQ(Row("quorum_replicas"), "30");
}

TEST_F(MetricsTest, RefusalsAndRolesHaveARowEach) {
  Add(&first_.refusals[kRefusals.size() - 1], 4);
  Add(&first_.duplicates, 3);
  Add(&first_.append_refusals[kAppendRefusals.size() - 1], 5);
  second_.roles[3] = 6;
  EXPECT_EQ(Row("quorum_refusals_total{reason=\"REQUEST_TIMED_OUT\"}"), "4");
  EXPECT_EQ(Row("quorum_append_duplicates_total"), "3");
  EXPECT_EQ(Row("quorum_append_refusals_total{reason=\"OFFSET_MISMATCH\"}"), "5");
  EXPECT_EQ(Row("quorum_append_refusals_total{reason=\"PRODUCER_FENCED\"}"), "0");
  EXPECT_EQ(Row("quorum_refusals_total{reason=\"NOT_LEADER_OR_FOLLOWER\"}"), "0");
  EXPECT_EQ(Row("quorum_replicas_by_role{role=\"Leader\"}"), "6");
  EXPECT_EQ(Row("quorum_replicas_by_role{role=\"Resigned\"}"), "0");
}

TEST_F(MetricsTest, ErrorsHaveARowPerReasonAndTheWorstLagCounts) {
  stats_.errors = {{"THROTTLED", 3}, {"GRPC_UNKNOWN", 0}};
  first_.catching_up = 2;
  second_.catching_up = 1;
  first_.lag_ms = 1'500;
  second_.lag_ms = 200;
  EXPECT_EQ(Row("quorum_call_errors_total{reason=\"THROTTLED\"}"), "3");
  EXPECT_EQ(Row("quorum_call_errors_total{reason=\"GRPC_UNKNOWN\"}"), "0");
  EXPECT_EQ(Row("quorum_catching_up_replicas"), "3");
  EXPECT_EQ(Row("quorum_replica_lag_seconds_max"), "1.5");
}

TEST_F(MetricsTest, PartitionsHaveRowsWhileThereAreFew) {
  EXPECT_EQ(MetricsPage(stats_).find("quorum_partition_"), std::string::npos);
  PartitionFacts led;
  led.partition = PartitionId{TopicId(4), 2};
  led.role = raft::RoleKind::kLeader;
  led.leader = NodeId(2);
  led.epoch = Epoch(9);
  led.high_watermark = Offset(100);
  led.log_end = Offset(120);
  led.lag = std::chrono::milliseconds(2'500);
  PartitionFacts leaderless;
  leaderless.partition = PartitionId{TopicId(4), 3};
  stats_.partitions = {{"orders", led}, {"orders", leaderless}};
  const std::string of_led = "{topic=\"orders\",partition=\"2\"}";
  EXPECT_EQ(Row("quorum_partition_leader_id" + of_led), "2");
  EXPECT_EQ(Row("quorum_partition_leader_epoch" + of_led), "9");
  EXPECT_EQ(Row("quorum_partition_leading" + of_led), "1");
  EXPECT_EQ(Row("quorum_partition_high_watermark" + of_led), "100");
  EXPECT_EQ(Row("quorum_partition_log_end" + of_led), "120");
  EXPECT_EQ(Row("quorum_partition_lag_seconds" + of_led), "2.5");
  const std::string of_leaderless = "{topic=\"orders\",partition=\"3\"}";
  EXPECT_EQ(Row("quorum_partition_leader_id" + of_leaderless), "-1");
  EXPECT_EQ(Row("quorum_partition_leading" + of_leaderless), "0");
  EXPECT_EQ(Row("quorum_partition_high_watermark" + of_leaderless), "") << "it knows none";
}

TEST_F(MetricsTest, SyncsAreCountedByFile) {
  stats_.writer.syncs = 9;
  stats_.writer.floor_syncs = 4;
  stats_.disk_stalls = 1;
  EXPECT_EQ(Row("quorum_fsyncs_total{file=\"log\"}"), "9");
  EXPECT_EQ(Row("quorum_fsyncs_total{file=\"acked_floor\"}"), "4");
  EXPECT_EQ(Row("quorum_disk_stalls_total"), "1");
}

TEST_F(MetricsTest, TheNodeNamesItself) {
  EXPECT_EQ(Row(absl::StrCat("quorum_node_info{cluster_id=\"demo\",node_id=\"2\",directory_id=\"",
                             stats_.self.directory.ToString(),
                             "\",incarnation=\"7\",version=\"0.1.0\"}")),
            "1");
  EXPECT_EQ(Row("quorum_ready"), "0");
  stats_.ready = true;
  EXPECT_EQ(Row("quorum_ready"), "1");
}

TEST_F(MetricsTest, TheProcessIsMeasured) {
  double resident = 0;
  double files = 0;
  ASSERT_EQ(sscanf(Row("process_resident_memory_bytes").c_str(), "%lf", &resident), 1);
  EXPECT_GT(resident, 1 << 20);
  ASSERT_EQ(sscanf(Row("process_open_fds").c_str(), "%lf", &files), 1);
  EXPECT_GE(files, 3);
  EXPECT_EQ(Row("process_start_time_seconds"), "1700000000");
}

TEST_F(MetricsTest, EachFamilyHasHelpAndTypeOnce) {
  int families = 0;
  std::string last;
  for (const absl::string_view line : absl::StrSplit(MetricsPage(stats_), '\n')) {
    if (absl::StartsWith(line, "# HELP ")) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      EXPECT_GT(words.size(), 3u) << line;
      EXPECT_NE(words[2], last);
      last = words[2];
      ++families;
    } else if (!line.empty() && line[0] != '#') {
      EXPECT_TRUE(absl::StartsWith(line, last)) << line;
    }
  }
  EXPECT_GT(families, 20);
}

}  // namespace
}  // namespace quorum::server
