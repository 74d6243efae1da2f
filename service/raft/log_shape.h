// LogShape: the extent of a replica's log, without a byte of it: where it starts and ends, what of
// it is synced, which epochs it holds, and the writes that are still on their way to the disk.
//
// Guarantees:
//   1. start <= durable_end <= end;
//   2. durable_end covers only records that are synced *and* still in the log: the completion of a
//   write
//      whose records were cut since does not cover what was written in their place.
//
// Thread: a plain value.

#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/raft/leader_epochs.h"

namespace quorum::raft {

class LogShape {
 public:
  // A recovered log: everything up to `end` has been synced again.
  LogShape(Offset start, Offset end, LeaderEpochs epochs);

  Offset start() const { return start_; }
  Offset end() const { return end_; }
  Offset durable_end() const { return durable_end_; }
  const LeaderEpochs& epochs() const { return epochs_; }
  // The log end with the epoch of the last record, as logs are compared in elections.
  OffsetAndEpoch EndPoint() const { return OffsetAndEpoch{end_, epochs_.LastEpoch()}; }

  // Adds records [end, next) of `epoch`, submitted in write `write_number`. True when they start an
  // epoch.
  bool Append(Offset base, Offset next, Epoch epoch, uint64_t write_number);
  // Cuts the log at `end`, which must lie in [start, end()].
  void TruncateTo(Offset end);
  // Everything up to `write_number` is synced. True when durable_end rose.
  bool OnDurable(uint64_t write_number);

 private:
  Offset start_;
  Offset end_;
  Offset durable_end_;
  LeaderEpochs epochs_;
  // (write number, log end that it reached); truncation lowers the ends. One entry per round at
  // most.
  std::deque<std::pair<uint64_t, Offset>> writes_in_flight_;
};

}  // namespace quorum::raft
