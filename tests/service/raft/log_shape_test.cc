// LogShape: C-150, and how far the completed writes reach: BUG-045 and BUG-062.

#include "service/raft/log_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/raft/leader_epochs.h"

namespace quorum::raft {
namespace {

LogShape EmptyLog() { return LogShape(Offset(0), Offset(0), LeaderEpochs()); }

// A recovered log: epoch 1 from 0, epoch 3 from 6, ending at 10.
LogShape TwoEpochs() {
  return LogShape(
      Offset(0), Offset(10),
      LeaderEpochs({std::make_pair(Epoch(1), Offset(0)), std::make_pair(Epoch(3), Offset(6))}));
}

TEST(LogShape, Recovered_IsDurableToItsEnd) {
  const LogShape log = TwoEpochs();
  EXPECT_EQ(log.start(), Offset(0));
  EXPECT_EQ(log.end(), Offset(10));
  EXPECT_EQ(log.durable_end(), Offset(10));
  EXPECT_EQ(log.EndPoint(), (OffsetAndEpoch{Offset(10), Epoch(3)}));
}

TEST(LogShape, Append_SaysWhetherAnEpochStarts) {
  LogShape log = TwoEpochs();
  EXPECT_FALSE(log.Append(Offset(10), Offset(12), Epoch(3), 1));
  EXPECT_TRUE(log.Append(Offset(12), Offset(13), Epoch(4), 1));
  EXPECT_FALSE(log.Append(Offset(13), Offset(14), Epoch(4), 2));
  EXPECT_EQ(log.end(), Offset(14));
  EXPECT_EQ(log.epochs().starts().back(), std::make_pair(Epoch(4), Offset(12)));
}

TEST(LogShapeDeathTest, C150_Append_AwayFromTheEnd_Dies) {
  LogShape log = TwoEpochs();
  EXPECT_DEATH(log.Append(Offset(9), Offset(12), Epoch(3), 1), "");
  EXPECT_DEATH(log.Append(Offset(11), Offset(12), Epoch(3), 1), "");
  EXPECT_DEATH(log.Append(Offset(0), Offset(1), Epoch(3), 1), "") << "KAFKA-12331";
  EXPECT_DEATH(log.Append(Offset(10), Offset(10), Epoch(3), 1), "") << "no records";
}

TEST(LogShapeDeathTest, C150_Append_OfALowerEpochThanTheLast_Dies) {
  LogShape log = TwoEpochs();
  EXPECT_DEATH(log.Append(Offset(10), Offset(11), Epoch(2), 1), "");
}

TEST(LogShapeDeathTest, TruncateTo_OutsideTheLog_Dies) {
  LogShape log(Offset(5), Offset(10), LeaderEpochs({std::make_pair(Epoch(1), Offset(5))}));
  EXPECT_DEATH(log.TruncateTo(Offset(11)), "");
  EXPECT_DEATH(log.TruncateTo(Offset(4)), "");
}

TEST(LogShape, C150_OnDurable_ReachesTheEndAtTheTimeOfTheWrite) {
  LogShape log = EmptyLog();
  log.Append(Offset(0), Offset(4), Epoch(1), 1);
  log.Append(Offset(4), Offset(7), Epoch(1), 2);
  EXPECT_EQ(log.durable_end(), Offset(0));
  EXPECT_TRUE(log.OnDurable(1));
  EXPECT_EQ(log.durable_end(), Offset(4)) << "write 2 is still on its way";
  EXPECT_TRUE(log.OnDurable(2));
  EXPECT_EQ(log.durable_end(), Offset(7));
}

TEST(LogShape, OnDurable_OfAWriteWithoutRecords_RaisesNothing) {
  LogShape log = EmptyLog();
  EXPECT_FALSE(log.OnDurable(1));
  log.Append(Offset(0), Offset(4), Epoch(1), 3);
  EXPECT_FALSE(log.OnDurable(2));
  EXPECT_EQ(log.durable_end(), Offset(0));
}

TEST(LogShape, BUG062_OnDurable_InAnyOrder_NeverGoesBack) {
  LogShape log = EmptyLog();
  log.Append(Offset(0), Offset(4), Epoch(1), 1);
  log.Append(Offset(4), Offset(7), Epoch(1), 2);
  log.Append(Offset(7), Offset(9), Epoch(1), 3);
  EXPECT_TRUE(log.OnDurable(2)) << "everything up to write 2 is synced";
  EXPECT_EQ(log.durable_end(), Offset(7));
  EXPECT_FALSE(log.OnDurable(1));
  EXPECT_EQ(log.durable_end(), Offset(7));
  EXPECT_TRUE(log.OnDurable(3));
  EXPECT_EQ(log.durable_end(), Offset(9));
}

TEST(LogShape, SeveralAppendsOfOneRound_AreDurableTogether) {
  LogShape log = EmptyLog();
  log.Append(Offset(0), Offset(4), Epoch(1), 5);
  log.Append(Offset(4), Offset(7), Epoch(1), 5);
  EXPECT_TRUE(log.OnDurable(5));
  EXPECT_EQ(log.durable_end(), Offset(7));
}

TEST(LogShape, TruncateTo_LowersTheDurableEndAndForgetsTheEpochs) {
  LogShape log = TwoEpochs();
  log.TruncateTo(Offset(6));
  EXPECT_EQ(log.end(), Offset(6));
  EXPECT_EQ(log.durable_end(), Offset(6));
  EXPECT_EQ(log.epochs().LastEpoch(), Epoch(1));
  log.TruncateTo(Offset(6));
  EXPECT_EQ(log.end(), Offset(6)) << "to its end changes nothing";
}

TEST(LogShape, BUG045_M37_TheCompletionOfACutTail_DoesNotCoverWhatReplacedIt) {
  LogShape log = EmptyLog();
  log.Append(Offset(0), Offset(100), Epoch(1), 1);
  log.TruncateTo(Offset(50));
  log.Append(Offset(50), Offset(80), Epoch(2), 2);
  EXPECT_TRUE(log.OnDurable(1));
  EXPECT_EQ(log.durable_end(), Offset(50)) << "50 to 79 are of write 2";
  EXPECT_TRUE(log.OnDurable(2));
  EXPECT_EQ(log.durable_end(), Offset(80));
}

TEST(LogShape, CutAndReplacedInTheRoundThatWroteIt_IsDurableWithThatRound) {
  LogShape log = EmptyLog();
  log.Append(Offset(0), Offset(100), Epoch(1), 1);
  log.TruncateTo(Offset(50));
  log.Append(Offset(50), Offset(80), Epoch(2), 1);
  EXPECT_TRUE(log.OnDurable(1));
  EXPECT_EQ(log.durable_end(), Offset(80));
}

TEST(LogShapeDeathTest, Append_InAnEarlierRoundThanTheLast_Dies) {
  LogShape log = EmptyLog();
  log.Append(Offset(0), Offset(1), Epoch(1), 2);
  EXPECT_DEATH(log.Append(Offset(1), Offset(2), Epoch(1), 1), "");
}

// The obvious way to know what is durable: each record remembers the round that wrote it.
class RoundPerRecord {
 public:
  void Append(int64_t count, uint64_t round) {
    rounds_.insert(rounds_.end(), static_cast<size_t>(count), round);
  }
  void TruncateTo(int64_t end) { rounds_.resize(static_cast<size_t>(end)); }
  void OnDurable(uint64_t round) { synced_ = std::max(synced_, round); }

