// TailPlan: which records a Tail takes, how it cuts batches, and when it speaks.

#include "service/transport/tail_plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quorum/v1/record.pb.h"
#include "service/base/prng.h"
#include "service/base/record_codec.h"

namespace quorum::transport {
namespace {

constexpr PartitionId kPartition{TopicId(2), 0};

// Records at [base, base + count); the value of each is its offset.
RecordBatch MakeRecords(int64_t base, uint32_t count) {
  RecordsBuilder builder;
  for (uint32_t i = 0; i < count; ++i) {
    RecordFields record;
    record.value = std::to_string(base + i);
    builder.Add(record);
  }
  return RecordBatch::Seal(kPartition, Offset(base), Epoch(1), builder.Finish(1));
}

RecordBatch MakeControl(int64_t base) {
  BatchDraft draft;
  draft.record_count = 1;
  draft.control = true;
  draft.records = std::string("\x62\x00", 2);
  return RecordBatch::Seal(kPartition, Offset(base), Epoch(1), draft);
}

shard::PartitionDescription Standing(int64_t log_start, std::optional<int64_t> high_watermark) {
  shard::PartitionDescription description;
  description.log_start = Offset(log_start);
  if (high_watermark.has_value()) description.high_watermark = Offset(*high_watermark);
  return description;
}

shard::ReadResult Read(std::vector<RecordBatch> batches, int64_t high_watermark,
                       int64_t epoch = 1) {
  shard::ReadResult read;
  read.batches = std::move(batches);
  read.high_watermark = Offset(high_watermark);
  read.exposed = Offset(high_watermark);
  read.hint.epoch = Epoch(epoch);
  return read;
}

// The offsets of what was taken, by the values; checks that each batch says so itself.
std::vector<int64_t> OffsetsOf(const TailRecords& records) {
  std::vector<int64_t> offsets;
  for (const TailBatch& batch : records.batches) {
    v1::RecordBatch message;
    const std::string bytes =
        batch.whole.has_value() ? std::string(batch.whole->bytes()) : batch.cut;
    EXPECT_TRUE(message.ParseFromString(bytes));
    EXPECT_EQ(message.has_crc(), batch.whole.has_value());
    EXPECT_EQ(message.record_count(), static_cast<uint32_t>(message.records_size()));
    for (const v1::Record& record : message.records()) {
      offsets.push_back(message.base_offset() + record.offset_delta());
      EXPECT_EQ(record.value(), std::to_string(offsets.back()));
    }
  }
  return offsets;
}

TailPlan BeginAt(int64_t offset, std::optional<int64_t> records_max = std::nullopt) {
  TailStart start;
  start.from = TailStart::From::kOffset;
  start.offset = Offset(offset);
  start.records_max = records_max;
  TailPlan plan(start);
  EXPECT_TRUE(plan.Begin(Standing(0, 100)));
  return plan;
}

TEST(TailPlanTest, WholeBatchesAreTakenAsTheyAre) {
  TailPlan plan = BeginAt(0);
  const TailRecords taken = plan.Take(Read({MakeRecords(0, 3), MakeRecords(3, 2)}, 5));
  ASSERT_EQ(taken.batches.size(), 2u);
  EXPECT_TRUE(taken.batches[0].whole.has_value());
  EXPECT_EQ(OffsetsOf(taken), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(taken.next, Offset(5));
}

TEST(TailPlanTest, TheFirstBatchIsCutToTheOffsetAskedFor) {
  TailPlan plan = BeginAt(1);
  const TailRecords taken = plan.Take(Read({MakeRecords(0, 3), MakeRecords(3, 1)}, 4));
  EXPECT_FALSE(taken.batches[0].whole.has_value());
  EXPECT_EQ(OffsetsOf(taken), (std::vector<int64_t>{1, 2, 3}));
}

TEST(TailPlanTest, TheLastBatchIsCutToTheRecordsAskedFor) {
  TailPlan plan = BeginAt(1, 3);
  const TailRecords taken = plan.Take(Read({MakeRecords(0, 3), MakeRecords(3, 4)}, 7));
  EXPECT_EQ(OffsetsOf(taken), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(taken.next, Offset(4));
  EXPECT_TRUE(plan.ended());
}

TEST(TailPlanTest, OneBatchMayBeCutAtBothEnds) {
  TailPlan plan = BeginAt(2, 1);
  EXPECT_EQ(OffsetsOf(plan.Take(Read({MakeRecords(0, 5)}, 5))), (std::vector<int64_t>{2}));
}

TEST(TailPlanTest, ControlBatchesMoveThePositionOnly) {
  TailPlan plan = BeginAt(0, 2);
  TailRecords taken = plan.Take(Read({MakeControl(0), MakeControl(1)}, 2));
  EXPECT_TRUE(taken.batches.empty());
  EXPECT_EQ(taken.next, Offset(2));
  taken = plan.Take(Read({MakeRecords(2, 2)}, 4));
  EXPECT_EQ(OffsetsOf(taken), (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(plan.ended());
}

TEST(TailPlanTest, ItEndsAtTheWatermarkOfItsBeginning) {
  TailStart start;
  start.until_high_watermark = true;
  TailPlan plan(start);
  EXPECT_FALSE(plan.Begin(Standing(0, std::nullopt)));
  ASSERT_TRUE(plan.Begin(Standing(0, 2)));
  EXPECT_EQ(OffsetsOf(plan.Take(Read({MakeRecords(0, 4)}, 4))), (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(plan.ended());
}

TEST(TailPlanTest, ItEndsAtTheWatermarkAlsoBehindAControlBatch) {
  TailStart start;
  start.until_high_watermark = true;
  TailPlan plan(start);
  ASSERT_TRUE(plan.Begin(Standing(0, 1)));
  EXPECT_FALSE(plan.ended());
  EXPECT_TRUE(plan.Take(Read({MakeControl(0)}, 1)).batches.empty());
  EXPECT_TRUE(plan.ended());
}

TEST(TailPlanTest, LatestBeginsAtTheWatermarkAndEarliestAtTheStart) {
  TailStart start;
  start.from = TailStart::From::kLatest;
  TailPlan latest(start);
  EXPECT_FALSE(latest.Begin(Standing(3, std::nullopt)));
  EXPECT_TRUE(latest.Begin(Standing(3, 9)));
  EXPECT_EQ(latest.next(), Offset(9));
  TailPlan earliest{TailStart{}};
  EXPECT_TRUE(earliest.Begin(Standing(3, std::nullopt)));
  EXPECT_EQ(earliest.next(), Offset(3));
}

// However the log is cut into reads and the stream into streams, each record comes once, in order.
TEST(TailPlanTest, NoGapAndNoRepeat) {
  Prng prng(51);
  for (int round = 0; round < 300; ++round) {
    std::vector<RecordBatch> log;
    std::vector<int64_t> expected;
    int64_t end = 0;
    while (end < 60) {
      if (prng.Chance(200'000)) {
        log.push_back(MakeControl(end++));
        continue;
      }
      const uint32_t count = static_cast<uint32_t>(1 + prng.Below(5));
      log.push_back(MakeRecords(end, count));
      for (uint32_t i = 0; i < count; ++i) expected.push_back(end + i);
      end += count;
    }
    std::vector<int64_t> got;
    int64_t position = 0;
    while (position < end) {
      TailPlan plan = BeginAt(position, 1 + static_cast<int64_t>(prng.Below(6)));
      while (!plan.ended() && plan.next() < Offset(end)) {
        std::vector<RecordBatch> some;
        const size_t some_max = 1 + prng.Below(3);
        for (const RecordBatch& batch : log) {
          if (batch.next_offset() > plan.next() && some.size() < some_max) {
            some.push_back(batch);
          }
        }
        for (const int64_t offset : OffsetsOf(plan.Take(Read(some, end)))) got.push_back(offset);
      }
      position = plan.next().value();
    }
    EXPECT_EQ(got, expected);
  }
}

TEST(TailPlanTest, ItSpeaksAtItsBeginningAtEachEpochAndWhenItHasCaughtUp) {
  TailPlan plan = BeginAt(0);
  EXPECT_TRUE(plan.HasEpochNews(Read({}, 2)));
  v1::TailResponse::Progress progress = plan.MakeProgress(Read({}, 2));
  EXPECT_FALSE(progress.caught_up());
  EXPECT_EQ(progress.next_offset(), 0);
  plan.NoteProgress(progress);
  EXPECT_FALSE(plan.HasEpochNews(Read({}, 2)));
  (void)plan.Take(Read({MakeRecords(0, 2)}, 2));
  plan.NoteRecords(Read({}, 2));
  EXPECT_TRUE(plan.HasCaughtUp(Read({}, 2)));
  progress = plan.MakeProgress(Read({}, 2));
  EXPECT_TRUE(progress.caught_up());
  plan.NoteProgress(progress);
  EXPECT_FALSE(plan.HasCaughtUp(Read({}, 2)));
  // Records up to the watermark say by themselves that the reader is there.
  (void)plan.Take(Read({MakeRecords(2, 2)}, 4));
  plan.NoteRecords(Read({}, 4));
  EXPECT_FALSE(plan.HasCaughtUp(Read({}, 4)));
  (void)plan.Take(Read({MakeRecords(4, 2)}, 8));
  plan.NoteRecords(Read({}, 8));
  EXPECT_FALSE(plan.HasCaughtUp(Read({}, 8)));
  (void)plan.Take(Read({MakeRecords(6, 2)}, 8));
  plan.NoteRecords(Read({}, 8));
  EXPECT_TRUE(plan.HasCaughtUp(Read({}, 8)));
  EXPECT_TRUE(plan.HasEpochNews(Read({}, 2, 2)));
  EXPECT_EQ(progress.stalled().reason(), "LEADER_NOT_AVAILABLE");
}

struct Malformed {
  const char* what;
  std::function<void(v1::TailRequest*)> spoil;
};

TEST(TailPlanTest, AMalformedRequestIsRefused) {
  const std::vector<Malformed> cases = {
      {"no topic", [](auto* r) { r->clear_topic(); }},
      {"no partition", [](auto* r) { r->clear_partition(); }},
      {"no start", [](auto* r) { r->clear_start(); }},
      {"offset -1", [](auto* r) { r->set_offset(-1); }},
      {"offset 2^62", [](auto* r) { r->set_offset(int64_t{1} << 62); }},
      {"earliest false", [](auto* r) { r->set_earliest(false); }},
      {"latest false", [](auto* r) { r->set_latest(false); }},
      {"no records", [](auto* r) { r->set_max_records(0); }},
      {"records -1", [](auto* r) { r->set_max_records(-1); }},
      {"until false", [](auto* r) { r->set_until_high_watermark(false); }},
      {"interval 0", [](auto* r) { r->mutable_progress_interval(); }},
      {"interval -1 s", [](auto* r) { r->mutable_progress_interval()->set_seconds(-1); }},
      {"interval 2^62 s",
       [](auto* r) { r->mutable_progress_interval()->set_seconds(int64_t{1} << 62); }},
  };
  v1::TailRequest sound;
  sound.set_topic("t");
  sound.set_partition(0);
  sound.set_earliest(true);
  std::optional<CallError> error;
  ASSERT_TRUE(CheckTail(sound, &error).has_value());
  for (const Malformed& malformed : cases) {
    v1::TailRequest request = sound;
    malformed.spoil(&request);
    error.reset();
    EXPECT_FALSE(CheckTail(request, &error).has_value()) << malformed.what;
    ASSERT_TRUE(error.has_value()) << malformed.what;
    EXPECT_EQ(error->reason(), v1::ERROR_REASON_INVALID_REQUEST);
  }
}

}  // namespace
}  // namespace quorum::transport
