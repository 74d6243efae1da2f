// quorumctl end to end against a scripted node: what it writes where, and its exit codes.

#include "client/quorumctl/quorumctl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/client/fake_node.h"
#include "tests/client/quorumctl_fixture.h"

namespace quorum::client::quorumctl {
namespace {

using ::testing::HasSubstr;

constexpr char kDirectory[] = "00000000-0000-0000-0000-000000000001";

v1::TopicDescription Orders() {
  v1::TopicDescription topic;
  topic.set_topic_id(17);
  topic.set_name("orders");
  topic.set_partition_count(2);
  topic.set_replica_count(3);
  for (uint32_t index = 0; index < 2; ++index) {
    auto* partition = topic.add_partitions();
    partition->set_partition(index);
    partition->set_state(index == 0 ? v1::PARTITION_STATE_CREATED : v1::PARTITION_STATE_CREATING);
    for (const int32_t id : {1, 2, 3}) partition->add_replicas()->set_node_id(id);
  }
  topic.mutable_partitions(0)->set_leader_id(2);
  topic.mutable_partitions(0)->set_leader_epoch(4);
  return topic;
}

TEST_F(QuorumctlTest, TopicCreate_Table) {
  v1::CreateTopicResponse answer;
  *answer.mutable_topic() = Orders();
  SetAnswer(node_.create_topic, answer);
  const Output output = Run({"topic", "create", "orders", "--partitions=2", "--replicas=3"});
  EXPECT_EQ(output.code, ExitCode::kDone);
  EXPECT_EQ(output.out, "created orders (topic id 17): partitions 2, replicas 3\n");
  EXPECT_EQ(output.err, "");
  const auto requests = node_.create_topic.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].partitions(), 2u);
  EXPECT_EQ(requests[0].replicas(), 3u);
}

TEST_F(QuorumctlTest, TopicCreate_ExistsAlready) {
  Fail(node_.create_topic, {google::rpc::ALREADY_EXISTS,
                            "TOPIC_ALREADY_EXISTS",
                            "topic orders exists",
                            {{"topic", "orders"}}});
  const Output output = Run({"topic", "create", "orders"});
  EXPECT_EQ(output.code, ExitCode::kRefused);
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(output.err,
            "quorumctl: create topic orders: refused, nothing was changed\n"
            "  why: TOPIC_ALREADY_EXISTS: topic orders exists\n"
            "  do:  see what it is: quorumctl topic describe orders\n");
}

