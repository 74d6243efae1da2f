// Cluster: nodes of one cluster, each a process. When the test has failed, its destructor prints
// the last log lines of each node.
//
//   Cluster cluster({});
//   ASSERT_TRUE(cluster.Start());
//   ASSERT_TRUE(cluster.CreateTopic("orders", 3, 3));
//   Leadership leadership;
//   ASSERT_TRUE(cluster.AwaitLeader("orders", 0, &leadership));
//   cluster.node(leadership.leader).Kill();
//
// Thread: the test's main thread; stubs() any.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/node.h"
#include "tests/integration/stubs.h"

namespace quorum::integration {

// Timeouts of half the defaults: failovers are most of what the tests wait for.
std::vector<std::string> QuickTimes();

struct ClusterOptions {
  // Voters of the catalog; nodes 1, 2, 3 and so on.
  int founders = 3;
  // Nodes behind them, which join.
  int joiners = 0;
  std::vector<std::string> flags = QuickTimes();
};

// Who leads a partition, and since when.
struct Leadership {
  int32_t leader = 0;
  int64_t epoch = 0;
};

using PartitionQuorum = v1::DescribeQuorumResponse::Partition;

class Cluster {
 public:
  // Formats all nodes and starts none.
  explicit Cluster(const ClusterOptions& options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // By id, from 1.
  Node& node(int32_t id);
  const Stubs& stubs(int32_t id) const;
  // All ids, and those that run.
  std::vector<int32_t> ids() const;
  std::vector<int32_t> Running();

  // Starts all that do not run, and waits until they serve.
  testing::AssertionResult Start();
  testing::AssertionResult AwaitServing();
  testing::AssertionResult AwaitServing(int32_t id);
  // The controller hears from exactly the nodes that run.
  testing::AssertionResult AwaitLiveness();

  // Asks node 1, or `through`; waits until all partitions are led.
  testing::AssertionResult CreateTopic(const std::string& name, uint32_t partitions,
                                       uint32_t replicas, int32_t through = 1);
  testing::AssertionResult DeleteTopic(const std::string& name, int32_t through = 1);

  // What the leader says of the partition's quorum, by way of any node that runs.
  testing::AssertionResult AwaitQuorum(const std::string& topic, uint32_t partition,
                                       PartitionQuorum* quorum);
  // As AwaitQuorum: a leader above `after_epoch` that has committed in its epoch.
  testing::AssertionResult AwaitLeader(const std::string& topic, uint32_t partition,
                                       Leadership* leadership, int64_t after_epoch = 0);
  // All partitions of the topic are led by nodes that run.
  testing::AssertionResult AwaitAllLed(const std::string& topic);

 private:
  // Asks one node once; says what is missing.
  std::string AskQuorum(int32_t id, const std::string& topic, uint32_t partition,
                        PartitionQuorum* quorum) const;

  std::string folder_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Stubs>> stubs_;
};

}  // namespace quorum::integration
