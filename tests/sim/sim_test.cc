// The parts of the simulator that everything else believes: order of events, clocks, logs, and that
// a run is a function of its seed.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/replica_log.h"
#include "tests/sim/sim_clock.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_options.h"

namespace quorum::sim {
namespace {

using std::chrono::milliseconds;

TEST(EventQueue, RunsByTimeAndThenInTheOrderOfAdding) {
  EventQueue queue;
  std::vector<int> ran;
  queue.At(milliseconds(2), [&] { ran.push_back(3); });
  queue.At(milliseconds(1), [&] {
    ran.push_back(1);
    queue.At(milliseconds(0), [&] { ran.push_back(2); });
  });
  queue.At(milliseconds(2), [&] { ran.push_back(4); });
  while (queue.RunNext()) {
  }
  EXPECT_EQ(ran, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(queue.now(), milliseconds(2));
}

TEST(SimClock, ShowsADeadlineAtTheTimeThatItNamesForIt) {
  for (const int64_t rate : {500'000, 999'999, 1'000'000, 1'333'333, 2'000'000}) {
    EventQueue queue;
    SimClock clock(&queue);
    queue.At(milliseconds(7), [&] { clock.SetRate(rate); });
    queue.RunNext();
    const MonoTime deadline = clock.Now() + Duration(1'234'567);
    const WorldTime at = clock.WorldTimeOf(deadline);
    queue.At(at - Duration(4), [&] { EXPECT_LT(clock.Now(), deadline) << rate; });
    queue.At(at, [&] { EXPECT_GE(clock.Now(), deadline) << rate; });
    while (queue.RunNext()) {
    }
  }
}

RecordBatch BatchAt(int64_t base, uint32_t records, int64_t epoch) {
  BatchDraft draft;
  draft.record_count = records;
  for (uint32_t i = 0; i < records; ++i) draft.records += std::string("\x5a\x00", 2);
  return RecordBatch::Seal(PartitionId{TopicId(2), 0}, Offset(base), Epoch(epoch), draft);
}

TEST(ReplicaLog, KnowsItsBorders) {
  ReplicaLog log;
  EXPECT_TRUE(log.Append(BatchAt(0, 3, 1)));
  EXPECT_FALSE(log.Append(BatchAt(2, 1, 1))) << "it does not start at the end";
  EXPECT_TRUE(log.Append(BatchAt(3, 2, 2)));
  EXPECT_EQ(log.EndingAt(Offset(3))->base_offset(), Offset(0));
  EXPECT_EQ(log.EndingAt(Offset(4)), nullptr);
  EXPECT_EQ(log.StartingAt(Offset(3))->epoch(), Epoch(2));
  EXPECT_EQ(log.StartingAt(Offset(5)), nullptr);
  EXPECT_TRUE(log.TruncateTo(Offset(3)));
  EXPECT_EQ(log.end(), Offset(3));
  EXPECT_FALSE(log.TruncateTo(Offset(2))) << "no batch ends there";
}

uint64_t HashOf(uint64_t seed) {
  Statistics statistics;
  SimCluster cluster(DrawOptions(seed), &statistics, nullptr);
  cluster.Run();
  EXPECT_FALSE(cluster.failed()) << "seed " << seed << ": " << cluster.failure();
  return cluster.hash();
}

TEST(SimCluster, ARunIsAFunctionOfItsSeed) {
  for (uint64_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(HashOf(seed), HashOf(seed)) << seed;
  EXPECT_NE(HashOf(1), HashOf(2));
}

}  // namespace
}  // namespace quorum::sim
