// TailSpec: what to read of one partition.
//
// Thread: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "client/partition_name.h"
#include "service/base/ids.h"
#include "service/base/time.h"

namespace quorum::client {

struct TailFromEarliest {};
struct TailFromLatest {};
// The offset to begin at, the first kept one, or the high watermark.
using TailStart = std::variant<Offset, TailFromEarliest, TailFromLatest>;

struct TailSpec {
  PartitionName partition;
  // An offset is in the range [0, 2^62). Beyond the log's end the tail waits until the log gets
  // there.
  TailStart start = TailFromEarliest{};
  // At least 1; empty: no such end.
  std::optional<int64_t> max_records = {};
  // End at the high watermark that was current at the start.
  bool until_high_watermark = false;
  // Tell when the replay is complete (TailReplayed), which costs a question to the leader.
  bool tell_replayed = true;
  // How often the server says something when there is nothing to say. At least 100 ms.
  Duration progress_interval = std::chrono::seconds(5);
};

}  // namespace quorum::client
