// LogReader: reads batches that the cache no longer holds.
//
// Thread: Read is called by any shard thread and never blocks. `done` runs on a reader thread, or
// inside the simulator's step; it must only post to the shard's mailbox.

#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "service/base/ids.h"
#include "service/base/record_batch.h"

namespace quorum::storage {

struct ReadRequest {
  PartitionId partition;
  // The first offset wanted; the answer starts with the batch that holds it.
  Offset from;
  // No batch that starts at or above this offset is read.
  Offset end;
  // Batches are added until this size is passed; the first one is always given, whatever its size.
  size_t max_bytes = 0;
};

// The batches in order, without a gap. Empty when nothing lies in [from, end), also when the log
// was cut since the request. DATA_LOSS when a batch is damaged or missing; the partition is then to
// be quarantined. RESOURCE_EXHAUSTED when too many reads wait (ask again later), CANCELLED when the
// store is closing, UNAVAILABLE when the disk could not be read.
using ReadResult = absl::StatusOr<std::vector<RecordBatch>>;

class LogReader {
 public:
  virtual ~LogReader() = default;

  virtual void Read(const ReadRequest& request, std::function<void(ReadResult)> done) = 0;
};

}  // namespace quorum::storage
