#include "service/server/node_observer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "service/server/exit.h"
#include "tests/service/server/fake_clock.h"

namespace quorum::server {
namespace {

constexpr PartitionId kPartition{TopicId(17), 2};
constexpr ReplicaKey kLeader{NodeId(3), DirectoryId{1, 1}};

raft::TraceEvent Transition(raft::RoleKind from, raft::RoleKind to) {
  raft::TraceEvent event;
  event.kind = raft::TraceKind::kTransition;
  event.epoch = Epoch(5);
  event.from = from;
  event.to = to;
  event.offset = Offset(98);
  event.reason = "a test";
  return event;
}

class NodeObserverTest : public testing::Test {
 protected:
  NodeObserverTest() {
    NodeObserver::Outputs outputs;
    outputs.topic_name = [](TopicId) { return std::string("orders"); };
    outputs.hints = &hints_;
    const std::string path = TracePath();
    std::remove(path.c_str());
    const auto error = TraceFile::Open(path, &clock_, NodeId(1), &trace_);
    EXPECT_FALSE(error.has_value());
    trace_->SetIncarnation(Incarnation(4));
    outputs.trace = trace_.get();
    observer_ = std::make_unique<NodeObserver>(&stats_, &clock_, std::move(outputs));
  }

  static std::string TracePath() { return absl::StrCat(getenv("TEST_TMPDIR"), "/trace"); }

  static std::string Trace() {
    std::ostringstream text;
    text << std::ifstream(TracePath()).rdbuf();
    return text.str();
  }

  // What is logged while `run` runs.
  template <typename Run>
  static std::string LogOf(const Run& run) {
    const bool before = FLAGS_logtostderr;
    FLAGS_logtostderr = true;
    testing::internal::CaptureStderr();
    run();
    FLAGS_logtostderr = before;
    return testing::internal::GetCapturedStderr();
  }

