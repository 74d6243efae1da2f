#include "client/tail_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace quorum::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TailSpec SpecFrom(TailStart start) {
  TailSpec spec;
  spec.partition = {"orders", 2};
  spec.start = start;
  return spec;
}

v1::TailResponse Records(int64_t first, int64_t last, std::optional<int64_t> high_watermark = {}) {
  v1::TailResponse message;
  v1::RecordBatch* batch = message.mutable_records()->add_batches();
  batch->set_base_offset(first);
  batch->set_leader_epoch(4);
  batch->set_base_timestamp_ms(1000);
  for (int64_t offset = first; offset <= last; ++offset) {
    batch->add_records()->set_offset_delta(static_cast<uint32_t>(offset - first));
  }
  message.mutable_records()->set_next_offset(last + 1);
  if (high_watermark.has_value()) message.mutable_records()->set_high_watermark(*high_watermark);
  return message;
}

v1::TailResponse Progress(std::optional<int64_t> high_watermark, std::optional<int64_t> next) {
  v1::TailResponse message;
  auto* progress = message.mutable_progress();
  if (high_watermark.has_value()) progress->set_high_watermark(*high_watermark);
  if (next.has_value()) progress->set_next_offset(*next);
  return message;
}

// The offsets of the records in the event; empty for any other.
std::vector<int64_t> OffsetsIn(const std::optional<TailEvent>& event) {
  std::vector<int64_t> offsets;
  if (!event.has_value()) return offsets;
  const TailRecords* records = std::get_if<TailRecords>(&*event);
  if (records == nullptr) return offsets;
  for (const TailRecord& record : records->records) offsets.push_back(record.offset.value());
  return offsets;
}

TEST(TailCursorTest, FirstRequest_SaysWhatTheSpecSays) {
  TailSpec spec = SpecFrom(Offset(7));
  spec.max_records = 3;
  spec.progress_interval = std::chrono::milliseconds(1500);
  const v1::TailRequest request = TailCursor(spec).NextRequest();
  EXPECT_EQ(request.topic(), "orders");
  EXPECT_TRUE(request.has_partition());
  EXPECT_EQ(request.partition(), 2u);
  EXPECT_EQ(request.offset(), 7);
  EXPECT_EQ(request.max_records(), 3);
  EXPECT_EQ(request.progress_interval().seconds(), 1);
  EXPECT_EQ(request.progress_interval().nanos(), 500'000'000);
  EXPECT_TRUE(TailCursor(SpecFrom(TailFromEarliest())).NextRequest().earliest());
  EXPECT_TRUE(TailCursor(SpecFrom(TailFromLatest())).NextRequest().latest());
}

TEST(TailCursorTest, BrokenStream_ResumesAtTheNextOffsetAndDropsRepeats) {
  TailCursor cursor(SpecFrom(TailFromEarliest()));
  EXPECT_THAT(OffsetsIn(cursor.Accept(Records(0, 4))), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(cursor.NextRequest().offset(), 5);
  EXPECT_THAT(OffsetsIn(cursor.Accept(Records(3, 4))), IsEmpty());
  EXPECT_THAT(OffsetsIn(cursor.Accept(Records(4, 6))), ElementsAre(5, 6));
  EXPECT_EQ(cursor.next_offset(), Offset(7));
}

TEST(TailCursorTest, Latest_IsFixedByTheFirstProgress) {
  TailCursor cursor(SpecFrom(TailFromLatest()));
  cursor.NextRequest();
  EXPECT_TRUE(cursor.NextRequest().latest()) << "nothing is promised before the first message";
  cursor.Accept(Progress(9, 9));
  EXPECT_EQ(cursor.NextRequest().offset(), 9);
}

TEST(TailCursorTest, NextOffset_PassesControlRecords) {
  TailCursor cursor(SpecFrom(Offset(0)));
  v1::TailResponse message = Records(0, 1);
  message.mutable_records()->set_next_offset(4);
  const auto event = cursor.Accept(message);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(std::get<TailRecords>(*event).next_offset, Offset(4));
  EXPECT_EQ(cursor.NextRequest().offset(), 4);
}

TEST(TailCursorTest, RecordFields_AreFilledFromTheBatch) {
  TailCursor cursor(SpecFrom(Offset(0)));
  v1::TailResponse message = Records(0, 1);
  auto* batch = message.mutable_records()->mutable_batches(0);
  batch->mutable_records(0)->set_value("v");
  batch->mutable_records(1)->set_timestamp_ms(77);
  const auto event = cursor.Accept(message);
  ASSERT_TRUE(event.has_value());
  const auto& records = std::get<TailRecords>(*event).records;
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].leader_epoch, Epoch(4));
  EXPECT_EQ(records[0].timestamp_ms, 1000);
  EXPECT_EQ(records[0].record.value(), "v");
  EXPECT_EQ(records[1].timestamp_ms, 77);
}

