#include "service/transport/tail_plan.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "quorum/v1/record.pb.h"
#include "service/base/check.h"
#include "service/transport/call_deadline.h"

namespace quorum::transport {
namespace {

constexpr Duration kProgressIntervalMin = std::chrono::milliseconds(100);

// Keeps the records at `from` and above, below `end`, and `count` of them at most. Offsets stay
// what they are: base_offset plus offset_delta.
std::string Cut(const RecordBatch& batch, Offset from, Offset end, int64_t count) {
  v1::RecordBatch message;
  CHECK(message.ParseFromArray(batch.bytes().data(), static_cast<int>(batch.size())));
  google::protobuf::RepeatedPtrField<v1::Record> kept;
  for (v1::Record& record : *message.mutable_records()) {
    const Offset offset = batch.base_offset() + record.offset_delta();
    if (offset < from || offset >= end || kept.size() >= count) continue;
    kept.Add(std::move(record));
  }
  message.mutable_records()->Swap(&kept);
  message.set_record_count(static_cast<uint32_t>(message.records_size()));
  message.clear_crc();
  return message.SerializeAsString();
}

std::optional<CallError> CheckStart(const v1::TailRequest& request) {
  switch (request.start_case()) {
    case v1::TailRequest::kOffset:
      if (request.offset() < 0 || Offset(request.offset()) >= kOffsetLimit) {
        return InvalidField("offset", "must be in [0, 2^62)");
      }
      return std::nullopt;
    case v1::TailRequest::kEarliest:
      if (!request.earliest()) return InvalidField("earliest", "must be true");
      return std::nullopt;
    case v1::TailRequest::kLatest:
      if (!request.latest()) return InvalidField("latest", "must be true");
      return std::nullopt;
    case v1::TailRequest::START_NOT_SET:
      break;
  }
  return InvalidField("start", "one of offset, earliest and latest is required");
}

std::optional<CallError> CheckEnd(const v1::TailRequest& request) {
  if (request.has_max_records() && request.max_records() < 1) {
    return InvalidField("max_records", "must be at least 1");
  }
  if (request.has_until_high_watermark() && !request.until_high_watermark()) {
    return InvalidField("until_high_watermark", "must be true");
  }
  return std::nullopt;
}

}  // namespace

std::optional<TailStart> CheckTail(const v1::TailRequest& request,
                                   std::optional<CallError>* error) {
  if (request.topic().empty()) {
    *error = InvalidField("topic", "is required");
  } else if (!request.has_partition()) {
    *error = InvalidField("partition", "is required, also when it is 0");
  } else {
    *error = CheckStart(request);
    if (!error->has_value()) *error = CheckEnd(request);
  }
  TailStart start;
  if (!error->has_value() && request.has_progress_interval()) {
    const std::optional<Duration> interval = DecodeDuration(request.progress_interval());
    if (!interval.has_value() || *interval < kProgressIntervalMin) {
      *error = InvalidField("progress_interval", "must be at least 0.1s");
    } else {
      start.progress_interval = *interval;
    }
  }
  if (error->has_value()) return std::nullopt;
  if (request.has_offset()) {
    start.from = TailStart::From::kOffset;
    start.offset = Offset(request.offset());
  } else if (request.has_latest()) {
    start.from = TailStart::From::kLatest;
  }
  if (request.has_max_records()) start.records_max = request.max_records();
  start.until_high_watermark = request.has_until_high_watermark();
  return start;
}

bool TailPlan::Begin(const shard::PartitionDescription& replica) {
  const bool needs_watermark =
      start_.from == TailStart::From::kLatest || start_.until_high_watermark;
  if (needs_watermark && !replica.high_watermark.has_value()) return false;
  switch (start_.from) {
    case TailStart::From::kOffset:
      next_ = start_.offset;
      break;
    case TailStart::From::kEarliest:
      next_ = replica.log_start;
      break;
    case TailStart::From::kLatest:
      next_ = *replica.high_watermark;
      break;
  }
  if (start_.until_high_watermark) end_ = *replica.high_watermark;
  begun_ = true;
  return true;
}

bool TailPlan::ended() const {
  if (end_.has_value() && next_ >= *end_) return true;
  return start_.records_max.has_value() && records_sent_ >= *start_.records_max;
}

TailRecords TailPlan::Take(const shard::ReadResult& read) {
  TailRecords taken;
  const Offset end = end_.value_or(kOffsetLimit);
  for (const RecordBatch& batch : read.batches) {
    if (ended()) break;
    if (batch.next_offset() <= next_) continue;
    const Offset first = std::max(batch.base_offset(), next_);
    const int64_t wanted = start_.records_max.value_or(INT64_MAX) - records_sent_;
    Offset last = std::min(batch.next_offset(), end);
    if (!batch.control() && last - first > wanted) last = first + wanted;
    next_ = last;
    if (batch.control() || first >= last) continue;
    records_sent_ += last - first;
    TailBatch& added = taken.batches.emplace_back();
    if (first == batch.base_offset() && last == batch.next_offset()) {
      added.whole = batch;
    } else {
      added.cut = Cut(batch, first, last, last - first);
    }
  }
  taken.next = next_;
  return taken;
}

bool TailPlan::IsCaughtUp(const shard::ReadResult& read) const {
  return read.high_watermark.has_value() && next_ >= *read.high_watermark;
}

bool TailPlan::HasEpochNews(const shard::ReadResult& read) const {
  return told_epoch_ != read.hint.epoch;
}

bool TailPlan::HasCaughtUp(const shard::ReadResult& read) const {
  return IsCaughtUp(read) && !told_caught_up_;
}

v1::TailResponse::Progress TailPlan::MakeProgress(const shard::ReadResult& read) const {
  v1::TailResponse::Progress progress;
  if (read.high_watermark.has_value()) progress.set_high_watermark(read.high_watermark->value());
  if (read.hint.epoch > Epoch(0)) progress.set_leader_epoch(read.hint.epoch.value());
  progress.set_caught_up(IsCaughtUp(read));
  progress.set_next_offset(next_.value());
  if (!read.hint.leader.has_value()) {
    progress.mutable_stalled()->set_domain(kErrorDomain);
    progress.mutable_stalled()->set_reason(ReasonName(v1::ERROR_REASON_LEADER_NOT_AVAILABLE));
  }
  return progress;
}

void TailPlan::NoteProgress(const v1::TailResponse::Progress& progress) {
  told_epoch_ = Epoch(progress.leader_epoch());
  told_caught_up_ = progress.caught_up();
}

}  // namespace quorum::transport
