// LeaderEpochs: C-149, the table of C-096, and BUG-053: against a search record by record, and as
// the whole conversation between two random logs.

#include "service/raft/leader_epochs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"

namespace quorum::raft {
namespace {

// A log as the epoch of each record; offset 0 comes first.
using EpochPerRecord = std::vector<int64_t>;

OffsetAndEpoch Point(int64_t epoch, int64_t offset) {
  return OffsetAndEpoch{Offset(offset), Epoch(epoch)};
}

Offset EndOf(const EpochPerRecord& log) { return Offset(static_cast<int64_t>(log.size())); }

LeaderEpochs IndexOf(const EpochPerRecord& log) {
  LeaderEpochs epochs;
  for (size_t i = 0; i < log.size(); ++i) {
    if (i == 0 || log[i] != log[i - 1]) epochs.Append(Epoch(log[i]), Offset(int64_t(i)));
  }
  return epochs;
}

OffsetAndEpoch SearchEnd(const EpochPerRecord& log, Epoch epoch) {
  for (size_t i = log.size(); i > 0; --i) {
    if (log[i - 1] <= epoch.value()) return Point(log[i - 1], int64_t(i));
  }
  return Point(0, 0);
}

size_t CommonPrefix(const EpochPerRecord& a, const EpochPerRecord& b) {
  const size_t shorter = std::min(a.size(), b.size());
  size_t length = 0;
  while (length < shorter && a[length] == b[length]) ++length;
  return length;
}

// Logs as elections leave them: in each epoch one replica appends to what it has, and some others
// take over a part of that. So a record's offset and epoch name everything before it, too.
std::vector<EpochPerRecord> GrowLogs(size_t replicas, int64_t epochs, Prng& prng) {
  std::vector<EpochPerRecord> logs(replicas);
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    const size_t leader = prng.Below(replicas);
    logs[leader].insert(logs[leader].end(), 1 + prng.Below(4), epoch);
    for (size_t follower = 0; follower < replicas; ++follower) {
      if (follower == leader || prng.Chance(600'000)) continue;
      const size_t common = CommonPrefix(logs[leader], logs[follower]);
      const size_t taken = common + prng.Below(logs[leader].size() - common + 1);
      if (taken == common) continue;
      logs[follower] =
          EpochPerRecord(logs[leader].begin(), logs[leader].begin() + static_cast<int64_t>(taken));
    }
  }
  return logs;
}

size_t DistinctEpochs(const EpochPerRecord& log) {
  return std::set<int64_t>(log.begin(), log.end()).size();
}

// The follower fetches at its end, and truncates until the leader agrees; returns the rounds.
size_t Reconcile(const EpochPerRecord& leader, EpochPerRecord& follower) {
  const LeaderEpochs leader_epochs = IndexOf(leader);
  LeaderEpochs epochs = IndexOf(follower);
  size_t rounds = 0;
  while (!follower.empty()) {
    const OffsetAndEpoch answer = leader_epochs.EndOf(epochs.LastEpoch(), Offset(0), EndOf(leader));
    if (answer.epoch == epochs.LastEpoch() && answer.offset >= EndOf(follower)) break;
    ++rounds;
    const OffsetAndEpoch own = epochs.EndOf(answer.epoch, Offset(0), EndOf(follower));
    const Offset end = own.epoch == answer.epoch ? std::min(own.offset, answer.offset) : own.offset;
    EXPECT_LT(end, EndOf(follower)) << "round " << rounds << " removes nothing";
    follower.resize(static_cast<size_t>(end.value()));
    epochs.TruncateTo(end);
  }
  return rounds;
}

TEST(LeaderEpochs, C149_EndOf_ExactBetweenBelowAndAbove) {
  const LeaderEpochs epochs(std::vector<std::pair<Epoch, Offset>>{
      {Epoch(2), Offset(10)}, {Epoch(5), Offset(20)}, {Epoch(6), Offset(21)}});
  const auto end = [&](int64_t epoch) {
    return epochs.EndOf(Epoch(epoch), Offset(10), Offset(30));
  };
  EXPECT_EQ(end(2), Point(2, 20));
  EXPECT_EQ(end(5), Point(5, 21));
  EXPECT_EQ(end(6), Point(6, 30));
  EXPECT_EQ(end(3), Point(2, 20));
  EXPECT_EQ(end(4), Point(2, 20));
  EXPECT_EQ(end(7), Point(6, 30)) << "above every epoch";
  EXPECT_EQ(end(1), Point(0, 10)) << "below every epoch: nothing in common but the log start";
  EXPECT_EQ(end(0), Point(0, 10));
}

TEST(LeaderEpochs, C149_EndOf_InAnEmptyLog_IsItsStart) {
  const LeaderEpochs epochs;
  EXPECT_EQ(epochs.EndOf(Epoch(0), Offset(0), Offset(0)), Point(0, 0));
  EXPECT_EQ(epochs.EndOf(Epoch(9), Offset(0), Offset(0)), Point(0, 0));
  EXPECT_EQ(epochs.LastEpoch(), Epoch(0));
}

TEST(LeaderEpochs, C096_EndOf_GivesTheTableOfDivergingEpochs) {
  const LeaderEpochs epochs = IndexOf({1, 1, 1, 3, 3, 3, 5, 5, 5});
  EXPECT_EQ(epochs.EndOf(Epoch(2), Offset(0), Offset(9)), Point(1, 3));
  EXPECT_EQ(epochs.EndOf(Epoch(5), Offset(0), Offset(9)), Point(5, 9));
  EXPECT_EQ(epochs.EndOf(Epoch(3), Offset(0), Offset(9)), Point(3, 6));
  EXPECT_EQ(epochs.EndOf(Epoch(4), Offset(0), Offset(9)), Point(3, 6));
}

TEST(LeaderEpochs, C149_EndOf_EqualsASearchThroughTheRecords) {
  Prng prng(149);
  for (int trial = 0; trial < 300; ++trial) {
    const int64_t last = 1 + static_cast<int64_t>(prng.Below(12));
    for (const EpochPerRecord& log : GrowLogs(3, last, prng)) {
      const LeaderEpochs epochs = IndexOf(log);
      for (int64_t epoch = 0; epoch <= last + 1; ++epoch) {
        EXPECT_EQ(epochs.EndOf(Epoch(epoch), Offset(0), EndOf(log)), SearchEnd(log, Epoch(epoch)));
      }
      for (size_t i = 0; i < log.size(); ++i) {
        EXPECT_EQ(epochs.EpochAt(Offset(int64_t(i))), Epoch(log[i]));
      }
    }
  }
}

TEST(LeaderEpochs, BUG053_Reconciliation_EndsAtTheCommonPrefix_InAtMostOneRoundPerEpoch) {
  Prng prng(53);
  size_t most_rounds = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const std::vector<EpochPerRecord> logs = GrowLogs(4, 12, prng);
    for (const EpochPerRecord& leader : logs) {
      for (EpochPerRecord follower : logs) {
        const size_t common = CommonPrefix(leader, follower);
        const size_t epochs = DistinctEpochs(follower);
        const size_t rounds = Reconcile(leader, follower);
        EXPECT_EQ(follower.size(), common);
        EXPECT_LE(rounds, epochs);
        most_rounds = std::max(most_rounds, rounds);
      }
    }
  }
  EXPECT_GE(most_rounds, 3u) << "the random logs are too much alike to prove anything";
}

TEST(LeaderEpochs, TruncateTo_ForgetsTheEpochsThatStartAtOrAboveTheEnd) {
  LeaderEpochs epochs = IndexOf({1, 1, 2, 2, 3});
  epochs.TruncateTo(Offset(5));
  EXPECT_EQ(epochs.LastEpoch(), Epoch(3)) << "the log ended at 5 before";
  epochs.TruncateTo(Offset(4));
  EXPECT_EQ(epochs.LastEpoch(), Epoch(2)) << "offset 4 was the only record of epoch 3";
  epochs.TruncateTo(Offset(3));
  EXPECT_EQ(epochs.LastEpoch(), Epoch(2)) << "offset 2 is left of epoch 2";
  epochs.TruncateTo(Offset(2));
  EXPECT_EQ(epochs.LastEpoch(), Epoch(1));
  epochs.TruncateTo(Offset(0));
  EXPECT_EQ(epochs.LastEpoch(), Epoch(0));
  EXPECT_TRUE(epochs.starts().empty());
}

TEST(LeaderEpochs, TruncateTo_EqualsTheIndexOfTheShorterLog) {
  Prng prng(7);
  for (int trial = 0; trial < 300; ++trial) {
    const EpochPerRecord log = GrowLogs(1, 8, prng).front();
    const size_t length = prng.Below(log.size() + 1);
    LeaderEpochs epochs = IndexOf(log);
    epochs.TruncateTo(Offset(int64_t(length)));
    const EpochPerRecord shorter(log.begin(), log.begin() + static_cast<int64_t>(length));
    EXPECT_EQ(epochs.starts(), IndexOf(shorter).starts());
  }
}

TEST(LeaderEpochsDeathTest, Append_OfALowerEpochOrOffset_Dies) {
  LeaderEpochs epochs = IndexOf({1, 1, 4});
  EXPECT_DEATH(epochs.Append(Epoch(4), Offset(3)), "");
  EXPECT_DEATH(epochs.Append(Epoch(3), Offset(3)), "");
  EXPECT_DEATH(epochs.Append(Epoch(5), Offset(2)), "");
  EXPECT_DEATH(LeaderEpochs().Append(Epoch(0), Offset(0)), "");
}

TEST(LeaderEpochsDeathTest, EpochAt_BelowEverything_Dies) {
  const LeaderEpochs epochs(std::vector<std::pair<Epoch, Offset>>{{Epoch(2), Offset(10)}});
  EXPECT_EQ(epochs.EpochAt(Offset(10)), Epoch(2));
  EXPECT_DEATH(epochs.EpochAt(Offset(9)), "no epoch covers");
}

}  // namespace
}  // namespace quorum::raft
