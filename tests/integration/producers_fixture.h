// A cluster with one topic that producers append to, and ways to harm whoever leads it.
//
// Thread: the test's.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/await.h"
#include "tests/integration/cluster.h"
#include "tests/integration/history_checker.h"
#include "tests/integration/stubs.h"
#include "tests/integration/workload.h"

namespace quorum::integration {

inline constexpr char kTopic[] = "orders";

class ProducersTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Start());
    ASSERT_TRUE(cluster_.CreateTopic(kTopic, 1, 3));
    ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &leadership_));
  }

  // Kills the leader, waits for another one, and starts it again.
  void KillLeader() {
    const Leadership before = leadership_;
    cluster_.node(before.leader).Kill();
    ASSERT_TRUE(cluster_.AwaitLeader(kTopic, 0, &leadership_, before.epoch));
    ASSERT_TRUE(cluster_.Start());
  }

  // Pauses the leader until another one is elected and the writers have gone on. It wakes with
  // what it had in its hands.
  void PauseLeader(const std::function<testing::AssertionResult()>& await_some) {
    const Leadership before = leadership_;
    cluster_.node(before.leader).Pause();
    testing::AssertionResult went_on = cluster_.AwaitLeader(kTopic, 0, &leadership_, before.epoch);
    if (went_on) went_on = await_some();
    cluster_.node(before.leader).Resume();
    ASSERT_TRUE(went_on);
    ASSERT_TRUE(cluster_.AwaitServing());
  }

  // Kills and pauses leaders by turns, with time for the writers in between.
  void HarmLeaders(const std::function<testing::AssertionResult()>& await_some) {
    for (int round = 0; round < 4; ++round) {
      ASSERT_TRUE(await_some());
      if (round % 2 == 0) {
        ASSERT_NO_FATAL_FAILURE(KillLeader());
      } else {
        ASSERT_NO_FATAL_FAILURE(PauseLeader(await_some));
      }
    }
    ASSERT_TRUE(await_some());
  }

  // Whether the partition kept its promises to all who appended.
  void CheckPromises(std::vector<AppendOperation> appends, std::vector<LeaderSighting> leaders) {
    PartitionHistory history;
    history.partition = absl::StrCat(kTopic, ":0");
    history.appends = std::move(appends);
    history.leaders = std::move(leaders);
    ASSERT_TRUE(ReadReplicas(&cluster_, kTopic, 0, &history));
    EXPECT_THAT(CheckHistory(history), testing::IsEmpty());
  }

  // The whole committed log, as a node that leads shows it.
  std::vector<LoggedRecord> ReadLog() {
    EXPECT_TRUE(cluster_.AwaitLeader(kTopic, 0, &leadership_));
    v1::TailRequest request;
    request.set_topic(kTopic);
    request.set_partition(0);
    request.set_earliest(true);
    request.set_until_high_watermark(true);
    const TailRun run = RunTail(*cluster_.stubs(leadership_.leader).log, request, kWaitMax);
    EXPECT_TRUE(run.status.ok()) << run.status.error_message();
    return run.records;
  }

  grpc::Status Init(int32_t node, const std::string& name, v1::InitProducerResponse* response) {
    v1::InitProducerRequest request;
    if (!name.empty()) {
      request.set_name(name);
      request.set_topic(kTopic);
      request.set_partition(0);
    }
    return Call(*cluster_.stubs(node).log, &v1::LogService::Stub::InitProducer, request, response);
  }

  Cluster cluster_{ClusterOptions()};
  Leadership leadership_;
};

inline v1::AppendRequest Stamped(const v1::InitProducerResponse& producer, int64_t sequence,
                                 const std::string& payload) {
  v1::AppendRequest request = AppendOf(kTopic, 0, {payload});
  v1::ProducerStamp* stamp = request.mutable_producer();
  stamp->set_producer_id(producer.producer_id());
  stamp->set_producer_epoch(producer.producer_epoch());
  stamp->set_base_sequence(sequence);
  return request;
}

}  // namespace quorum::integration
