// SharedCluster: a suite of tests that do no harm shares one cluster of three nodes, with the topic
// "orders": two partitions, three replicas.
//
// Thread: the test's main thread.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/integration/cluster.h"

namespace quorum::integration {

inline constexpr char kOrders[] = "orders";

class SharedClusterTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    holder() = std::make_unique<Cluster>(ClusterOptions());
    ASSERT_TRUE(cluster().Start());
    ASSERT_TRUE(cluster().CreateTopic(kOrders, 2, 3));
  }
  static void TearDownTestSuite() { holder().reset(); }

  // Whatever was asked, the nodes still run and take appends.
  void TearDown() override {
    for (const int32_t id : cluster().ids()) {
      ASSERT_TRUE(cluster().node(id).running()) << "node " << id << " has ended";
    }
    v1::AppendResponse response;
    const grpc::Status status = Call(*cluster().stubs(1).log, &v1::LogService::Stub::Append,
                                     AppendOf(kOrders, 0, {"still here"}), &response);
    ASSERT_TRUE(status.ok()) << FailureOf(status);
  }

  static Cluster& cluster() { return *holder(); }
  static const Stubs& any() { return cluster().stubs(1); }

  // A node that leads partition 0, and one that does not.
  static Leadership LeaderOfOrders() {
    Leadership leadership;
    EXPECT_TRUE(cluster().AwaitLeader(kOrders, 0, &leadership));
    return leadership;
  }

 private:
  static std::unique_ptr<Cluster>& holder() {
    static std::unique_ptr<Cluster> cluster;
    return cluster;
  }
};

}  // namespace quorum::integration
