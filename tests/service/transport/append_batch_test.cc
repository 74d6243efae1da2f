// AppendBatch on its way to leaders on other nodes: one call for each of them, and each entry keeps
// its own outcome.

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "quorum/v1/log.grpc.pb.h"
#include "service/base/mutex.h"
#include "service/transport/call_error.h"
#include "tests/service/transport/client_node.h"

namespace quorum::transport {
namespace {

using Entry = v1::AppendBatchResponse::Partition;
using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

google::rpc::Status Refusal(v1::ErrorReason reason) {
  return CallError(reason, "as the test says").Refused().ToRpc();
}

// A leader that the test plays: it counts calls and answers entries as it is told to.
class Leader : public v1::LogService::Service {
 public:
  using Answer = std::function<void(uint32_t partition, Entry* entry)>;

  explicit Leader(int32_t node) : node_(node) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Leader() override { server_->Shutdown(std::chrono::system_clock::time_point::min()); }

  grpc::Status Append(grpc::ServerContext*, const v1::AppendRequest*,
                      v1::AppendResponse* response) override {
    ++single_;
    response->set_base_offset(1);
    response->set_leader_epoch(3);
    response->set_leader_id(node_);
    return grpc::Status::OK;
  }

  grpc::Status AppendBatch(grpc::ServerContext*, const v1::AppendBatchRequest* request,
                           v1::AppendBatchResponse* response) override {
    MutexLock lock(&mutex_);
    requests_.push_back(*request);
    if (!failure_.ok()) return failure_;
    for (const auto& asked : request->topics()) {
      auto* topic = response->add_topics();
      topic->set_topic(asked.topic());
      for (const auto& partition : asked.partitions()) {
        Entry* entry = topic->add_partitions();
        entry->set_partition(partition.partition());
        answer_(partition.partition(), entry);
      }
    }
    return grpc::Status::OK;
  }

  void OnEntry(Answer answer) {
    MutexLock lock(&mutex_);
    answer_ = std::move(answer);
  }
  void FailWith(grpc::Status status) {
    MutexLock lock(&mutex_);
    failure_ = std::move(status);
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  int32_t node() const { return node_; }
  int single() const { return single_; }
  std::vector<v1::AppendBatchRequest> requests() const {
    MutexLock lock(&mutex_);
    return requests_;
  }
  // The partitions of each call, in the order of the calls.
  std::vector<std::vector<uint32_t>> Asked() const {
    std::vector<std::vector<uint32_t>> asked;
    for (const auto& request : requests()) {
      asked.emplace_back();
      for (const auto& topic : request.topics()) {
        for (const auto& partition : topic.partitions()) {
          asked.back().push_back(partition.partition());
        }
      }
    }
    return asked;
  }

 private:
  const int32_t node_;
  int port_ = 0;
  std::atomic<int> single_{0};
  mutable Mutex mutex_;
  Answer answer_ ABSL_GUARDED_BY(mutex_) = [](uint32_t partition, Entry* entry) {
    entry->mutable_committed()->set_base_offset(100 + partition);
    entry->mutable_committed()->set_leader_epoch(3);
  };
  grpc::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::AppendBatchRequest> requests_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
};

// Node 1 is asked; nodes 2 and 3 lead.
class AppendBatchTest : public testing::Test {
 protected:
  AppendBatchTest() {
    one_.catalog.Add(21, "many", 100, {1, 2, 3});
    controller::NodeView third;
    third.key = KeyOf(3);
    one_.catalog.nodes.push_back(third);
    one_.addresses.Set(NodeId(2), two_.address());
    one_.addresses.Set(NodeId(3), three_.address());
    one_.shards.on_call = [](shard::ShardCall call) {
      std::get<shard::AppendCall>(call).done(NotLeaderResult(0));
    };
    // A forward waits for no connection and goes to another replica meanwhile, so they must stand
    // before it is looked at.
    Connect(two_);
    Connect(three_);
  }

  static PartitionId Many(uint32_t index) { return PartitionId{TopicId(21), index}; }

  void Hint(uint32_t index, int32_t leader) {
    one_.hints.Note(Many(index),
                    shard::LeaderHint{ReplicaKey{NodeId(leader), {7, 7}}, Epoch(++epoch_)});
  }

  void Connect(const Leader& leader) {
    for (int tries = 0; tries < 1'000 && leader.single() == 0; ++tries) {
      Hint(0, leader.node());
      AppendOne();
    }
    ASSERT_GT(leader.single(), 0);
  }

