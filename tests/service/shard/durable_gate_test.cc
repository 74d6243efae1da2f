#include "service/shard/durable_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/service/shard/shard_fixtures.h"

namespace quorum::shard {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DurableGateTest : public ::testing::Test {
 protected:
  void Wait(uint64_t number, const std::string& name, uint64_t incarnation = 0) {
    gate_.Wait(number, DurableGate::Item{Id(1), incarnation, [this, name](bool current) {
                                           seen_.push_back(name + (current ? "" : " dropped"));
                                         }});
  }
  void Release(uint64_t number, uint64_t incarnation = 1) {
    gate_.Release(number, [incarnation](PartitionId id, uint64_t asked) {
      return id == Id(1) && asked == incarnation;
    });
  }

  DurableGate gate_;
  std::vector<std::string> seen_;
};

TEST_F(DurableGateTest, ReleasesInOrderAndNothingTooEarly) {
  Wait(2, "second");
  Wait(1, "first");
  Wait(2, "third");
  Wait(3, "later");
  EXPECT_EQ(gate_.size(), 4u);
  Release(0);
  EXPECT_THAT(seen_, IsEmpty());
  Release(2);
  EXPECT_THAT(seen_, ElementsAre("first", "second", "third"));
  EXPECT_EQ(gate_.size(), 1u);
  Release(9);
  EXPECT_THAT(seen_, ElementsAre("first", "second", "third", "later"));
  EXPECT_EQ(gate_.size(), 0u);
  Release(9);
  EXPECT_EQ(seen_.size(), 4u);
}

TEST_F(DurableGateTest, TellsWhatBelongsToAnEarlierRoleThatItIsDropped) {
  Wait(1, "old", 4);
  Wait(1, "current", 5);
  Wait(1, "fact", 0);
  Release(1, 5);
  EXPECT_THAT(seen_, ElementsAre("old dropped", "current", "fact"));
}

TEST_F(DurableGateTest, AnActionMayWaitAgain) {
  gate_.Wait(1, DurableGate::Item{Id(1), 0, [this](bool) {
                                    seen_.push_back("outer");
                                    Wait(2, "later");
                                    Wait(1, "inner");
                                  }});
  Release(1);
  EXPECT_THAT(seen_, ElementsAre("outer", "inner"));
  Release(2);
  EXPECT_THAT(seen_, ElementsAre("outer", "inner", "later"));
}

}  // namespace
}  // namespace quorum::shard