TEST(TailCursorTest, MaxRecords_CountsAllStreamsTogether) {
  TailSpec spec = SpecFrom(Offset(0));
  spec.max_records = 5;
  TailCursor cursor(spec);
  cursor.Accept(Records(0, 2));
  EXPECT_FALSE(cursor.done());
  EXPECT_EQ(cursor.NextRequest().max_records(), 2);
  EXPECT_THAT(OffsetsIn(cursor.Accept(Records(3, 9))), ElementsAre(3, 4));
  EXPECT_TRUE(cursor.done());
  EXPECT_EQ(cursor.next_offset(), Offset(5));
  EXPECT_FALSE(cursor.Accept(Records(5, 9)).has_value());
}

TEST(TailCursorTest, UntilHighWatermark_IsTheFirstStreams) {
  TailSpec spec = SpecFrom(Offset(0));
  spec.until_high_watermark = true;
  TailCursor cursor(spec);
  EXPECT_TRUE(cursor.NextRequest().until_high_watermark());
  cursor.Accept(Progress(5, 0));
  cursor.Accept(Records(0, 1, 5));
  // The stream breaks; the next node knows more.
  cursor.NextRequest();
  EXPECT_THAT(OffsetsIn(cursor.Accept(Records(2, 9, 10))), ElementsAre(2, 3, 4));
  EXPECT_TRUE(cursor.done());
}

TEST(TailCursorTest, UntilHighWatermark_NodeThatLagsDoesNotEndIt) {
  TailSpec spec = SpecFrom(Offset(0));
  spec.until_high_watermark = true;
  TailCursor cursor(spec);
  cursor.NextRequest();
  cursor.Accept(Records(0, 1, 5));
  cursor.NextRequest();
  cursor.Accept(Progress(3, 2));
  cursor.Accept(Records(2, 2, 3));
  cursor.StreamEnded();
  EXPECT_FALSE(cursor.done());
  cursor.NextRequest();
  cursor.Accept(Records(3, 3, 5));
  // Offset 4 is a control record, of which the server says nothing.
  cursor.StreamEnded();
  EXPECT_TRUE(cursor.done());
}

TEST(TailCursorTest, UntilHighWatermark_EmptyLogEndsAtOnce) {
  TailSpec spec = SpecFrom(TailFromEarliest());
  spec.until_high_watermark = true;
  TailCursor cursor(spec);
  cursor.NextRequest();
  cursor.Accept(Progress(0, 0));
  EXPECT_TRUE(cursor.done());
}

TEST(TailCursorTest, CleanEndOfAnEndlessTail_IsNotItsEnd) {
  TailCursor cursor(SpecFrom(Offset(0)));
  cursor.NextRequest();
  cursor.StreamEnded();
  EXPECT_FALSE(cursor.done());
}

TEST(TailCursorTest, ResetToAnOffset_GoesOnThere) {
  TailCursor cursor(SpecFrom(Offset(3)));
  v1::TailResponse message;
  message.mutable_reset()->set_start_offset(10);
  const auto event = cursor.Accept(message);
  ASSERT_TRUE(event.has_value());
  EXPECT_FALSE(std::get<TailReset>(*event).snapshot);
  EXPECT_EQ(std::get<TailReset>(*event).offset, Offset(10));
  EXPECT_THAT(OffsetsIn(cursor.Accept(Records(9, 11))), ElementsAre(10, 11));
}

