// Three nodes with real shards, elected and replicated over real connections: what the fakes of the
// other tests leave out.

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "quorum/v1/admin.grpc.pb.h"
#include "quorum/v1/log.grpc.pb.h"
#include "service/transport/call_error.h"
#include "tests/service/transport/cluster_node.h"

namespace quorum::transport {
namespace {

class ClusterTest : public testing::Test {
 protected:
  ClusterTest() {
    for (const int32_t id : {1, 2, 3}) {
      nodes_.push_back(std::make_unique<ClusterNode>(id, std::vector<int32_t>{1, 2, 3}));
    }
    for (const auto& node : nodes_) {
      for (const auto& other : nodes_) {
        if (node->id != other->id) node->Knows(*other);
      }
    }
  }

  static void SetDeadline(grpc::ClientContext* context) {
    context->set_deadline(gpr_time_from_seconds(30, GPR_TIMESPAN));
  }

  // Appends until it is committed. An attempt of unknown outcome may leave its record too, so each
  // has a value of its own: `value` and the number of the attempt.
  static std::string Append(ClusterNode* node, const std::string& value) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      const std::string written = absl::StrCat(value, "/", attempt);
      v1::AppendRequest request;
      request.set_topic("orders");
      request.set_partition(0);
      request.add_records()->set_value(written);
      grpc::ClientContext context;
      SetDeadline(&context);
      v1::AppendResponse response;
      if (node->log().Append(&context, request, &response).ok()) return written;
    }
    ADD_FAILURE() << "never committed";
    return "";
  }

  // The node that leads, as the node asked finds out.
  static int32_t Leader(ClusterNode* node) {
    v1::DescribeQuorumRequest request;
    request.add_topics()->set_topic("orders");
    grpc::ClientContext context;
    SetDeadline(&context);
    v1::DescribeQuorumResponse response;
    EXPECT_TRUE(node->admin().DescribeQuorum(&context, request, &response).ok());
    if (response.topics_size() != 1 || response.topics(0).partitions_size() != 1) return 0;
    EXPECT_EQ(response.topics(0).partitions(0).current_voters_size(), 3);
    return response.topics(0).partitions(0).leader_id();
  }

  // Values from the beginning, until `last` has come.
  static std::vector<std::string> ReadUntil(ClusterNode* node, const std::string& last) {
    v1::TailRequest request;
    request.set_topic("orders");
    request.set_partition(0);
    request.set_earliest(true);
    grpc::ClientContext context;
    SetDeadline(&context);
    const auto reader = node->log().Tail(&context, request);
    std::vector<std::string> values;
    v1::TailResponse message;
    while ((values.empty() || values.back() != last) && reader->Read(&message)) {
      Collect(message, &values);
    }
    context.TryCancel();
    (void)reader->Finish();
    return values;
  }

  static void Collect(const v1::TailResponse& message, std::vector<std::string>* values) {
    for (const v1::RecordBatch& batch : message.records().batches()) {
      for (const v1::Record& record : batch.records()) values->push_back(record.value());
    }
  }

  // Every acknowledged value is there once, in order.
  static void ExpectHolds(const std::vector<std::string>& values,
                          const std::vector<std::string>& acknowledged) {
    size_t next = 0;
    for (const std::string& value : values) {
      if (next < acknowledged.size() && value == acknowledged[next]) ++next;
    }
    EXPECT_EQ(next, acknowledged.size());
    for (const std::string& value : acknowledged) {
      EXPECT_EQ(std::count(values.begin(), values.end(), value), 1) << value;
    }
  }

  std::vector<std::unique_ptr<ClusterNode>> nodes_;
};

TEST_F(ClusterTest, AnyNodeTakesAnAppendAndEveryReplicaShowsIt) {
  std::vector<std::string> acknowledged;
  for (int round = 0; round < 3; ++round) {
    for (const auto& node : nodes_) {
      acknowledged.push_back(Append(node.get(), absl::StrCat(round, "-", node->id)));
    }
  }
  for (const auto& node : nodes_)
    ExpectHolds(ReadUntil(node.get(), acknowledged.back()), acknowledged);
}

TEST_F(ClusterTest, TheLeadersEndIsSurvivedAndAnOpenTailGoesOn) {
  std::vector<std::string> acknowledged = {Append(nodes_[0].get(), "before")};
  const int32_t leader = Leader(nodes_[0].get());
  ASSERT_GE(leader, 1);
  ClusterNode* follower = nodes_[leader == 1 ? 1 : 0].get();

  v1::TailRequest request;
  request.set_topic("orders");
  request.set_partition(0);
  request.set_earliest(true);
  grpc::ClientContext context;
  SetDeadline(&context);
  const auto reader = follower->log().Tail(&context, request);
  std::vector<std::string> values;
  v1::TailResponse message;
  while (values.empty() && reader->Read(&message)) Collect(message, &values);
  ASSERT_FALSE(values.empty());
  const int64_t first_epoch = message.records().batches(0).leader_epoch();

  nodes_[static_cast<size_t>(leader - 1)]->Stop();
  for (int i = 0; i < 5; ++i) {
    acknowledged.push_back(Append(follower, absl::StrCat("after-", i)));
  }
  bool new_epoch = false;
  // The progress that tells of it may come before the records or after them.
  while ((values.back() != acknowledged.back() || !new_epoch) && reader->Read(&message)) {
    Collect(message, &values);
    new_epoch |= message.has_progress() && message.progress().leader_epoch() > first_epoch;
  }
  ExpectHolds(values, acknowledged);
  EXPECT_TRUE(new_epoch);
  EXPECT_NE(Leader(follower), leader);
  context.TryCancel();
  (void)reader->Finish();
}

TEST_F(ClusterTest, LeadershipIsMovedWhereItIsWanted) {
  (void)Append(nodes_[0].get(), "one");
  const int32_t leader = Leader(nodes_[0].get());
  const int32_t wanted = leader == 3 ? 1 : leader + 1;
  v1::ElectLeaderRequest request;
  request.add_topics()->set_topic("orders");
  request.mutable_topics(0)->add_partitions()->set_partition(0);
  request.mutable_topics(0)->mutable_partitions(0)->set_node_id(wanted);
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::ElectLeaderResponse response;
  ASSERT_TRUE(nodes_[0]->admin().ElectLeader(&context, request, &response).ok());
  const auto& answer = response.topics(0).partitions(0);
  EXPECT_FALSE(answer.has_error()) << answer.ShortDebugString();
  EXPECT_NE(answer.leader_id(), leader);
  (void)Append(nodes_[1].get(), "two");
}

}  // namespace
}  // namespace quorum::transport
