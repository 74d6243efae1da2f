// TailCursor: where a tail stands, over all the streams that served it. It makes the request for
// each next stream and turns what arrives into events. Pure: no gRPC, no clock.
//
// It guarantees, whatever stream breaks wherever:
//   1. A record is delivered once: what a resumed stream repeats is dropped.
//   2. No record is skipped: a stream resumes where the delivered ones ended.
//   3. The end means what it would on one unbroken stream: `max_records` counts all streams
//      together, and the watermark is the one of the first stream.
//   4. The end of the replay is told once, after the last record below it.
//
// Thread: a plain value of one tail.

#pragma once

#include <cstdint>
#include <optional>

#include "client/tail_event.h"
#include "client/tail_spec.h"
#include "quorum/v1/log.pb.h"
#include "service/base/ids.h"

namespace quorum::client {

class TailCursor {
 public:
  explicit TailCursor(TailSpec spec);

  // The request for the next stream.
  v1::TailRequest NextRequest();

  // Takes a message of the stream that NextRequest opened last. Empty when it holds nothing new.
  std::optional<TailEvent> Accept(v1::TailResponse response);

  // The stream ended without an error. Afterwards done() tells whether that was the end asked for;
  // otherwise the tail resumes.
  void StreamEnded();

  // Where the replay ends: what was committed when the tail began. The first call counts.
  void NoteReplayEnd(Offset end);

  // Once, when everything below the end of the replay was delivered.
  std::optional<TailReplayed> TakeReplayed();

  // True when everything asked for was delivered.
  bool done() const { return done_; }

  // Where the tail goes on; empty while only "latest" or "earliest" is known.
  std::optional<Offset> next_offset() const { return next_; }

 private:
  std::optional<TailEvent> AcceptRecords(v1::TailResponse::Records message);
  std::optional<TailEvent> AcceptProgress(const v1::TailResponse::Progress& message);
  std::optional<TailEvent> AcceptReset(const v1::TailResponse::Reset& message);
  // Moves the records of one batch that are wanted to `out`.
  void TakeBatch(v1::RecordBatch* batch, TailRecords* out);
  void NoteHighWatermark(std::optional<Offset> high_watermark);
  void AdvanceTo(Offset offset);

  const TailSpec spec_;
  std::optional<Offset> next_;
  std::optional<int64_t> records_left_;
  // With `until_high_watermark`: the end, once a stream has told it.
  std::optional<Offset> end_;
  // The watermark that the present stream told last.
  std::optional<Offset> stream_high_watermark_;
  std::optional<Offset> replay_end_;
  bool told_replayed_ = false;
  bool done_ = false;
};

}  // namespace quorum::client
