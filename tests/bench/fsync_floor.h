// The disk's floor: how fast one process can append and sync, with nothing else to do.
//
// Thread: blocks the caller's.

#pragma once

#include <cstddef>
#include <string>

#include "service/base/time.h"
#include "tests/bench/histogram.h"

namespace quorum::bench {

struct SyncFloor {
  Duration elapsed{0};
  // Nanoseconds of an append of `bytes` with its fdatasync.
  Histogram latency;
};

// Appends `bytes` at a time to a new file in `folder` and syncs each, for `time_max`; then removes
// the file. A failed write or sync ends the process.
SyncFloor MeasureSyncs(const Clock& clock, const std::string& folder, size_t bytes,
                       Duration time_max);

}  // namespace quorum::bench
