// What a tail delivers. The order of the events is that of the log.
//
// Thread: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/error.h"
#include "quorum/v1/record.pb.h"
#include "service/base/ids.h"

namespace quorum::client {

// A committed record, with where it stands.
struct TailRecord {
  Offset offset;
  Epoch leader_epoch;
  // The record's own, else its batch's; milliseconds since 1970 UTC.
  int64_t timestamp_ms = 0;
  v1::Record record;
};

// Records that follow what was delivered before, at least one.
struct TailRecords {
  std::vector<TailRecord> records;
  // Keep this, not the last record's offset + 1: the log also holds records of the system.
  Offset next_offset;
};

// How far the log and the reader are.
struct TailProgress {
  std::optional<Offset> high_watermark;
  std::optional<Epoch> leader_epoch;
  // Everything that is committed, as far as the serving node knows, was delivered.
  bool caught_up = false;
  std::optional<Offset> next_offset;
  // Why nothing new can be committed at the moment; empty when nothing is known to be wrong.
  std::string stalled;
};

// The replay is complete: every record whose append was acknowledged before the tail began was
// delivered, as far as the partition's leader knew. Told once.
struct TailReplayed {
  // The high watermark that the leader told after the tail had begun.
  Offset end;
  // Where the tail stands; at least `end`.
  Offset next_offset;
};

// The records at the reader's position were removed.
struct TailReset {
  // True: the records that follow, up to `offset`, are a snapshot, the last value of each key at
  // its own offset; throw away what was derived before. False: the stream goes on at `offset`.
  bool snapshot = false;
  Offset offset;
};

// The end that was asked for. The last event.
struct TailEnd {
  // Where another tail would go on; empty when nothing was learnt.
  std::optional<Offset> next_offset;
};

// The tail cannot go on. The last event.
struct TailFailure {
  Error error;
  std::optional<Offset> next_offset;
};

using TailEvent =
    std::variant<TailRecords, TailProgress, TailReplayed, TailReset, TailEnd, TailFailure>;

}  // namespace quorum::client
