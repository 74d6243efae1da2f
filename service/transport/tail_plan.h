// TailPlan: where a Tail begins and ends, which records of a batch it takes, and when it has
// something to say. It knows no gRPC and no shard, so that unit tests drive it.
//
// Thread: one at a time.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quorum/v1/log.pb.h"
#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/shard/client_calls.h"
#include "service/transport/call_error.h"

namespace quorum::transport {

// A Tail request that is sound in itself.
struct TailStart {
  enum class From { kOffset, kEarliest, kLatest };
  From from = From::kEarliest;
  // With kOffset.
  Offset offset;
  std::optional<int64_t> records_max;
  bool until_high_watermark = false;
  Duration progress_interval = std::chrono::seconds(5);
};

// What is wrong with the request in itself, in `error`; empty then.
std::optional<TailStart> CheckTail(const v1::TailRequest& request, std::optional<CallError>* error);

// A batch of an answer: the bytes as they are stored, or what is left of them.
struct TailBatch {
  // Present when the batch is sent whole.
  std::optional<RecordBatch> whole;
  // Otherwise, a serialised RecordBatch without crc.
  std::string cut;
};

struct TailRecords {
  std::vector<TailBatch> batches;
  Offset next;
};

class TailPlan {
 public:
  explicit TailPlan(const TailStart& start) : start_(start) {}

  // Fixes the beginning, and the end where it is the watermark. False while the replica does not
  // know enough: a watermark is needed and it knows none yet.
  bool Begin(const shard::PartitionDescription& replica);

  bool begun() const { return begun_; }
  // Where to read on.
  Offset next() const { return next_; }
  // Nothing is left to send.
  bool ended() const;

  // Takes what was read: the records that belong into the stream, none when only the position
  // moved.
  TailRecords Take(const shard::ReadResult& read);
  // The position was below the log: goes on at its start.
  void Reset(Offset log_start) { next_ = log_start; }

  // True when the stream must send progress before anything else: at its beginning, and when the
  // epoch has changed.
  bool HasEpochNews(const shard::ReadResult& read) const;
  // True when the stream has caught up since it said something last.
  bool HasCaughtUp(const shard::ReadResult& read) const;
  v1::TailResponse::Progress MakeProgress(const shard::ReadResult& read) const;
  // What the client has been told.
  void NoteProgress(const v1::TailResponse::Progress& progress);
  // Records were sent. Unless they reach the watermark, the client has to catch up anew.
  void NoteRecords(const shard::ReadResult& read) {
    told_caught_up_ = told_caught_up_ && IsCaughtUp(read);
  }

  Duration progress_interval() const { return start_.progress_interval; }

 private:
  bool IsCaughtUp(const shard::ReadResult& read) const;

  const TailStart start_;
  bool begun_ = false;
  Offset next_;
  // Exclusive; absent when there is none.
  std::optional<Offset> end_;
  int64_t records_sent_ = 0;
  // The epoch that the client was told last; absent before the first progress.
  std::optional<Epoch> told_epoch_;
  bool told_caught_up_ = false;
};

}  // namespace quorum::transport
