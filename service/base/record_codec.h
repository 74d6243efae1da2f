// Records: how a record is encoded into a batch draft, and read back (quorum.v1.Record), by hand,
// for the code that sees no protobuf: the shard, the tools and the tests.
//
//   RecordsBuilder builder;
//   RecordFields record;
//   record.value = "v1";
//   builder.Add(record);
//   RecordBatch batch = RecordBatch::Seal(partition, offset, epoch, builder.Finish(now_ms));
//
// Thread: plain values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/base/ids.h"
#include "service/base/record_batch.h"

namespace quorum {

struct RecordHeader {
  // UTF-8, as in every proto3 string; not empty.
  std::string name;
  // Absent and empty are told apart.
  std::optional<std::string> value;

  friend bool operator==(const RecordHeader& a, const RecordHeader& b) {
    return a.name == b.name && a.value == b.value;
  }
};

// What a writer says of a record.
struct RecordFields {
  // Absent: the record has no key. An empty key is a key.
  std::optional<std::string> key;
  // Absent: a tombstone. An empty value is a value.
  std::optional<std::string> value;
  // In the writer's order; names may repeat.
  std::vector<RecordHeader> headers;
  // Absent: the time at which the batch was made.
  std::optional<int64_t> timestamp_ms;

  friend bool operator==(const RecordFields& a, const RecordFields& b) {
    return a.key == b.key && a.value == b.value && a.headers == b.headers &&
           a.timestamp_ms == b.timestamp_ms;
  }
};

// Collects the records of one batch, in order.
class RecordsBuilder {
 public:
  // Encodes the record at the next offset of the batch.
  void Add(const RecordFields& record);

  uint32_t record_count() const { return draft_.record_count; }
  // How large the encoded records are, tags included.
  size_t size_bytes() const { return draft_.records.size(); }

  // The draft, made at `now_ms`, and leaves the builder empty. CHECK-fails when no record was
  // added.
  [[nodiscard]] BatchDraft Finish(int64_t now_ms);

 private:
  BatchDraft draft_;
  // The highest time that a record has of its own.
  std::optional<int64_t> timestamp_ms_max_;
  // The record that is being encoded; a member to keep its memory.
  std::string scratch_;
};

// A record at its place in a log.
struct DecodedRecord {
  Offset offset;
  // The record's own time, else that of its batch.
  int64_t timestamp_ms = 0;
  RecordFields fields;
};

// The records of a batch, in order; none for a control batch. DATA_LOSS when one does not parse or
// its offset is not that of its place, which a RecordBatch does not promise.
absl::StatusOr<std::vector<DecodedRecord>> DecodeRecords(const RecordBatch& batch);

}  // namespace quorum
