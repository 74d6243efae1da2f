#include "client/consumer_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/system_clock.h"

namespace quorum::client {
namespace {

using ::testing::ElementsAre;

constexpr size_t kRecordBytes = 1000;

class ConsumerQueueTest : public ::testing::Test {
 protected:
  bool Push(const ConsumerQueue::LanePointer& lane, int64_t next_offset) {
    TailRecords event;
    event.next_offset = Offset(next_offset);
    return queue_.Push(lane, std::move(event), kRecordBytes,
                       [this, lane] { room_.push_back(lane->partition.ToString()); });
  }

  // The partition and the position of the next event; "-" when there is none.
  std::string Pop() {
    const auto next = queue_.Pop(Duration(0), clock_);
    if (!next.has_value()) return "-";
    if (const auto* records = std::get_if<TailRecords>(&next->event)) {
      return next->partition.ToString() + "@" + std::to_string(records->next_offset.value());
    }
    if (const auto* progress = std::get_if<TailProgress>(&next->event)) {
      return next->partition.ToString() + "~" + std::to_string(progress->next_offset->value());
    }
    return next->partition.ToString() + " end";
  }

  const SystemClock clock_{};
  // Room for four events.
  ConsumerQueue queue_{4 * (kRecordBytes + ConsumerQueue::kEventBytes)};
  std::vector<std::string> room_;
};

TEST_F(ConsumerQueueTest, Lanes_TakeTurns) {
  const auto busy = queue_.Open({"a", 0});
  const auto quiet = queue_.Open({"b", 0});
  Push(busy, 1);
  Push(busy, 2);
  Push(busy, 3);
  Push(quiet, 7);
  EXPECT_EQ(Pop(), "a:0@1");
  EXPECT_EQ(Pop(), "b:0@7");
  EXPECT_EQ(Pop(), "a:0@2");
  EXPECT_EQ(Pop(), "a:0@3");
  EXPECT_EQ(Pop(), "-");
}

TEST_F(ConsumerQueueTest, FullLane_IsResumedOnceWhenHalfEmpty) {
  const auto lane = queue_.Open({"a", 0});
  EXPECT_TRUE(Push(lane, 1));
  EXPECT_TRUE(Push(lane, 2));
  EXPECT_TRUE(Push(lane, 3));
  EXPECT_FALSE(Push(lane, 4));
  Pop();
  EXPECT_TRUE(room_.empty());
  Pop();
  EXPECT_THAT(room_, ElementsAre("a:0"));
  Pop();
  Pop();
  EXPECT_EQ(room_.size(), 1u);
}

TEST_F(ConsumerQueueTest, FullLane_DoesNotTakeTheRoomOfAnother) {
  const auto full = queue_.Open({"a", 0});
  const auto other = queue_.Open({"b", 0});
  EXPECT_TRUE(Push(full, 1));
  EXPECT_FALSE(Push(full, 2)) << "half of the room is its share";
  EXPECT_TRUE(Push(other, 1));
  queue_.Close(full);
  EXPECT_TRUE(Push(other, 2)) << "its share has grown";
}

TEST_F(ConsumerQueueTest, Progress_ReplacesTheOneBefore) {
  const auto lane = queue_.Open({"a", 0});
  for (int64_t offset = 1; offset <= 100; ++offset) {
    TailProgress progress;
    progress.next_offset = Offset(offset);
    EXPECT_TRUE(queue_.Push(lane, progress, 0, nullptr));
  }
  Push(lane, 101);
  EXPECT_EQ(Pop(), "a:0~100");
  EXPECT_EQ(Pop(), "a:0@101");
}

TEST_F(ConsumerQueueTest, LastEvent_GoesBeyondTheBoundAndKeepsTheResumption) {
  const auto lane = queue_.Open({"a", 0});
  for (int64_t offset = 1; offset <= 4; ++offset) Push(lane, offset);
  EXPECT_FALSE(queue_.Push(lane, TailEnd(), 0, nullptr));
  for (int i = 0; i < 4; ++i) Pop();
  EXPECT_THAT(room_, ElementsAre("a:0"));
  EXPECT_EQ(Pop(), "a:0 end");
}

TEST_F(ConsumerQueueTest, ClosedLane_IsSilent) {
  const auto lane = queue_.Open({"a", 0});
  for (int64_t offset = 1; offset <= 4; ++offset) Push(lane, offset);
  queue_.Close(lane);
  EXPECT_EQ(Pop(), "-");
  EXPECT_TRUE(Push(lane, 5));
  EXPECT_EQ(Pop(), "-");
  EXPECT_TRUE(room_.empty()) << "nobody reads on for it";
}

}  // namespace
}  // namespace quorum::client
