// The planted bugs of the simulated disk do what their names say. That the simulator finds them is
// its own test.

#include <gtest/gtest.h>

#include "service/base/plant.h"
#include "storage/memory/memory_disk.h"
#include "tests/storage/store_fixtures.h"

namespace quorum::storage {
namespace {

class MemoryDiskPlantTest : public ::testing::Test {
 protected:
  MemoryDiskPlantTest() : disk_(&clock_) {
    EXPECT_FALSE(disk_.Format(MakePlan()).has_value());
    EXPECT_FALSE(disk_.Recover(MakeExpected(), &store_).has_value());
  }
  ~MemoryDiskPlantTest() override { plants::SetPlant(Plant::kNone); }

  ManualClock clock_;
  MemoryDisk disk_;
  RecoveredStore store_;
};

TEST_F(MemoryDiskPlantTest, M40RaisesTheFloorBeforeTheSync) {
  plants::SetPlant(Plant::kM40);
  disk_.Submit(BirthSet(kPartition), [] {});
  disk_.Crash({0, 0});
  const auto error = disk_.Recover(MakeExpected(), &store_);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->reason, kBehindAckedFloor);
}

TEST_F(MemoryDiskPlantTest, M41LeavesARecoveredTailUnsynced) {
  plants::SetPlant(Plant::kM41);
  disk_.Submit(BirthSet(kPartition), [] {});
  disk_.CompleteWrites(1);
  disk_.Submit(AppendSet(kPartition, 0, 1, true), [] {});
  disk_.Crash({0, 1});
  ASSERT_FALSE(disk_.Recover(MakeExpected(), &store_).has_value());
  ASSERT_EQ(FindReplica(store_, kPartition)->log_end, Offset(1));
  disk_.Crash({0, 0});
  disk_.PowerCut();
  ASSERT_FALSE(disk_.Recover(MakeExpected(), &store_).has_value());
  EXPECT_EQ(FindReplica(store_, kPartition)->log_end, Offset(0));
}

TEST_F(MemoryDiskPlantTest, M41TailIsDurableOnceAnythingIsSynced) {
  plants::SetPlant(Plant::kM41);
  disk_.Submit(BirthSet(kPartition), [] {});
  disk_.Crash({0, 1});
  ASSERT_FALSE(disk_.Recover(MakeExpected(), &store_).has_value());
  disk_.Submit(AppendSet(kPartition, 0, 1, true), [] {});
  disk_.CompleteWrites(1);
  disk_.Crash({0, 0});
  disk_.PowerCut();
  ASSERT_FALSE(disk_.Recover(MakeExpected(), &store_).has_value());
  EXPECT_EQ(FindReplica(store_, kPartition)->log_end, Offset(1));
}

}  // namespace
}  // namespace quorum::storage