  int64_t end() const { return static_cast<int64_t>(rounds_.size()); }
  int64_t durable_end() const {
    int64_t durable = 0;
    while (durable < end() && rounds_[static_cast<size_t>(durable)] <= synced_) ++durable;
    return durable;
  }

 private:
  std::vector<uint64_t> rounds_;
  uint64_t synced_ = 0;
};

TEST(LogShape, DurableEnd_EqualsARecordByRecordAccount_InRandomHistories) {
  Prng prng(37);
  for (int trial = 0; trial < 300; ++trial) {
    LogShape log = EmptyLog();
    RoundPerRecord account;
    uint64_t round = 1;
    Epoch epoch(1);
    for (int step = 0; step < 60; ++step) {
      const uint64_t kind = prng.Below(10);
      if (kind < 4) {
        const int64_t count = prng.Between(int64_t{1}, int64_t{5});
        log.Append(log.end(), log.end() + count, epoch, round);
        account.Append(count, round);
      } else if (kind < 5) {
        const int64_t end = prng.Between(int64_t{0}, account.end());
        log.TruncateTo(Offset(end));
        account.TruncateTo(end);
        epoch = Next(epoch);
      } else if (kind < 7) {
        ++round;
      } else {
        const uint64_t completed = prng.Below(round);
        log.OnDurable(completed);
        account.OnDurable(completed);
      }
      ASSERT_EQ(log.end().value(), account.end());
      ASSERT_EQ(log.durable_end().value(), account.durable_end()) << "trial " << trial;
    }
  }
}

}  // namespace
}  // namespace quorum::raft