  void AppendOne() {
    v1::AppendRequest request;
    request.set_topic("many");
    request.set_partition(0);
    request.add_records()->set_value("v");
    v1::AppendResponse response;
    grpc::ClientContext context;
    const grpc::Status status = one_.log().Append(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  std::vector<Entry> AppendTo(const std::vector<uint32_t>& partitions) {
    return Append(RequestFor(partitions));
  }

  static v1::AppendBatchRequest RequestFor(const std::vector<uint32_t>& partitions) {
    v1::AppendBatchRequest request;
    auto* topic = request.add_topics();
    topic->set_topic("many");
    for (const uint32_t index : partitions) {
      auto* partition = topic->add_partitions();
      partition->set_partition(index);
      partition->add_records()->set_value(absl::StrCat("v", index));
      partition->set_leader_epoch(3);
    }
    return request;
  }

  std::vector<Entry> Append(const v1::AppendBatchRequest& request) {
    v1::AppendBatchResponse response;
    grpc::ClientContext context;
    const grpc::Status status = one_.log().AppendBatch(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<Entry> entries;
    if (response.topics_size() != 1) return entries;
    for (const Entry& entry : response.topics(0).partitions()) entries.push_back(entry);
    return entries;
  }

  int64_t epoch_ = 0;
  Leader two_{2};
  Leader three_{3};
  ClientNode one_{1};
};

TEST_F(AppendBatchTest, IsOneCallForEachLeader) {
  std::vector<uint32_t> all;
  for (uint32_t index = 0; index < 100; ++index) {
    Hint(index, index % 2 == 0 ? 2 : 3);
    all.push_back(index);
  }
  const int single = two_.single() + three_.single();
  const std::vector<Entry> entries = AppendTo(all);
  ASSERT_THAT(entries, SizeIs(100));
  for (const uint32_t index : all) {
    EXPECT_EQ(entries[index].partition(), index);
    EXPECT_EQ(entries[index].committed().base_offset(), 100 + index);
  }
  ASSERT_THAT(two_.requests(), SizeIs(1));
  ASSERT_THAT(three_.requests(), SizeIs(1));
  EXPECT_EQ(two_.single() + three_.single(), single);
  const v1::AppendBatchRequest request = three_.requests()[0];
  EXPECT_EQ(request.forwarded_by(), 1);
  EXPECT_EQ(request.cluster_id(), "c-1");
  EXPECT_GT(request.timeout().seconds(), 0);
  ASSERT_EQ(request.topics_size(), 1);
  EXPECT_EQ(request.topics(0).topic(), "many");
  ASSERT_EQ(request.topics(0).partitions_size(), 50);
  EXPECT_EQ(request.topics(0).partitions(3).partition(), 7u);
  EXPECT_EQ(request.topics(0).partitions(3).records(0).value(), "v7");
  EXPECT_EQ(request.topics(0).partitions(3).leader_epoch(), 3);
}

TEST_F(AppendBatchTest, EachEntryKeepsItsOwnOutcome) {
  two_.OnEntry([](uint32_t partition, Entry* entry) {
    switch (partition) {
      case 0:
        entry->mutable_committed()->set_base_offset(40);
        return;
      case 1:
        *entry->mutable_refused() = Refusal(v1::ERROR_REASON_THROTTLED);
        return;
      case 2:
        *entry->mutable_unknown() = CallError(v1::ERROR_REASON_COMMIT_UNKNOWN, "perhaps").ToRpc();
        return;
      case 3:
        return;  // No outcome at all.
      case 4:
        entry->mutable_unknown();  // OK.
        return;
      case 5:
        *entry->mutable_unknown() = Refusal(v1::ERROR_REASON_THROTTLED);
        return;
      default:
        entry->mutable_refused();  // OK.
    }
  });
  for (uint32_t index = 0; index < 7; ++index) Hint(index, 2);
  const std::vector<Entry> entries = AppendTo({0, 1, 2, 3, 4, 5, 6});
  ASSERT_THAT(entries, SizeIs(7));
  EXPECT_EQ(entries[0].committed().base_offset(), 40);
  EXPECT_TRUE(HasReason(entries[1].refused(), v1::ERROR_REASON_THROTTLED));
  EXPECT_TRUE(HasReason(entries[2].unknown(), v1::ERROR_REASON_COMMIT_UNKNOWN));
  for (size_t i = 3; i < 7; ++i) EXPECT_TRUE(entries[i].has_unknown()) << i;
  EXPECT_THAT(two_.requests(), SizeIs(1)) << "nothing that may be in a log is sent again";
}

TEST_F(AppendBatchTest, WhatIsNotLedThereIsAskedForElsewhereTogether) {
  two_.OnEntry([](uint32_t partition, Entry* entry) {
    if (partition < 2) {
      entry->mutable_committed()->set_base_offset(1);
      return;
    }
    *entry->mutable_refused() = CallError(v1::ERROR_REASON_NOT_LEADER, "node 3 leads")
                                    .With("leader_id", 3)
                                    .With("leader_epoch", 1'000'000)
                                    .Refused()
                                    .ToRpc();
  });
  for (uint32_t index = 0; index < 4; ++index) Hint(index, 2);
  const std::vector<Entry> entries = AppendTo({0, 1, 2, 3});
  ASSERT_THAT(entries, SizeIs(4));
  for (const Entry& entry : entries) EXPECT_TRUE(entry.has_committed()) << entry.ShortDebugString();
  EXPECT_THAT(two_.Asked(), ElementsAre(ElementsAre(0, 1, 2, 3)));
  EXPECT_THAT(three_.Asked(), ElementsAre(UnorderedElementsAre(2, 3)));
}

TEST_F(AppendBatchTest, ACallThatIsLostLeavesAllItsEntriesUnknown) {
  two_.FailWith(grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost"));
  for (uint32_t index = 0; index < 3; ++index) Hint(index, index == 2 ? 3 : 2);
  const std::vector<Entry> entries = AppendTo({0, 1, 2});
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_TRUE(entries[0].has_unknown());
  EXPECT_TRUE(entries[1].has_unknown());
  EXPECT_TRUE(entries[2].has_committed());
  EXPECT_THAT(two_.requests(), SizeIs(1));
}

TEST_F(AppendBatchTest, ACallThatIsRefusedRefusesAllItsEntries) {
  two_.FailWith(CallError(v1::ERROR_REASON_THROTTLED, "too much").Refused().ToGrpc());
  for (uint32_t index = 0; index < 2; ++index) Hint(index, 2);
  const std::vector<Entry> entries = AppendTo({0, 1});
  ASSERT_THAT(entries, SizeIs(2));
  for (const Entry& entry : entries) {
    EXPECT_TRUE(HasReason(entry.refused(), v1::ERROR_REASON_THROTTLED));
  }
}

// What the log holds once only may be sent again; the entry beside it may not.
TEST_F(AppendBatchTest, AnEntryWithAProducerIsSentAgainAfterAnUnknownOutcome) {
  std::atomic<int> asked{0};
  two_.OnEntry([&](uint32_t partition, Entry* entry) {
    if (partition == 0 && asked.fetch_add(1) > 0) {
      entry->mutable_committed()->set_base_offset(40);
      entry->mutable_committed()->set_duplicate(true);
      return;
    }
    *entry->mutable_unknown() = CallError(v1::ERROR_REASON_COMMIT_UNKNOWN, "perhaps").ToRpc();
  });
  for (uint32_t index = 0; index < 2; ++index) Hint(index, 2);
  v1::AppendBatchRequest request = RequestFor({0, 1});
  auto* entry = request.mutable_topics(0)->mutable_partitions(0);
  entry->mutable_producer()->set_producer_id(7);
  entry->mutable_producer()->set_producer_epoch(1);
  entry->mutable_producer()->set_base_sequence(40);
  entry->set_expected_offset(5);
  const std::vector<Entry> entries = Append(request);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_TRUE(entries[0].committed().duplicate()) << entries[0].ShortDebugString();
  EXPECT_TRUE(entries[1].has_unknown());
  EXPECT_THAT(two_.Asked(), ElementsAre(ElementsAre(0, 1), ElementsAre(0)));
  for (const v1::AppendBatchRequest& sent : two_.requests()) {
    const auto& first = sent.topics(0).partitions(0);
    EXPECT_EQ(first.producer().producer_id(), 7);
    EXPECT_EQ(first.producer().producer_epoch(), 1);
    EXPECT_EQ(first.producer().base_sequence(), 40);
    EXPECT_EQ(first.expected_offset(), 5);
  }
}

TEST_F(AppendBatchTest, AfterAnUnknownOutcomeARefusalOfAnEntryProvesNothing) {
  two_.OnEntry([this](uint32_t, Entry* entry) {
    *entry->mutable_unknown() = CallError(v1::ERROR_REASON_COMMIT_UNKNOWN, "perhaps").ToRpc();
    Hint(0, 3);
  });
  three_.OnEntry([](uint32_t, Entry* entry) {
    *entry->mutable_refused() = Refusal(v1::ERROR_REASON_PRODUCER_FENCED);
  });
  Hint(0, 2);
  v1::AppendBatchRequest request = RequestFor({0});
  auto* producer = request.mutable_topics(0)->mutable_partitions(0)->mutable_producer();
  producer->set_producer_id(7);
  producer->set_producer_epoch(1);
  producer->set_base_sequence(40);
  const std::vector<Entry> entries = Append(request);
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_TRUE(entries[0].has_unknown()) << entries[0].ShortDebugString();
  EXPECT_THAT(two_.requests(), SizeIs(1));
  EXPECT_THAT(three_.requests(), SizeIs(1));
}

}  // namespace
}  // namespace quorum::transport
