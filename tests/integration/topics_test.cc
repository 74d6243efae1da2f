// Birth and death of topics: a topic that is deleted and created again under the same name shares
// nothing with the one before, also on a node that missed both.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/cluster.h"

namespace quorum::integration {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kTopic[] = "orders";

void Append(const Stubs& stubs, const std::string& value) {
  v1::AppendResponse response;
  const grpc::Status status =
      Call(*stubs.log, &v1::LogService::Stub::Append, AppendOf(kTopic, 0, {value}), &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
}

// What a node has on its own disk, up to what is committed.
std::vector<std::string> OwnRecords(Cluster* cluster, int32_t id) {
  PartitionQuorum quorum;
  EXPECT_TRUE(cluster->AwaitQuorum(kTopic, 0, &quorum));
  const int64_t end = quorum.high_watermark();
  std::vector<std::string> values;
  const testing::AssertionResult read =
      Await(absl::StrCat("node ", id, " has all records"), [&]() -> std::string {
        v1::TailRequest request;
        request.set_topic(kTopic);
        request.set_partition(0);
        request.set_earliest(true);
        request.set_no_forward(true);
        const TailRun run =
            RunTail(*cluster->stubs(id).log, request, kWaitMax,
                    [end](const TailRun& so_far) { return so_far.next_offset >= end; });
        values.clear();
        for (const LoggedRecord& record : run.records) values.push_back(record.payload);
        // A replica that is just being opened is not here yet.
        return run.status.ok() ? "" : run.status.error_message();
      });
  EXPECT_TRUE(read);
  return values;
}

uint64_t IdOf(const Cluster& cluster, int32_t id, Failure* failure) {
  v1::DescribeTopicRequest request;
  request.set_name(kTopic);
  v1::DescribeTopicResponse response;
  *failure = FailureOf(
      Call(*cluster.stubs(id).admin, &v1::AdminService::Stub::DescribeTopic, request, &response));
  return response.topic().topic_id();
}

TEST(TopicsTest, DeletedAndCreatedAgainMixNothing) {
  Cluster cluster{ClusterOptions()};
  ASSERT_TRUE(cluster.Start());
  ASSERT_TRUE(cluster.CreateTopic(kTopic, 1, 3));
  Failure failure;
  const uint64_t first_id = IdOf(cluster, 1, &failure);
  ASSERT_NO_FATAL_FAILURE(Append(cluster.stubs(2), "old"));
  for (const int32_t id : cluster.ids()) {
    EXPECT_THAT(OwnRecords(&cluster, id), ElementsAre("old"));
  }

  // Node 3 misses the deletion, and finds a successor of the name when it is back.
  cluster.node(3).Kill();
  ASSERT_TRUE(cluster.DeleteTopic(kTopic, 2));
  for (const int32_t id : {1, 2}) {
    ASSERT_TRUE(Await(absl::StrCat("node ", id, " has forgotten the topic"), [&]() -> std::string {
      IdOf(cluster, id, &failure);
      return failure.reason == "UNKNOWN_TOPIC_OR_PARTITION" ? "" : "it has not";
    }));
    v1::AppendResponse response;
    const grpc::Status status = Call(*cluster.stubs(id).log, &v1::LogService::Stub::Append,
                                     AppendOf(kTopic, 0, {"late"}), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << FailureOf(status);
    EXPECT_EQ(OutcomeOf(status), Outcome::kRefused) << FailureOf(status);
  }
  ASSERT_TRUE(cluster.Start());
  ASSERT_TRUE(Await("node 3 has forgotten the topic", [&]() -> std::string {
    IdOf(cluster, 3, &failure);
    return failure.reason == "UNKNOWN_TOPIC_OR_PARTITION" ? "" : "it has not";
  }));

  ASSERT_TRUE(cluster.CreateTopic(kTopic, 1, 3, /*through=*/3));
  EXPECT_GT(IdOf(cluster, 3, &failure), first_id);
  ASSERT_NO_FATAL_FAILURE(Append(cluster.stubs(1), "new"));
  for (const int32_t id : cluster.ids()) {
    EXPECT_THAT(OwnRecords(&cluster, id), ElementsAre("new")) << "node " << id;
  }
  // Nor does a replayed catalog resurrect the old one.
  for (const int32_t id : cluster.ids()) cluster.node(id).Kill();
  ASSERT_TRUE(cluster.Start());
  for (const int32_t id : cluster.ids()) {
    EXPECT_THAT(OwnRecords(&cluster, id), ElementsAre("new")) << "node " << id;
  }
}

TEST(TopicsTest, WhoAsksTheSameNodeNextFindsWhatItHasChanged) {
  Cluster cluster{ClusterOptions()};
  ASSERT_TRUE(cluster.Start());
  for (int round = 0; round < 5; ++round) {
    for (const int32_t id : cluster.ids()) {
      v1::CreateTopicRequest request;
      request.set_name(kTopic);
      v1::CreateTopicResponse created;
      const grpc::Status status =
          Call(*cluster.stubs(id).admin, &v1::AdminService::Stub::CreateTopic, request, &created);
      ASSERT_TRUE(status.ok()) << FailureOf(status);
      Failure failure;
      EXPECT_EQ(IdOf(cluster, id, &failure), created.topic().topic_id()) << failure;
      ASSERT_NO_FATAL_FAILURE(Append(cluster.stubs(id), "value"));
      ASSERT_TRUE(cluster.DeleteTopic(kTopic, id));
      EXPECT_EQ(IdOf(cluster, id, &failure), 0u);
      EXPECT_EQ(failure.reason, "UNKNOWN_TOPIC_OR_PARTITION");
    }
  }
}

TEST(TopicsTest, SuccessorOfTheNameOnANodeThatMissedBoth) {
  Cluster cluster{ClusterOptions()};
  ASSERT_TRUE(cluster.Start());
  ASSERT_TRUE(cluster.CreateTopic(kTopic, 1, 3));
  ASSERT_NO_FATAL_FAILURE(Append(cluster.stubs(1), "old"));
  EXPECT_THAT(OwnRecords(&cluster, 3), ElementsAre("old"));
  Leadership catalog;
  ASSERT_TRUE(cluster.AwaitLeader("__metadata", 0, &catalog));
  const int32_t absent = catalog.leader % 3 + 1;
  cluster.node(absent).Kill();
  ASSERT_TRUE(cluster.DeleteTopic(kTopic, catalog.leader));
  ASSERT_TRUE(cluster.AwaitLiveness());
  // Two live nodes take two replicas; the third stays without one.
  ASSERT_TRUE(cluster.CreateTopic(kTopic, 1, 2, catalog.leader));
  ASSERT_NO_FATAL_FAILURE(Append(cluster.stubs(catalog.leader), "new"));
  ASSERT_TRUE(cluster.Start());
  // Its own replica was the old topic's, so it must relay to show anything at all.
  v1::TailRequest request;
  request.set_topic(kTopic);
  request.set_partition(0);
  request.set_earliest(true);
  request.set_max_records(1);
  ASSERT_TRUE(Await("the node that was absent shows the new topic", [&]() -> std::string {
    const TailRun run = RunTail(*cluster.stubs(absent).log, request, kWaitMax);
    if (!run.status.ok()) return run.status.error_message();
    EXPECT_EQ(run.records.at(0).payload, "new");
    return "";
  }));
}

TEST(TopicsTest, ListedAndDescribedByEveryNode) {
  Cluster cluster{ClusterOptions()};
  ASSERT_TRUE(cluster.Start());
  for (const int32_t id : cluster.ids()) {
    ASSERT_TRUE(cluster.CreateTopic(absl::StrCat("topic", id), 2, 3, id));
  }
  for (const int32_t id : cluster.ids()) {
    ASSERT_TRUE(Await(absl::StrCat("node ", id, " lists them"), [&]() -> std::string {
      std::vector<std::string> names;
      v1::ListTopicsRequest request;
      request.set_page_size(2);
      do {
        v1::ListTopicsResponse response;
        const grpc::Status status =
            Call(*cluster.stubs(id).admin, &v1::AdminService::Stub::ListTopics, request, &response);
        if (!status.ok()) return status.error_message();
        for (const auto& topic : response.topics()) names.push_back(topic.name());
        request.set_page_token(response.next_page_token());
      } while (!request.page_token().empty());
      const std::vector<std::string> expected = {"topic1", "topic2", "topic3"};
      return names == expected ? "" : testing::PrintToString(names);
    }));
  }
}

}  // namespace
}  // namespace quorum::integration
