// WriteSet: everything that one round of a shard changes on disk, for all its partitions. A
// WriteSet is applied as a whole, in order, in one synced write, or not at all.
//
// Thread: a plain value, moved from the shard to the log writer.

#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/producer.h"
#include "service/base/record_batch.h"
#include "service/base/voter_set.h"

namespace quorum::storage {

// Replaces the partition's quorum state.
struct PutElectionState {
  PartitionId partition;
  ElectionState election;
};

// Adds one batch at the log end. The writer stores it under its base offset.
struct AppendBatch {
  PartitionId partition;
  RecordBatch batch;
};

// Notes that `epoch` starts at `start`. Comes with the first batch of an epoch.
struct PutLeaderEpoch {
  PartitionId partition;
  Epoch epoch;
  Offset start;
};

// Notes the voter set of the control record at `offset`.
struct PutVoters {
  PartitionId partition;
  Offset offset;
  VoterSet voters;
};

// Removes every batch, leader epoch and voter set at or above `end` (exclusive end of what stays).
// `end` is always a batch border.
struct TruncateLog {
  PartitionId partition;
  Offset end;
};

// Lower bounds written lazily: the log reached `end`, and everything below `high_watermark` is
// committed. A log found shorter than `end` at recovery, with no truncation since, is damaged.
struct PutBounds {
  PartitionId partition;
  Offset end;
  Offset high_watermark;
};

// What the log below `summary.offset`, which is committed, says of its producers: the ones that
// have changed since the last such write, and those that are forgotten. Written beside later
// records; what lies above is read from the log again at recovery.
struct PutProducers {
  PartitionId partition;
  ProducerSummary summary;
  std::vector<ProducerState> changed;
  std::vector<int64_t> removed;
};

// A replica's life on this directory starts. `initial_voters` is present only for a replica that
// the creation record names; every other replica starts blank.
struct BirthReplica {
  PartitionId partition;
  std::optional<VoterSet> initial_voters;
  // The state to start from: epoch 0, or the state that a tombstone of this partition kept.
  ElectionState election;
};

// A replica's life on this directory ends: log, leader epochs, voter sets, producers and snapshots
// go, a
// tombstone and the quorum state stay, because promises outlive the data.
struct BuryReplica {
  PartitionId partition;
};

// The catalog has been acted on up to `offset` (exclusive). Rides with the births and deaths that
// it stands for.
struct PutCatalogPosition {
  Offset offset;
};

using Write = std::variant<PutElectionState, AppendBatch, PutLeaderEpoch, PutVoters, TruncateLog,
                           PutBounds, PutProducers, BirthReplica, BuryReplica, PutCatalogPosition>;

struct WriteSet {
  std::vector<Write> writes;
  // True when a write holds an epoch, a vote or leadership, or births or buries a replica: the
  // acked floor is then raised, durably, before the write counts as durable (reliability.md 7.2).
  bool exact_floor = false;

  bool empty() const { return writes.empty(); }
};

}  // namespace quorum::storage
