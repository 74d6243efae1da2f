#include "storage/memory/memory_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/storage/store_fixtures.h"

namespace quorum::storage {
namespace {

using ::testing::ElementsAre;

class MemoryDiskTest : public ::testing::Test {
 protected:
  MemoryDiskTest() : disk_(&clock_) {
    EXPECT_FALSE(disk_.Format(MakePlan()).has_value());
    EXPECT_EQ(Reopen(), "none");
  }

  // Starts a process on the disk; the reason when that is refused.
  std::string Reopen() {
    const auto error = disk_.Recover(MakeExpected(), &store_);
    return error.has_value() ? error->reason : "none";
  }

  // Submits `set`; its number goes to done_ when it is durable.
  void Submit(WriteSet set, int number) {
    disk_.Submit(std::move(set), [this, number] { done_.push_back(number); });
  }

  // Births kPartition and appends [0, 1), [1, 2) and so on of epoch 1, without completing anything.
  void SubmitLog(int batches) {
    Submit(BirthSet(kPartition), 0);
    for (int i = 0; i < batches; ++i) Submit(AppendSet(kPartition, i, 1, i == 0), i + 1);
  }

  // -1 when the replica is absent.
  int64_t LogEnd() const {
    const RecoveredReplica* replica = FindReplica(store_, kPartition);
    return replica == nullptr ? -1 : replica->log_end.value();
  }

