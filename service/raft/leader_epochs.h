// LeaderEpochs: where each epoch of a log starts (KIP-101, KIP-595). It answers the one question of
// reconciliation: up to where do my log and yours agree?
//
// Guarantees:
//   1. epochs and start offsets are both strictly rising;
//   2. every start offset lies in [log start, log end).
//
// Thread: a plain value.

#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "service/base/ids.h"

namespace quorum::raft {

class LeaderEpochs {
 public:
  LeaderEpochs() = default;
  explicit LeaderEpochs(std::vector<std::pair<Epoch, Offset>> starts);

  // Notes that `epoch` starts at `start`; both must be above the last entry's.
  void Append(Epoch epoch, Offset start);
  // Forgets the epochs that start at or above `end`.
  void TruncateTo(Offset end);

  // The epoch of the last record; 0 for an empty log.
  Epoch LastEpoch() const;
  // The epoch of the record at `offset`, which must lie in the log.
  Epoch EpochAt(Offset offset) const;

  // The largest epoch at or below `epoch` that this log holds, with its end offset: the start of
  // the next epoch, or `log_end` for the last. (log_start, 0) when every epoch here is larger.
  OffsetAndEpoch EndOf(Epoch epoch, Offset log_start, Offset log_end) const;

  const std::vector<std::pair<Epoch, Offset>>& starts() const { return starts_; }

 private:
  std::vector<std::pair<Epoch, Offset>> starts_;
};

}  // namespace quorum::raft
