// The threads around the shards. What shards do is tested elsewhere; here they own no replica.

#include "service/server/shard_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <utility>

#include "service/server/loop_thread.h"
#include "service/server/system_clock.h"

namespace quorum::server {
namespace {

constexpr Duration kLong = std::chrono::seconds(30);

class NoWriter : public storage::LogWriter {
 public:
  void Submit(storage::WriteSet, std::function<void()> on_durable) override { on_durable(); }
};

class NoReader : public storage::LogReader {
 public:
  void Read(const storage::ReadRequest&, std::function<void(storage::ReadResult)> done) override {
    done(std::vector<RecordBatch>());
  }
};

class NoTransport : public shard::PeerTransport {
 public:
  void Send(shard::LaneRequest, Duration, shard::PeerDone done) override { done(std::nullopt); }
};

shard::ShardConfig Config() {
  shard::ShardConfig config;
  config.cluster_id = "test";
  config.self = ReplicaKey{NodeId(1), DirectoryId{1, 1}};
  config.incarnation = Incarnation(1);
  config.seed = 1;
  return config;
}

class ShardPoolTest : public testing::Test {
 protected:
  ShardPoolTest() {
    NodeObserver::Outputs outputs;
    outputs.topic_name = [](TopicId) { return std::string("t"); };
    pool_ = std::make_unique<ShardPool>(
        Config(), 3, ShardPool::Parts{clock_, writer_, reader_, transport_, outputs});
  }

  SystemClock clock_;
  NoWriter writer_;
  NoReader reader_;
  NoTransport transport_;
  std::unique_ptr<ShardPool> pool_;
};

TEST_F(ShardPoolTest, ALaneBelongsToOneShardAndEachShardHasLanes) {
  std::set<shard::ShardApi*> owners;
  for (uint32_t lane = 0; lane < 16; ++lane) {
    owners.insert(&pool_->ForLane(Lane(lane)));
    EXPECT_EQ(&pool_->ForLane(Lane(lane)), &pool_->ForLane(Lane(lane)));
  }
  EXPECT_EQ(owners.size(), 3u);
}

TEST_F(ShardPoolTest, ThereAreNoMoreShardsThanLanes) {
  shard::ShardConfig config = Config();
  config.lane_count = 2;
  NodeObserver::Outputs outputs;
  outputs.topic_name = [](TopicId) { return std::string("t"); };
  const ShardPool pool(config, 3, ShardPool::Parts{clock_, writer_, reader_, transport_, outputs});
  EXPECT_EQ(pool.stats().size(), 2u);
}

TEST_F(ShardPoolTest, APartitionGoesWhereItsLaneGoes) {
  for (uint32_t index = 0; index < 100; ++index) {
    const PartitionId partition{TopicId(9), index};
    EXPECT_EQ(&pool_->ForPartition(partition), &pool_->ForLane(shard::LaneOf(partition, 16)));
  }
}

TEST_F(ShardPoolTest, WorkThatWasPostedBeforeTheStartIsDone) {
  Waker answered;
  shard::DescribeCall call{kMetadataPartition, [&](const shard::PartitionDescription& found) {
                             EXPECT_EQ(found.error, raft::RaftError::kUnknownTopicOrPartition);
                             answered.Wake();
                           }};
  ASSERT_TRUE(pool_->ForPartition(kMetadataPartition).Post(std::move(call)));
  EXPECT_FALSE(answered.WaitUntil(clock_.Now(), clock_));
  pool_->Start();
  EXPECT_TRUE(answered.WaitUntil(clock_.Now() + kLong, clock_));
}

TEST_F(ShardPoolTest, AHandOverThatEveryShardFinishesIsTrue) {
  pool_->Start();
  EXPECT_TRUE(pool_->HandOver(kLong));
}

TEST_F(ShardPoolTest, AHandOverThatNoShardAnswersIsFalse) {
  // Nothing runs.
  EXPECT_FALSE(pool_->HandOver(std::chrono::milliseconds(1)));
}

TEST_F(ShardPoolTest, ALoopThatRestsIsNotOldAndOneThatStandsStillIs) {
  EXPECT_EQ(pool_->OldestRound(clock_.Now()), Duration::zero());
  pool_->Start();
  EXPECT_LT(pool_->OldestRound(clock_.Now()), kLong);
  EXPECT_GE(pool_->OldestRound(clock_.Now() + kLong), kLong - std::chrono::seconds(2));
}

TEST_F(ShardPoolTest, CallsReachEachShard) {
  pool_->Start();
  int made = 0;
  EXPECT_TRUE(pool_->PostAll([&made] {
    ++made;
    return shard::ShardCall(shard::ResignAllCall());
  }));
  EXPECT_EQ(made, 3);
  EXPECT_EQ(pool_->stats().size(), 3u);
  EXPECT_EQ(pool_->replica_count(), 0u);
}

}  // namespace
}  // namespace quorum::server