  ManualClock clock_;
  MemoryDisk disk_;
  RecoveredStore store_;
  std::vector<int> done_;
};

TEST_F(MemoryDiskTest, CompletesInOrderAndCountsOneSyncAGroup) {
  const uint64_t syncs = disk_.syncs();
  SubmitLog(3);
  EXPECT_TRUE(disk_.HasPending());
  EXPECT_TRUE(disk_.CompleteWrites(3));
  EXPECT_THAT(done_, ElementsAre(0, 1, 2));
  EXPECT_EQ(disk_.syncs(), syncs + 1);
  EXPECT_TRUE(disk_.CompleteWrites(10));
  EXPECT_THAT(done_, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(disk_.CompleteWrites(1));
}

TEST_F(MemoryDiskTest, TellsWhenSomethingIsPending) {
  int writes = 0;
  int reads = 0;
  disk_.SetObservers([&writes] { ++writes; }, [&reads] { ++reads; });
  SubmitLog(2);
  EXPECT_EQ(writes, 1);
  disk_.CompleteWrites(3);
  Submit(ElectionSet(kPartition, 2, 1), 9);
  EXPECT_EQ(writes, 2);
  disk_.Read({kPartition, Offset(0), Offset(2), 1000}, [](const ReadResult&) {});
  disk_.Read({kPartition, Offset(0), Offset(2), 1000}, [](const ReadResult&) {});
  EXPECT_EQ(reads, 1);
}

TEST_F(MemoryDiskTest, ReadsWhatIsDurable) {
  SubmitLog(3);
  disk_.CompleteWrites(3);
  std::vector<int64_t> bases;
  disk_.Read({kPartition, Offset(0), Offset(3), 1 << 20}, [&bases](const ReadResult& result) {
    ASSERT_TRUE(result.ok());
    for (const RecordBatch& batch : *result) bases.push_back(batch.base_offset().value());
  });
  EXPECT_TRUE(disk_.HasPendingReads());
  EXPECT_TRUE(disk_.CompleteReads(1));
  EXPECT_THAT(bases, ElementsAre(0, 1));
  EXPECT_FALSE(disk_.HasPendingReads());
}

TEST_F(MemoryDiskTest, ACrashLosesWhatWasNotSynced) {
  SubmitLog(3);
  disk_.CompleteWrites(2);
  disk_.Crash({0, 0});
  EXPECT_FALSE(disk_.CompleteWrites(5));
  EXPECT_THAT(done_, ElementsAre(0, 1));
  ASSERT_EQ(Reopen(), "none");
  EXPECT_EQ(LogEnd(), 1);
}

TEST_F(MemoryDiskTest, ACrashLeavesAnyPrefix) {
  for (size_t kept = 0; kept <= 4; ++kept) {
    MemoryDisk disk(&clock_);
    ASSERT_FALSE(disk.Format(MakePlan()).has_value());
    ASSERT_FALSE(disk.Recover(MakeExpected(), &store_).has_value());
    bool completed = false;
    const auto complete = [&completed] { completed = true; };
    disk.Submit(BirthSet(kPartition), complete);
    for (int i = 0; i < 3; ++i) disk.Submit(AppendSet(kPartition, i, 1, i == 0), complete);
    disk.Crash({kept / 2, kept});
    ASSERT_FALSE(disk.Recover(MakeExpected(), &store_).has_value());
    EXPECT_EQ(LogEnd(), static_cast<int64_t>(kept) - 1);
    EXPECT_FALSE(completed);
  }
}

TEST_F(MemoryDiskTest, APowerCutTakesThePageCache) {
  SubmitLog(3);
  disk_.Crash({2, 4});
  disk_.PowerCut();
  ASSERT_EQ(Reopen(), "none");
  EXPECT_EQ(LogEnd(), 1);
}

TEST_F(MemoryDiskTest, WhatWasRecoveredIsDurable) {
  SubmitLog(3);
  disk_.Crash({0, 4});
  ASSERT_EQ(Reopen(), "none");
  ASSERT_EQ(LogEnd(), 3);
  disk_.Crash({0, 0});
  disk_.PowerCut();
  ASSERT_EQ(Reopen(), "none");
  EXPECT_EQ(LogEnd(), 3);
}

TEST_F(MemoryDiskTest, RaisesTheIncarnationAtEachStart) {
  EXPECT_EQ(store_.node.incarnation, Incarnation(1));
  disk_.Crash({0, 0});
  ASSERT_EQ(Reopen(), "none");
  EXPECT_EQ(store_.node.incarnation, Incarnation(2));
}

TEST_F(MemoryDiskTest, TheFloorIsExactForExactSetsAndOneBehindForOthers) {
  Submit(BirthSet(kPartition), 0);
  disk_.CompleteWrites(1);
  EXPECT_EQ(disk_.acked_floor(), disk_.synced_number());
  Submit(AppendSet(kPartition, 0, 1, true), 1);
  disk_.CompleteWrites(1);
  EXPECT_EQ(disk_.acked_floor() + 1, disk_.synced_number());
  disk_.RaiseIdleFloor();
  EXPECT_EQ(disk_.acked_floor(), disk_.synced_number());
}

TEST_F(MemoryDiskTest, ARestoredBackupIsBehindTheFloor) {
  SubmitLog(1);
  disk_.CompleteWrites(2);
  MemoryImage backup = disk_.SaveDatabase();
  Submit(ElectionSet(kPartition, 2, 3), 5);
  disk_.CompleteWrites(1);
  disk_.Crash({0, 0});
  disk_.RestoreDatabase(std::move(backup));
  EXPECT_EQ(Reopen(), kBehindAckedFloor);
  EXPECT_EQ(Reopen(), kBehindAckedFloor) << "A refusal must change nothing.";
}

TEST_F(MemoryDiskTest, AWipedDiskIsRefusedAndMayBeFormatted) {
  disk_.Crash({0, 0});
  disk_.Wipe();
  EXPECT_EQ(Reopen(), kNotFormatted);
  FormatPlan plan = MakePlan(true);
  plan.identity.directory = DirectoryId{5, 5};
  ASSERT_FALSE(disk_.Format(plan).has_value());
  ASSERT_EQ(Reopen(), "none");
  EXPECT_EQ(store_.node.directory, (DirectoryId{5, 5}));
  EXPECT_TRUE(store_.replicas.empty());
}

TEST_F(MemoryDiskTest, FormattingTwiceChangesNothing) {
  const uint64_t number = disk_.synced_number();
  EXPECT_FALSE(disk_.Format(MakePlan()).has_value());
  EXPECT_EQ(disk_.synced_number(), number);
  FormatPlan other = MakePlan();
  other.identity.cluster_id = "other";
  EXPECT_EQ(disk_.Format(other)->reason, kClusterMismatch);
  other = MakePlan();
  other.identity.directory = DirectoryId{5, 5};
  EXPECT_EQ(disk_.Format(other)->reason, kDirectoryMismatch);
}

TEST_F(MemoryDiskTest, AnotherNodeIsRefused) {
  RecoveredStore store;
  EXPECT_EQ(disk_.Recover({"test", NodeId(2)}, &store)->reason, kNodeMismatch);
  EXPECT_EQ(disk_.Recover({"else", NodeId(1)}, &store)->reason, kClusterMismatch);
}

TEST_F(MemoryDiskTest, AStuckDiskCompletesNothingAndTheWatchdogCounts) {
  EXPECT_EQ(disk_.watchdog().Outstanding(clock_.Now()), Duration::zero());
  SubmitLog(1);
  disk_.SetStuck(true);
  clock_.Advance(std::chrono::seconds(3));
  EXPECT_FALSE(disk_.CompleteWrites(2));
  EXPECT_EQ(disk_.watchdog().Outstanding(clock_.Now()), std::chrono::seconds(3));
  disk_.SetStuck(false);
  EXPECT_TRUE(disk_.CompleteWrites(2));
  EXPECT_EQ(disk_.watchdog().Outstanding(clock_.Now()), Duration::zero());
}

TEST_F(MemoryDiskTest, AFlippedBitOfALogIsThatReplicasDamage) {
  Prng prng(1);
  EXPECT_FALSE(disk_.FlipBitOfLog(kPartition, &prng));
  SubmitLog(3);
  disk_.CompleteWrites(4);
  ASSERT_TRUE(disk_.FlipBitOfLog(kPartition, &prng));
  disk_.Crash({0, 0});
  ASSERT_EQ(Reopen(), "none");
  EXPECT_TRUE(FindReplica(store_, kPartition)->damage.has_value());
  EXPECT_FALSE(FindReplica(store_, kMetadataPartition)->damage.has_value());
}

TEST_F(MemoryDiskTest, AFlippedBitOfAQuorumStateIsRefused) {
  Prng prng(1);
  disk_.Crash({0, 0});
  ASSERT_TRUE(disk_.FlipBit(ColumnFamily::kQuorumState, &prng));
  EXPECT_EQ(Reopen(), kCorrupt);
}

}  // namespace
}  // namespace quorum::storage