  FakeClock clock_;
  ShardStats stats_;
  transport::LeaderHints hints_;
  std::unique_ptr<TraceFile> trace_;
  std::unique_ptr<NodeObserver> observer_;
};

TEST_F(NodeObserverTest, ElectionsAreCountedWhenTheyBeginAndWhenTheyAreWon) {
  observer_->OnTrace(kPartition,
                     Transition(raft::RoleKind::kProspective, raft::RoleKind::kCandidate));
  EXPECT_EQ(stats_.elections, 1u);
  EXPECT_EQ(stats_.elections_won, 0u);
  observer_->OnTrace(kPartition, Transition(raft::RoleKind::kCandidate, raft::RoleKind::kLeader));
  EXPECT_EQ(stats_.elections, 1u);
  EXPECT_EQ(stats_.elections_won, 1u);
  EXPECT_EQ(stats_.role_changes, 2u);
}

TEST_F(NodeObserverTest, EverythingElseHasItsCounter) {
  raft::TraceEvent event;
  event.kind = raft::TraceKind::kVoteGranted;
  observer_->OnTrace(kPartition, event);
  event.kind = raft::TraceKind::kVoteRefused;
  observer_->OnTrace(kPartition, event);
  observer_->OnTrace(kPartition, event);
  event.kind = raft::TraceKind::kTruncation;
  observer_->OnTrace(kPartition, event);
  observer_->OnAppend(3, 100);
  observer_->OnReplicas(12);
  observer_->OnRefusal(raft::RaftError::kThrottled);
  observer_->OnAppendJudged(shard::AppendRefusal::kNone);
  observer_->OnAppendJudged(shard::AppendRefusal::kProducerFenced);
  EXPECT_EQ(stats_.duplicates, 1u);
  EXPECT_EQ(stats_.append_refusals[0], 1u);
  EXPECT_EQ(stats_.append_refusals[1], 0u);
  EXPECT_EQ(stats_.votes_granted, 1u);
  EXPECT_EQ(stats_.votes_refused, 2u);
  EXPECT_EQ(stats_.truncations, 1u);
  EXPECT_EQ(stats_.appended_batches, 1u);
  EXPECT_EQ(stats_.appended_records, 3u);
  EXPECT_EQ(stats_.appended_bytes, 100u);
  EXPECT_EQ(stats_.replicas, 12u);
  EXPECT_EQ(stats_.refusals[RefusalIndex(raft::RaftError::kThrottled)], 1u);
}

TEST_F(NodeObserverTest, NoErrorIsNoRefusal) {
  observer_->OnRefusal(raft::RaftError::kNone);
  for (const Counter& refusals : stats_.refusals) EXPECT_EQ(refusals, 0u);
}

TEST_F(NodeObserverTest, ARoleChangeIsOneLineWithTheFixedPrefix) {
  raft::TraceEvent watermark;
  watermark.kind = raft::TraceKind::kHighWatermark;
  watermark.offset = Offset(90);
  raft::TraceEvent event = Transition(raft::RoleKind::kCandidate, raft::RoleKind::kLeader);
  event.leader = kLeader;
  const std::string log = LogOf([&] {
    observer_->OnTrace(kPartition, watermark);
    observer_->OnTrace(kPartition, event);
  });
  EXPECT_NE(log.find("] [p=orders:2 e=5 Leader hw=90 leo=98] was Candidate: a test; leader=3\n"),
            std::string::npos)
      << log;
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1);
}

TEST_F(NodeObserverTest, AForgottenWatermarkIsUnknown) {
  raft::TraceEvent watermark;
  watermark.kind = raft::TraceKind::kHighWatermark;
  watermark.offset = Offset(90);
  observer_->OnTrace(kPartition, watermark);
  observer_->Forget([](PartitionId) { return false; });
  const std::string log = LogOf([&] {
    observer_->OnTrace(kPartition,
                       Transition(raft::RoleKind::kFollower, raft::RoleKind::kUnattached));
  });
  EXPECT_NE(log.find("hw=- "), std::string::npos) << log;
}

TEST_F(NodeObserverTest, LinesOfOneSecondAreBounded) {
  const auto event = Transition(raft::RoleKind::kFollower, raft::RoleKind::kUnattached);
  std::string log = LogOf([&] {
    for (size_t i = 0; i < LineLimit::kLinesPerSecond + 40; ++i) {
      observer_->OnTrace(kPartition, event);
    }
  });
  EXPECT_EQ(static_cast<size_t>(std::count(log.begin(), log.end(), '\n')),
            LineLimit::kLinesPerSecond);
  clock_.Advance(std::chrono::seconds(1));
  log = LogOf([&] { observer_->OnTrace(kPartition, event); });
  EXPECT_NE(log.find("40 lines about partitions were left out"), std::string::npos) << log;
}

TEST_F(NodeObserverTest, AnEpochWithoutARoleChangeIsAHintAndNoLine) {
  raft::TraceEvent event = Transition(raft::RoleKind::kFollower, raft::RoleKind::kFollower);
  event.leader = kLeader;
  const std::string log = LogOf([&] { observer_->OnTrace(kPartition, event); });
  EXPECT_EQ(log, "");
  EXPECT_EQ(hints_.Find(kPartition).leader, kLeader);
  EXPECT_EQ(hints_.Find(kPartition).epoch, Epoch(5));
}

TEST_F(NodeObserverTest, TheTraceHasAnObjectALine) {
  raft::TraceEvent event = Transition(raft::RoleKind::kCandidate, raft::RoleKind::kLeader);
  event.leader = kLeader;
  observer_->OnTrace(kPartition, event);
  event.kind = raft::TraceKind::kHighWatermark;
  event.leader.reset();
  event.reason = "";
  observer_->OnTrace(kPartition, event);
  EXPECT_EQ(Trace(),
            "{\"timeMs\":1700000000000,\"nodeId\":1,\"incarnation\":4,\"topicId\":17,"
            "\"partition\":2,\"event\":\"transition\",\"epoch\":5,\"from\":\"Candidate\","
            "\"to\":\"Leader\",\"leaderId\":3,\"offset\":98,\"reason\":\"a test\"}\n"
            "{\"timeMs\":1700000000000,\"nodeId\":1,\"incarnation\":4,\"topicId\":17,"
            "\"partition\":2,\"event\":\"high_watermark\",\"epoch\":5,\"offset\":98}\n");
}

TEST(TraceFileTest, APathThatCannotBeOpenedIsBadConfiguration) {
  const FakeClock clock;
  std::unique_ptr<TraceFile> trace;
  const auto error = TraceFile::Open("/does/not/exist/trace", &clock, NodeId(1), &trace);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->exit_code, storage::kExitBadConfig);
  EXPECT_EQ(error->reason, kTraceFile);
}

}  // namespace
}  // namespace quorum::server
