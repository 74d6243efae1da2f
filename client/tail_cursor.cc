#include "client/tail_cursor.h"

#include <algorithm>
#include <utility>

namespace quorum::client {
namespace {

// What a server says is not trusted to be in range.
std::optional<Offset> ValidOffset(bool present, int64_t value) {
  if (!present || value < 0 || Offset(value) >= kOffsetLimit) return std::nullopt;
  return Offset(value);
}

}  // namespace

TailCursor::TailCursor(TailSpec spec) : spec_(std::move(spec)), records_left_(spec_.max_records) {
  if (const Offset* offset = std::get_if<Offset>(&spec_.start)) next_ = *offset;
}

v1::TailRequest TailCursor::NextRequest() {
  stream_high_watermark_.reset();
  v1::TailRequest request;
  request.set_topic(spec_.partition.topic);
  request.set_partition(spec_.partition.index);
  if (next_.has_value()) {
    request.set_offset(next_->value());
  } else if (std::holds_alternative<TailFromEarliest>(spec_.start)) {
    request.set_earliest(true);
  } else {
    request.set_latest(true);
  }
  // With both ends, this side counts the records.
  if (spec_.until_high_watermark) {
    request.set_until_high_watermark(true);
  } else if (records_left_.has_value()) {
    request.set_max_records(*records_left_);
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(spec_.progress_interval);
  request.mutable_progress_interval()->set_seconds(seconds.count());
  request.mutable_progress_interval()->set_nanos(
      static_cast<int32_t>((spec_.progress_interval - seconds).count()));
  return request;
}

std::optional<TailEvent> TailCursor::Accept(v1::TailResponse response) {
  if (done_) return std::nullopt;
  switch (response.message_case()) {
    case v1::TailResponse::kRecords:
      return AcceptRecords(std::move(*response.mutable_records()));
    case v1::TailResponse::kProgress:
      return AcceptProgress(response.progress());
    case v1::TailResponse::kReset:
      return AcceptReset(response.reset());
    case v1::TailResponse::MESSAGE_NOT_SET:
      return std::nullopt;
  }
  return std::nullopt;
}

void TailCursor::StreamEnded() {
  if (!spec_.until_high_watermark || done_) return;
  // A node that lagged behind the first one ends its stream too early.
  done_ =
      !end_.has_value() || !stream_high_watermark_.has_value() || *stream_high_watermark_ >= *end_;
}

void TailCursor::NoteReplayEnd(Offset end) {
  if (!replay_end_.has_value()) replay_end_ = end;
}

std::optional<TailReplayed> TailCursor::TakeReplayed() {
  if (told_replayed_ || !replay_end_.has_value() || !next_.has_value()) return std::nullopt;
  if (*next_ < *replay_end_) return std::nullopt;
  told_replayed_ = true;
  return TailReplayed{*replay_end_, *next_};
}

std::optional<TailEvent> TailCursor::AcceptRecords(v1::TailResponse::Records message) {
  NoteHighWatermark(ValidOffset(message.has_high_watermark(), message.high_watermark()));
  TailRecords event;
  for (v1::RecordBatch& batch : *message.mutable_batches()) TakeBatch(&batch, &event);
  // The server's position may lie behind records that were left out here, because of the end.
  const auto next = ValidOffset(message.has_next_offset(), message.next_offset());
  if (next.has_value() && !done_) AdvanceTo(*next);
  if (event.records.empty()) return std::nullopt;
  event.next_offset = *next_;
  return event;
}

void TailCursor::TakeBatch(v1::RecordBatch* batch, TailRecords* out) {
  if (batch->control()) return;
  const auto base = ValidOffset(batch->has_base_offset(), batch->base_offset());
  if (!base.has_value()) return;
  int64_t position = 0;
  for (v1::Record& record : *batch->mutable_records()) {
    const int64_t delta =
        record.has_offset_delta() ? static_cast<int64_t>(record.offset_delta()) : position;
    ++position;
    const Offset offset = *base + delta;
    if (next_.has_value() && offset < *next_) continue;
    if (end_.has_value() && offset >= *end_) done_ = true;
    if (done_) return;
    TailRecord taken;
    taken.offset = offset;
    taken.leader_epoch = Epoch(batch->leader_epoch());
    taken.timestamp_ms =
        record.has_timestamp_ms() ? record.timestamp_ms() : batch->base_timestamp_ms();
    taken.record = std::move(record);
    out->records.push_back(std::move(taken));
    if (records_left_.has_value() && --*records_left_ <= 0) done_ = true;
    AdvanceTo(offset + 1);
  }
}

std::optional<TailEvent> TailCursor::AcceptProgress(const v1::TailResponse::Progress& message) {
  TailProgress event;
  event.high_watermark = ValidOffset(message.has_high_watermark(), message.high_watermark());
  if (message.has_leader_epoch()) event.leader_epoch = Epoch(message.leader_epoch());
  event.caught_up = message.caught_up();
  if (message.has_stalled()) event.stalled = message.stalled().reason();
  NoteHighWatermark(event.high_watermark);
  const auto next = ValidOffset(message.has_next_offset(), message.next_offset());
  if (next.has_value()) AdvanceTo(*next);
  event.next_offset = next_;
  return event;
}

std::optional<TailEvent> TailCursor::AcceptReset(const v1::TailResponse::Reset& message) {
  TailReset event;
  switch (message.point_case()) {
    case v1::TailResponse::Reset::kSnapshot: {
      const auto end =
          ValidOffset(message.snapshot().has_end_offset(), message.snapshot().end_offset());
      if (!end.has_value()) return std::nullopt;
      event.snapshot = true;
      event.offset = *end;
      // The snapshot's records stand at their own offsets, below where the reader was.
      next_ = Offset(0);
      return event;
    }
    case v1::TailResponse::Reset::kStartOffset: {
      const auto start = ValidOffset(true, message.start_offset());
      if (!start.has_value()) return std::nullopt;
      event.offset = *start;
      next_ = *start;
      return event;
    }
    case v1::TailResponse::Reset::POINT_NOT_SET:
      return std::nullopt;
  }
  return std::nullopt;
}

void TailCursor::NoteHighWatermark(std::optional<Offset> high_watermark) {
  if (!high_watermark.has_value()) return;
  stream_high_watermark_ = high_watermark;
  if (spec_.until_high_watermark && !end_.has_value()) end_ = high_watermark;
}

void TailCursor::AdvanceTo(Offset offset) {
  next_ = next_.has_value() ? std::max(*next_, offset) : offset;
  if (end_.has_value() && *next_ >= *end_) done_ = true;
}

}  // namespace quorum::client
