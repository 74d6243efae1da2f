// 200 partitions over three nodes, with the default timeouts: one node is killed, all partitions
// are led again, and nothing that was acknowledged is gone.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/cluster.h"

namespace quorum::integration {
namespace {

constexpr char kTopic[] = "many";
constexpr uint32_t kPartitions = 200;

using Offsets = std::map<uint32_t, int64_t>;

// Appends one record to each partition, in one call; the offsets of those that are committed.
void AppendToAll(const Stubs& stubs, const std::string& value, Offsets* committed) {
  v1::AppendBatchRequest request;
  v1::AppendBatchRequest::Topic* topic = request.add_topics();
  topic->set_topic(kTopic);
  for (uint32_t index = 0; index < kPartitions; ++index) {
    v1::AppendBatchRequest::Partition* partition = topic->add_partitions();
    partition->set_partition(index);
    partition->add_records()->set_value(absl::StrCat(value, "-", index));
  }
  v1::AppendBatchResponse response;
  const grpc::Status status =
      Call(*stubs.log, &v1::LogService::Stub::AppendBatch, request, &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  ASSERT_EQ(response.topics_size(), 1);
  for (const auto& partition : response.topics(0).partitions()) {
    ASSERT_TRUE(partition.has_committed()) << partition.ShortDebugString();
    (*committed)[partition.partition()] = partition.committed().base_offset();
  }
  ASSERT_EQ(committed->size(), kPartitions);
}

// That one record, at that offset, by way of any node.
void ExpectRecord(const Stubs& stubs, uint32_t partition, int64_t offset,
                  const std::string& value) {
  v1::TailRequest request;
  request.set_topic(kTopic);
  request.set_partition(partition);
  request.set_offset(offset);
  request.set_max_records(1);
  const TailRun run = RunTail(*stubs.log, request, kWaitMax);
  ASSERT_TRUE(run.status.ok()) << FailureOf(run.status);
  ASSERT_EQ(run.records.size(), 1u);
  EXPECT_EQ(run.records[0].offset, offset);
  EXPECT_EQ(run.records[0].payload, value);
}

TEST(ManyPartitionsTest, AreAllLedAgainAfterOneNodeIsKilled) {
  ClusterOptions options;
  options.flags = {};
  Cluster cluster(options);
  ASSERT_TRUE(cluster.Start());
  ASSERT_TRUE(cluster.CreateTopic(kTopic, kPartitions, 3));
  Offsets before;
  ASSERT_NO_FATAL_FAILURE(AppendToAll(cluster.stubs(1), "before", &before));

  Leadership leadership;
  ASSERT_TRUE(cluster.AwaitLeader(kTopic, 0, &leadership));
  cluster.node(leadership.leader).Kill();
  ASSERT_TRUE(cluster.AwaitAllLed(kTopic));
  const int32_t survivor = leadership.leader % 3 + 1;
  Offsets after;
  ASSERT_NO_FATAL_FAILURE(AppendToAll(cluster.stubs(survivor), "after", &after));

  // The killed one comes back and has everything, old and new, on its own disk.
  ASSERT_TRUE(cluster.Start());
  const Stubs& back = cluster.stubs(leadership.leader);
  for (uint32_t partition = 0; partition < kPartitions; ++partition) {
    EXPECT_GT(after[partition], before[partition]);
    ASSERT_NO_FATAL_FAILURE(
        ExpectRecord(back, partition, before[partition], absl::StrCat("before-", partition)));
    ASSERT_NO_FATAL_FAILURE(
        ExpectRecord(back, partition, after[partition], absl::StrCat("after-", partition)));
  }
}

// The catalog spreads what it places: replicas, and who should lead them.
TEST(ManyPartitionsTest, AreSpreadOverTheNodes) {
  ClusterOptions options;
  options.founders = 3;
  options.joiners = 1;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.Start());
  ASSERT_TRUE(cluster.CreateTopic("spread", 40, 2));
  v1::DescribeTopicRequest request;
  request.set_name("spread");
  v1::DescribeTopicResponse response;
  const grpc::Status status =
      Call(*cluster.stubs(4).admin, &v1::AdminService::Stub::DescribeTopic, request, &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  std::map<int32_t, int> replicas;
  std::map<int32_t, int> preferred;
  for (const auto& partition : response.topic().partitions()) {
    ASSERT_EQ(partition.replicas_size(), 2);
    EXPECT_NE(partition.replicas(0).node_id(), partition.replicas(1).node_id());
    ++preferred[partition.replicas(0).node_id()];
    for (const v1::ReplicaName& replica : partition.replicas()) ++replicas[replica.node_id()];
  }
  for (const int32_t id : cluster.ids()) {
    EXPECT_EQ(replicas[id], 20) << "node " << id;
    EXPECT_EQ(preferred[id], 10) << "node " << id;
  }
}

}  // namespace
}  // namespace quorum::integration