TEST(TailCursorTest, ResetToASnapshot_DeliversItsRecordsAtTheirOffsets) {
  TailCursor cursor(SpecFrom(Offset(30)));
  v1::TailResponse message;
  message.mutable_reset()->mutable_snapshot()->set_end_offset(100);
  const auto event = cursor.Accept(message);
  ASSERT_TRUE(event.has_value());
  EXPECT_TRUE(std::get<TailReset>(*event).snapshot);
  EXPECT_THAT(OffsetsIn(cursor.Accept(Records(12, 12))), ElementsAre(12));
  EXPECT_THAT(OffsetsIn(cursor.Accept(Records(80, 81))), ElementsAre(80, 81));
}

TEST(TailCursorTest, Malformed_IsLeftOut) {
  TailCursor cursor(SpecFrom(Offset(0)));
  EXPECT_FALSE(cursor.Accept(v1::TailResponse()).has_value());
  v1::TailResponse records = Records(0, 0);
  records.mutable_records()->mutable_batches(0)->set_base_offset(-5);
  records.mutable_records()->set_next_offset(INT64_MAX);
  EXPECT_FALSE(cursor.Accept(records).has_value());
  records.mutable_records()->mutable_batches(0)->clear_base_offset();
  EXPECT_FALSE(cursor.Accept(records).has_value());
  v1::TailResponse control = Records(0, 0);
  control.mutable_records()->mutable_batches(0)->set_control(true);
  control.mutable_records()->clear_next_offset();
  EXPECT_FALSE(cursor.Accept(control).has_value());
  v1::TailResponse reset;
  reset.mutable_reset()->set_start_offset(-1);
  EXPECT_FALSE(cursor.Accept(reset).has_value());
  EXPECT_EQ(cursor.next_offset(), Offset(0));
}

TEST(TailCursorTest, Replayed_OnceAfterTheLastRecordBelowTheEnd) {
  TailCursor cursor(SpecFrom(Offset(0)));
  cursor.NextRequest();
  cursor.Accept(Records(0, 2));
  EXPECT_FALSE(cursor.TakeReplayed().has_value()) << "the end is not known";
  cursor.NoteReplayEnd(Offset(5));
  EXPECT_FALSE(cursor.TakeReplayed().has_value());
  // A later answer does not move the end.
  cursor.NoteReplayEnd(Offset(50));
  cursor.Accept(Records(3, 5));
  const auto replayed = cursor.TakeReplayed();
  ASSERT_TRUE(replayed.has_value());
  EXPECT_EQ(replayed->end, Offset(5));
  EXPECT_EQ(replayed->next_offset, Offset(6));
  EXPECT_FALSE(cursor.TakeReplayed().has_value());
}

TEST(TailCursorTest, Replayed_NotBeforeThePositionIsKnown) {
  TailCursor cursor(SpecFrom(TailFromLatest()));
  cursor.NextRequest();
  cursor.NoteReplayEnd(Offset(5));
  EXPECT_FALSE(cursor.TakeReplayed().has_value());
  cursor.Accept(Progress(5, 5));
  EXPECT_TRUE(cursor.TakeReplayed().has_value());
}

TEST(TailCursorTest, Replayed_NotWithinASnapshot) {
  TailCursor cursor(SpecFrom(Offset(3)));
  cursor.NextRequest();
  v1::TailResponse reset;
  reset.mutable_reset()->mutable_snapshot()->set_end_offset(10);
  cursor.Accept(reset);
  cursor.NoteReplayEnd(Offset(12));
  cursor.Accept(Records(9, 9));
  EXPECT_FALSE(cursor.TakeReplayed().has_value());
  cursor.Accept(Records(10, 11));
  EXPECT_TRUE(cursor.TakeReplayed().has_value());
}

}  // namespace
}  // namespace quorum::client
