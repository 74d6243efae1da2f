#include "service/raft/log_shape.h"

#include <algorithm>
#include <utility>

#include "service/base/check.h"
#include "service/base/plant.h"

namespace quorum::raft {

LogShape::LogShape(Offset start, Offset end, LeaderEpochs epochs)
    : start_(start), end_(end), durable_end_(end), epochs_(std::move(epochs)) {
  CHECK_LE(start_, end_);
}

bool LogShape::Append(Offset base, Offset next, Epoch epoch, uint64_t write_number) {
  CHECK_EQ(base, end_);
  CHECK_GT(next, base);
  CHECK_GE(epoch, epochs_.LastEpoch());
  const bool starts_epoch = epoch > epochs_.LastEpoch();
  if (starts_epoch) epochs_.Append(epoch, base);
  end_ = next;
  if (!writes_in_flight_.empty() && writes_in_flight_.back().first == write_number) {
    writes_in_flight_.back().second = end_;
  } else {
    if (!writes_in_flight_.empty()) CHECK_GT(write_number, writes_in_flight_.back().first);
    writes_in_flight_.emplace_back(write_number, end_);
  }
  return starts_epoch;
}

void LogShape::TruncateTo(Offset end) {
  CHECK_GE(end, start_);
  CHECK_LE(end, end_);
  end_ = end;
  durable_end_ = std::min(durable_end_, end);
  if (!Planted(Plant::kM11)) epochs_.TruncateTo(end);
  if (Planted(Plant::kM37)) return;
  for (auto& write : writes_in_flight_) write.second = std::min(write.second, end);
}

bool LogShape::OnDurable(uint64_t write_number) {
  Offset reached = durable_end_;
  while (!writes_in_flight_.empty() && writes_in_flight_.front().first <= write_number) {
    reached = std::max(reached, writes_in_flight_.front().second);
    writes_in_flight_.pop_front();
  }
  if (Planted(Plant::kM37)) reached = std::min(reached, end_);
  CHECK_LE(reached, end_);
  const bool rose = reached > durable_end_;
  durable_end_ = reached;
  return rose;
}

}  // namespace quorum::raft