TEST_F(QuorumctlTest, TopicCreate_LostConnectionIsUnknown) {
  node_.create_topic.Always(
      [](auto...) { return grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed"); });
  const Output output = Run({"topic", "create", "orders"});
  EXPECT_EQ(output.code, ExitCode::kUnknown);
  EXPECT_EQ(output.err,
            "quorumctl: create topic orders: outcome unknown, it was perhaps done\n"
            "  why: UNAVAILABLE: Socket closed\n"
            "  do:  read it back before repeating it: quorumctl topic describe orders\n");
}

TEST_F(QuorumctlTest, TopicDelete) {
  v1::DeleteTopicResponse answer;
  answer.set_topic_id(17);
  SetAnswer(node_.delete_topic, answer);
  EXPECT_EQ(Run({"topic", "delete", "orders"}).out, "deleted orders (topic id 17)\n");
  EXPECT_EQ(Run({"topic", "delete", "orders", "-o", "json"}).out, "{\"topicId\":\"17\"}\n");
  Fail(node_.delete_topic, {google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION", "no topic x"});
  const Output output = Run({"topic", "delete", "x"});
  EXPECT_EQ(output.code, ExitCode::kNotFound);
  EXPECT_EQ(output.err,
            "quorumctl: delete topic x: not found, nothing was changed\n"
            "  why: UNKNOWN_TOPIC_OR_PARTITION: no topic x\n"
            "  do:  see what exists: quorumctl topic list\n");
}

TEST_F(QuorumctlTest, TopicList_JoinsThePages) {
  node_.list_topics.Always([](grpc::ServerContext*, const v1::ListTopicsRequest& request,
                              v1::ListTopicsResponse* answer) {
    auto* topic = answer->add_topics();
    topic->set_name(request.page_token().empty() ? "orders" : "stock");
    topic->set_topic_id(request.page_token().empty() ? 17 : 118);
    topic->set_partition_count(2);
    topic->set_replica_count(3);
    if (request.page_token().empty()) answer->set_next_page_token("more");
    return grpc::Status::OK;
  });
  EXPECT_EQ(Run({"topic", "list"}).out,
            "TOPIC   PARTITIONS  REPLICAS   ID\n"
            "orders           2         3   17\n"
            "stock            2         3  118\n");
  EXPECT_EQ(Run({"topic", "list", "-o", "json"}).out,
            "{\"topics\":["
            "{\"topicId\":\"17\",\"name\":\"orders\",\"partitionCount\":2,\"replicaCount\":3,"
            "\"internal\":false,\"partitions\":[]},"
            "{\"topicId\":\"118\",\"name\":\"stock\",\"partitionCount\":2,\"replicaCount\":3,"
            "\"internal\":false,\"partitions\":[]}],\"nextPageToken\":\"\"}\n");
}

TEST_F(QuorumctlTest, TopicDescribe) {
  v1::DescribeTopicResponse answer;
  *answer.mutable_topic() = Orders();
  SetAnswer(node_.describe_topic, answer);
  EXPECT_EQ(Run({"topic", "describe", "orders"}).out,
            "orders (topic id 17)\n"
            "\n"
            "PARTITION  STATE     LEADER  EPOCH  REPLICAS\n"
            "orders:0   created        2      4  1,2,3\n"
            "orders:1   creating       -      -  1,2,3\n");
  EXPECT_THAT(Run({"topic", "describe", "orders", "-o", "json"}).out,
              HasSubstr("\"partition\":0,\"leaderId\":2,\"leaderEpoch\":\"4\""));
}

auto Serve(std::vector<v1::TailResponse> messages) {
  return [messages](grpc::ServerContext*, const v1::TailRequest&, TailWriter writer) {
    for (const v1::TailResponse& message : messages) writer->Write(message);
    return grpc::Status::OK;
  };
}

v1::TailResponse SomeRecords() {
  v1::TailResponse message = RecordsMessage(5, 7, 8);
  auto* batch = message.mutable_records()->mutable_batches(0);
  batch->mutable_records(0)->set_key("k1");
  batch->mutable_records(0)->add_headers()->set_name("h");
  batch->mutable_records(1)->set_value(std::string("\0\n", 2));
  batch->mutable_records(2)->set_key("k1");
  batch->mutable_records(2)->clear_value();
  return message;
}

TEST_F(QuorumctlTest, Tail_Table) {
  node_.tail.Always(Serve({SomeRecords()}));
  const Output output = Run({"tail", "orders:0", "--from=5", "--max=3"});
  EXPECT_EQ(output.code, ExitCode::kDone);
  EXPECT_EQ(output.out,
            "         5  k1            v5\n"
            "         6  -             \\x00\\n\n"
            "         7  k1            (tombstone)\n");
  EXPECT_EQ(output.err, "");
  const auto requests = node_.tail.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].offset(), 5);
  EXPECT_EQ(requests[0].max_records(), 3);
}

TEST_F(QuorumctlTest, Tail_JsonIsAnObjectALine) {
  node_.tail.Always(Serve({SomeRecords()}));
  EXPECT_EQ(Run({"tail", "orders:0", "--until-end", "-o", "json"}).out,
            "{\"topic\":\"orders\",\"partition\":0,\"offset\":\"5\",\"leaderEpoch\":\"3\","
            "\"timestampMs\":\"1700000000000\",\"key\":\"azE=\",\"value\":\"djU=\","
            "\"headers\":[{\"name\":\"h\"}]}\n"
            "{\"topic\":\"orders\",\"partition\":0,\"offset\":\"6\",\"leaderEpoch\":\"3\","
            "\"timestampMs\":\"1700000000000\",\"value\":\"AAo=\",\"headers\":[]}\n"
            "{\"topic\":\"orders\",\"partition\":0,\"offset\":\"7\",\"leaderEpoch\":\"3\","
            "\"timestampMs\":\"1700000000000\",\"key\":\"azE=\",\"headers\":[]}\n");
}

TEST_F(QuorumctlTest, Tail_GoesOnAfterABreak) {
  node_.tail.Then([](grpc::ServerContext*, const v1::TailRequest&, TailWriter writer) {
    writer->Write(RecordsMessage(0, 0, 2));
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone");
  });
  node_.tail.Always(Serve({RecordsMessage(0, 1, 2)}));
  EXPECT_EQ(Run({"tail", "orders:0", "--max=2"}).out,
            "         0  -             v0\n"
            "         1  -             v1\n");
}

TEST_F(QuorumctlTest, Tail_Failures) {
  FakeError error{google::rpc::OUT_OF_RANGE, "OFFSET_OUT_OF_RANGE", "the log ends at 3"};
  node_.tail.Always([error](auto...) { return ToStatus(error); });
  const Output output = Run({"tail", "orders:0", "--from=9"});
  EXPECT_EQ(output.code, ExitCode::kFailed);
  EXPECT_EQ(output.err,
            "quorumctl: tail orders:0: failed\n"
            "  why: OFFSET_OUT_OF_RANGE: the log ends at 3\n"
            "  do:  begin within the log: --from=earliest\n");
  error = {google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION", "no"};
  node_.tail.Always([error](auto...) { return ToStatus(error); });
  EXPECT_EQ(Run({"tail", "orders:0"}).code, ExitCode::kNotFound);
}

v1::ListOffsetsResponse SomeOffsets() {
  v1::ListOffsetsResponse answer;
  auto* topic = answer.add_topics();
  topic->set_topic("orders");
  auto* entry = topic->add_partitions();
  entry->set_partition(0);
  entry->set_earliest_offset(0);
  entry->set_latest_offset(120);
  entry->set_leader_epoch(4);
  entry->set_leader_id(2);
  return answer;
}

TEST_F(QuorumctlTest, Offsets) {
  SetAnswer(node_.list_offsets, SomeOffsets());
  EXPECT_EQ(Run({"offsets", "orders:0"}).out,
            "PARTITION  EARLIEST  LATEST  EPOCH  LEADER\n"
            "orders:0          0     120      4       2\n");
  EXPECT_EQ(Run({"offsets", "orders:0", "-o", "json"}).out,
            "{\"topic\":\"orders\",\"partition\":0,\"stale\":false,\"earliestOffset\":\"0\","
            "\"latestOffset\":\"120\",\"leaderEpoch\":\"4\",\"leaderId\":2}\n");
  EXPECT_THAT(Run({"offsets", "orders", "-o", "json"}).out,
              HasSubstr("{\"topic\":\"orders\",\"partitions\":[{\"stale\":false,\"partition\":0,"));
}

TEST_F(QuorumctlTest, Offsets_UnknownTopicAndEmptyAnswer) {
  v1::ListOffsetsResponse answer;
  auto* topic = answer.add_topics();
  topic->set_topic("orders");
  *topic->mutable_error() = ToRpcStatus({google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION"});
  SetAnswer(node_.list_offsets, answer);
  EXPECT_EQ(Run({"offsets", "orders:0"}).code, ExitCode::kNotFound);
  SetAnswer(node_.list_offsets, v1::ListOffsetsResponse());
  EXPECT_EQ(Run({"offsets", "orders:0"}).code, ExitCode::kFailed);
}

v1::DescribeQuorumResponse SomeQuorum() {
  v1::DescribeQuorumResponse answer;
  auto* topic = answer.add_topics();
  topic->set_topic("orders");
  topic->set_topic_id(17);
  auto* entry = topic->add_partitions();
  entry->set_partition(0);
  entry->set_leader_id(1);
  entry->set_leader_epoch(4);
  entry->set_high_watermark(119);
  entry->set_log_start_offset(0);
  entry->set_log_end_offset(120);
  const auto add = [entry](int32_t id, bool voter, v1::ReplicaRole role) {
    auto* replica = voter ? entry->add_current_voters() : entry->add_observers();
    replica->set_node_id(id);
    replica->set_directory_id(kDirectory);
    replica->set_role(role);
    return replica;
  };
  add(1, true, v1::REPLICA_ROLE_LEADER)->set_log_end_offset(120);
  auto* follower = add(2, true, v1::REPLICA_ROLE_FOLLOWER);
  follower->set_log_end_offset(119);
  follower->mutable_last_fetch_age()->set_nanos(20'000'000);
  follower->mutable_last_caught_up_age()->set_seconds(1);
  add(3, true, v1::REPLICA_ROLE_UNSPECIFIED);
  add(4, false, v1::REPLICA_ROLE_OBSERVER)->set_log_end_offset(60);
  return answer;
}

TEST_F(QuorumctlTest, QuorumDescribe_OnePartition) {
  SetAnswer(node_.describe_quorum, SomeQuorum());
  const Output output = Run({"quorum", "describe", "orders:0"});
  EXPECT_EQ(output.code, ExitCode::kDone);
  EXPECT_EQ(output.out,
            "orders:0  leader 1  epoch 4  high watermark 119  log 0 to 120\n"
            "\n"
            "NODE  KIND      ROLE      LOG END  LAG  FETCHED  CAUGHT UP  DIRECTORY\n"
            "   1  voter     leader        120    0        -          -  "
            "00000000-0000-0000-0000-000000000001\n"
            "   2  voter     follower      119    1    0.02s      1.00s  "
            "00000000-0000-0000-0000-000000000001\n"
            "   3  voter     -               -    -        -          -  "
            "00000000-0000-0000-0000-000000000001\n"
            "   4  observer  observer       60   60        -          -  "
            "00000000-0000-0000-0000-000000000001\n");
}

TEST_F(QuorumctlTest, QuorumDescribe_OnePartitionAsJsonHasTheLeader) {
  SetAnswer(node_.describe_quorum, SomeQuorum());
  EXPECT_THAT(Run({"quorum", "describe", "orders:0", "-o", "json"}).out,
              ::testing::AllOf(
                  ::testing::StartsWith("{\"topic\":\"orders\",\"partition\":0,"),
                  HasSubstr("\"leaderId\":1,\"leaderEpoch\":\"4\",\"highWatermark\":\"119\"")));
}

TEST_F(QuorumctlTest, QuorumDescribe_TopicShowsPartitionsWithoutLeader) {
  v1::DescribeQuorumResponse answer = SomeQuorum();
  auto* entry = answer.mutable_topics(0)->add_partitions();
  entry->set_partition(1);
  *entry->mutable_error() =
      ToRpcStatus({google::rpc::UNAVAILABLE, "LEADER_NOT_AVAILABLE", "no leader"});
  SetAnswer(node_.describe_quorum, answer);
  const Output output = Run({"quorum", "describe", "orders"});
  EXPECT_EQ(output.code, ExitCode::kUnreachable);
  EXPECT_EQ(output.out,
            "PARTITION  LEADER  EPOCH  HIGH WATERMARK  LOG END  VOTERS  OBSERVERS  ERROR\n"
            "orders:0        1      4             119      120  1,2,3   4          -\n"
            "orders:1        -      -               -        -  -       -          "
            "LEADER_NOT_AVAILABLE\n");
  EXPECT_EQ(output.err,
            "quorumctl: describe quorum orders:1: no answer in time\n"
            "  why: LEADER_NOT_AVAILABLE: no leader\n"
            "  do:  wait longer with --timeout, or see who is missing: "
            "quorumctl quorum describe orders:1 --stale-ok\n");
  EXPECT_EQ(node_.describe_quorum.requests().size(), 1u) << "a diagnosis does not wait";
}

TEST_F(QuorumctlTest, ClusterDescribe) {
  v1::DescribeClusterResponse answer;
  answer.set_cluster_id("c1");
  answer.set_node_id(1);
  answer.set_controller_id(2);
  answer.set_controller_epoch(7);
  answer.set_topic_count(1);
  answer.set_partition_count(3);
  for (const int32_t id : {1, 2}) {
    auto* node = answer.add_nodes();
    node->set_node_id(id);
    node->set_directory_id(kDirectory);
    auto* endpoint = node->add_endpoints();
    endpoint->set_listener("client");
    endpoint->set_address("127.0.0.1:710" + std::to_string(id));
    node->set_software_version("0.1.0");
  }
  answer.mutable_nodes(0)->set_live(true);
  answer.mutable_nodes(1)->set_live(false);
  SetAnswer(node_.describe_cluster, answer);
  EXPECT_EQ(Run({"cluster", "describe"}).out,
            "cluster c1  controller 2  epoch 7  topics 1  partitions 3\n"
            "\n"
            "NODE  LIVE  ADDRESS                VERSION  DIRECTORY\n"
            "   1  yes   client=127.0.0.1:7101  0.1.0    00000000-0000-0000-0000-000000000001\n"
            "   2  no    client=127.0.0.1:7102  0.1.0    00000000-0000-0000-0000-000000000001\n");
  EXPECT_THAT(Run({"cluster", "describe", "-o", "json"}).out,
              HasSubstr("\"controllerId\":2,\"controllerEpoch\":\"7\""));
}

TEST_F(QuorumctlTest, Elect) {
  v1::ElectLeaderResponse answer;
  auto* entry = answer.add_topics()->add_partitions();
  entry->set_partition(0);
  entry->set_leader_id(2);
  entry->set_leader_epoch(8);
  SetAnswer(node_.elect_leader, answer);
  EXPECT_EQ(Run({"elect", "orders:0", "--to=2"}).out, "orders:0 is led by node 2 in epoch 8\n");
  EXPECT_EQ(node_.elect_leader.requests()[0].topics(0).partitions(0).node_id(), 2);
  const Output other = Run({"elect", "orders:0", "--to=3"});
  EXPECT_EQ(other.code, ExitCode::kFailed) << "another one was elected";
  EXPECT_EQ(other.out, "orders:0 is led by node 2 in epoch 8\n");
  EXPECT_EQ(other.err, "quorumctl: node 3 does not lead orders:0, another one was faster\n");
  *entry->mutable_error() = ToRpcStatus({google::rpc::NOT_FOUND, "VOTER_NOT_FOUND", "no voter"});
  SetAnswer(node_.elect_leader, answer);
  EXPECT_EQ(Run({"elect", "orders:0", "--to=9"}).code, ExitCode::kNotFound);
}

// Takes that many characters, and fails then.
class FullPipe : public std::stringbuf {
 public:
  explicit FullPipe(size_t left) : left_(left) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (static_cast<size_t>(count) > left_) return 0;
    left_ -= static_cast<size_t>(count);
    return std::stringbuf::xsputn(text, count);
  }

 private:
  size_t left_;
};

TEST_F(QuorumctlTest, StatusWatch_LooksAgainUntilItsReaderHasGone) {
  v1::DescribeClusterResponse cluster;
  cluster.set_cluster_id("c1");
  SetAnswer(node_.describe_cluster, cluster);
  v1::ListTopicsResponse topics;
  *topics.add_topics() = Orders();
  SetAnswer(node_.list_topics, topics);
  SetAnswer(node_.describe_quorum, SomeQuorum());
  std::istringstream input;
  std::ostringstream err;
  FullPipe pipe(2000);
  std::ostream out(&pipe);
  Streams streams{input, out, err};
  RunQuorumctl({"status", "--watch=1ms", "--bootstrap=" + node_.address()}, streams);
  EXPECT_GT(node_.describe_cluster.requests().size(), 3u);
  EXPECT_THAT(pipe.str(), HasSubstr("cluster c1"));
  EXPECT_EQ(err.str(), "");
}

TEST_F(QuorumctlTest, Status_AsksForManyTopicsTogether) {
  SetAnswer(node_.describe_cluster, v1::DescribeClusterResponse());
  v1::ListTopicsResponse listed;
  for (int i = 0; i < 100; ++i) {
    v1::TopicDescription* topic = listed.add_topics();
    topic->set_name("t" + std::to_string(i));
    topic->set_partition_count(i == 50 ? 5000 : 30);
  }
  SetAnswer(node_.list_topics, listed);
  node_.describe_quorum.Always([](grpc::ServerContext*, const v1::DescribeQuorumRequest& request,
                                  v1::DescribeQuorumResponse* answer) {
    for (const auto& asked : request.topics()) {
      *answer->add_topics() = SomeQuorum().topics(0);
      answer->mutable_topics()->rbegin()->set_topic(asked.topic());
      if (asked.topic() != "t7") continue;
      *answer->mutable_topics()->rbegin()->mutable_error() =
          ToRpcStatus({google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION"});
      answer->mutable_topics()->rbegin()->clear_partitions();
    }
    return grpc::Status::OK;
  });
  const Output output = Run({"status"});
  EXPECT_EQ(output.code, ExitCode::kDone) << output.err;
  EXPECT_THAT(output.out, HasSubstr("partitions 99: 0 leaderless"));
  // 50 topics of 30 partitions, a large one, and 49 more.
  const auto requests = node_.describe_quorum.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].topics_size(), 50);
  EXPECT_EQ(requests[1].topics_size(), 1);
  EXPECT_EQ(requests[2].topics_size(), 49);
}

TEST_F(QuorumctlTest, Status_DoesNotKnowWhoLivesWithoutAController) {
  v1::DescribeClusterResponse cluster;
  cluster.add_nodes()->set_node_id(1);
  SetAnswer(node_.describe_cluster, cluster);
  SetAnswer(node_.describe_quorum, SomeQuorum());
  EXPECT_THAT(Run({"status", "orders"}).out, HasSubstr("nodes ? of 1 live"));
  cluster.mutable_nodes(0)->set_live(false);
  SetAnswer(node_.describe_cluster, cluster);
  EXPECT_THAT(Run({"status", "orders"}).out, HasSubstr("nodes 0 of 1 live"));
}

TEST_F(QuorumctlTest, Status_AVoterThatIsSilentForLongIsBehind) {
  SetAnswer(node_.describe_cluster, v1::DescribeClusterResponse());
  v1::DescribeQuorumResponse answer = SomeQuorum();
  auto* quorum = answer.mutable_topics(0)->mutable_partitions(0);
  quorum->mutable_current_voters(2)->set_log_end_offset(120);
  SetAnswer(node_.describe_quorum, answer);
  EXPECT_THAT(Run({"status", "orders"}).out, HasSubstr("0 behind, 1 well"));
  quorum->mutable_current_voters(2)->mutable_last_fetch_age()->set_seconds(3600);
  SetAnswer(node_.describe_quorum, answer);
  EXPECT_THAT(Run({"status", "orders"}).out, HasSubstr("1 behind, 0 well"));
}

TEST_F(QuorumctlTest, ADiagnosisDoesNotWaitLongForAPartitionWithoutLeader) {
  node_.describe_quorum.Always([](grpc::ServerContext* context, const v1::DescribeQuorumRequest&,
                                  v1::DescribeQuorumResponse* answer) {
    const gpr_timespec now = gpr_now(context->raw_deadline().clock_type);
    EXPECT_LT(gpr_time_sub(context->raw_deadline(), now).tv_sec, 3);
    *answer = SomeQuorum();
    return grpc::Status::OK;
  });
  EXPECT_EQ(Run({"quorum", "describe", "orders:0"}).code, ExitCode::kDone);
}

TEST_F(QuorumctlTest, Status_FitsTheScreen) {
  SetAnswer(node_.describe_cluster, v1::DescribeClusterResponse());
  v1::ListTopicsResponse topics;
  *topics.add_topics() = Orders();
  SetAnswer(node_.list_topics, topics);
  v1::DescribeQuorumResponse answer = SomeQuorum();
  for (uint32_t index = 1; index < 50; ++index) {
    *answer.mutable_topics(0)->add_partitions() = answer.topics(0).partitions(0);
    answer.mutable_topics(0)->mutable_partitions(static_cast<int>(index))->set_partition(index);
  }
  SetAnswer(node_.describe_quorum, answer);
  std::istringstream input;
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{input, out, err};
  streams.out_rows = 24;
  RunQuorumctl({"status", "--bootstrap=" + node_.address()}, streams);
  const std::string text = out.str();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 24);
  EXPECT_THAT(text, HasSubstr("and 32 more\n"));
}

TEST_F(QuorumctlTest, WrongCommandLine_SendsNothing) {
  const Output output = Run({"append", "orders"});
  EXPECT_EQ(output.code, ExitCode::kUsage);
  EXPECT_TRUE(node_.append.requests().empty());
}

}  // namespace
}  // namespace quorum::client::quorumctl
