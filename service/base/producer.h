// What a replica keeps of the producers of its partition (KIP-98), and what it reads of a batch to
// keep it: the values that shard and storage share. The rules are in
// service/shard/producer_states.h.
//
// Thread: plain values and pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "service/base/control_record.h"
#include "service/base/ids.h"
#include "service/base/record_batch.h"

namespace quorum {

// How many of a producer's last batches are remembered: so many may be outstanding at once, if each
// retry shall find its batch.
inline constexpr size_t kProducerBatchesMax = 5;

// A batch of a producer that is in the log.
struct ProducerBatch {
  int32_t epoch = 0;
  int64_t base_sequence = 0;
  uint32_t record_count = 0;
  Offset base_offset;

  friend bool operator==(const ProducerBatch& a, const ProducerBatch& b) {
    return a.epoch == b.epoch && a.base_sequence == b.base_sequence &&
           a.record_count == b.record_count && a.base_offset == b.base_offset;
  }
};

// A producer, as the log below some offset makes it.
struct ProducerState {
  int64_t id = 0;
  // The newest epoch; lower ones are fenced.
  int32_t epoch = 0;
  // What the next batch of `epoch` starts with. Range [0, kSequenceLimit].
  int64_t next_sequence = 0;
  // The name that is bound to the id; empty for an anonymous producer.
  std::string name;
  // The offset of the newest batch or binding of the producer, and the time of the log there.
  Offset last_offset;
  int64_t last_timestamp_ms = 0;
  // The last batches, of whatever epoch, oldest first; kProducerBatchesMax at most.
  std::vector<ProducerBatch> batches;

  friend bool operator==(const ProducerState& a, const ProducerState& b) {
    return a.id == b.id && a.epoch == b.epoch && a.next_sequence == b.next_sequence &&
           a.name == b.name && a.last_offset == b.last_offset &&
           a.last_timestamp_ms == b.last_timestamp_ms && a.batches == b.batches;
  }
};

// Everything that the log below `offset` says of producers, and what else must be known of it to go
// on from there.
struct ProducerSummary {
  Offset offset;
  // The offset after the last record of a client.
  Offset data_end;
  // The time of the log: the highest base_timestamp_ms of its batches, at least 0.
  int64_t timestamp_ms = 0;

  friend bool operator==(const ProducerSummary& a, const ProducerSummary& b) {
    return a.offset == b.offset && a.data_end == b.data_end && a.timestamp_ms == b.timestamp_ms;
  }
};
struct StoredProducers {
  ProducerSummary summary;
  std::vector<ProducerState> producers;
};

// What of a batch matters to producers and conditions.
struct BatchHeader {
  Offset base_offset;
  // The offset after the last record.
  Offset next_offset;
  bool control = false;
  int64_t base_timestamp_ms = 0;
  std::optional<ProducerStamp> producer;
  // The bindings in a control batch, with the offsets of their records.
  std::vector<std::pair<Offset, ProducerBinding>> bindings;

  uint32_t record_count() const { return static_cast<uint32_t>(next_offset - base_offset); }
};

// Reads it. As DecodeControlBatch when the batch is one that cannot be read.
absl::StatusOr<BatchHeader> HeaderOf(const RecordBatch& batch);

}  // namespace quorum
