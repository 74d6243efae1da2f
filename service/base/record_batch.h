// RecordBatch: one batch of records as it travels and as it lies on disk (quorum.v1.RecordBatch),
// held as immutable, shared bytes beside its parsed header. The leader seals a batch once; from
// then on the same bytes are cached, stored and sent. Copying a RecordBatch copies a pointer.
//
// Layout: `fixed32 crc` (field 1), `fixed64 base_offset` (2), `fixed64 leader_epoch` (3), then
// record_count (4), base_timestamp_ms (5), max_timestamp_ms (6), producer fields (7-9), control
// (10) and the records (11) or control records (12). The crc is CRC-32C over the topic id (8 bytes,
// big endian), the partition index (4 bytes, big endian) and every byte behind the crc field, so
// that a batch of another partition or at another offset never passes for this one.
//
// Guarantees of a RecordBatch:
//   1. its crc matched when it was made, for the partition that it was made for;
//   2. record_count >= 1, base_offset >= 0, last_offset() < kOffsetLimit, 1 <= epoch < kEpochLimit;
//   3. its records number record_count, by their count of fields 11 or 12;
//   4. all of them are control records when control(), none of them otherwise;
//   5. each of the fields 1 to 10 occurs once at most, so that every reader of the bytes, protobuf
//      included, sees the same header. Fields that this version does not know are kept unread;
//   6. its producer stamp is whole and in range, or absent; a control batch has none.
// What is inside a record is not looked at: whoever reads the records checks them.
//
// Thread: immutable, any.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "service/base/ids.h"

namespace quorum {

// The fields of quorum.v1.RecordBatch that hold records, one field a record.
inline constexpr uint32_t kRecordsField = 11;
inline constexpr uint32_t kControlRecordsField = 12;

// No record has a sequence number at or above this one; a producer that gets there raises its
// epoch.
inline constexpr int64_t kSequenceLimit = int64_t{1} << 62;

// Who made a batch, and where it stands among that producer's batches (KIP-98).
struct ProducerStamp {
  // At least 0.
  int64_t id = 0;
  // At least 0.
  int32_t epoch = 0;
  // The sequence number of the first record; the others follow one by one. At least 0, and
  // base_sequence + record_count <= kSequenceLimit.
  int64_t base_sequence = 0;

  friend bool operator==(const ProducerStamp& a, const ProducerStamp& b) {
    return a.id == b.id && a.epoch == b.epoch && a.base_sequence == b.base_sequence;
  }
};

// What a batch is made of before it has a place in a log.
struct BatchDraft {
  uint32_t record_count = 0;
  int64_t base_timestamp_ms = 0;
  int64_t max_timestamp_ms = 0;
  bool control = false;
  // Encoded fields 11 (records) or 12 (control records), tags included.
  std::string records;
  std::optional<ProducerStamp> producer;
};

class RecordBatch {
 public:
  // Seals a draft at its place. CHECK-fails on a draft that breaks a guarantee (empty, miscounted)
  // and on an offset or epoch out of range: all are the caller's to refuse.
  static RecordBatch Seal(PartitionId partition, Offset base_offset, Epoch epoch,
                          const BatchDraft& draft);

  // Reads one batch that came from a peer or from the disk, and copies its bytes. DATA_LOSS when
  // the crc does not match, INVALID_ARGUMENT when the bytes are no batch. Of a batch that was cut
  // short, the crc does not match, unless the cut left no whole prefix.
  static absl::StatusOr<RecordBatch> Parse(PartitionId partition, absl::string_view bytes);

  Offset base_offset() const { return header_.base_offset; }
  // The offset of the last record in the batch.
  Offset last_offset() const { return header_.base_offset + (header_.record_count - 1); }
  // The offset after the last record.
  Offset next_offset() const { return header_.base_offset + header_.record_count; }
  Epoch epoch() const { return header_.epoch; }
  uint32_t record_count() const { return header_.record_count; }
  int64_t base_timestamp_ms() const { return header_.base_timestamp_ms; }
  int64_t max_timestamp_ms() const { return header_.max_timestamp_ms; }
  bool control() const { return header_.control; }
  const std::optional<ProducerStamp>& producer() const { return header_.producer; }

  // The serialised quorum.v1.RecordBatch. Valid as long as this batch, or a copy of it, lives.
  absl::string_view bytes() const { return absl::string_view(*bytes_); }
  size_t size() const { return bytes_->size(); }

 private:
  struct Header {
    Offset base_offset;
    Epoch epoch;
    uint32_t record_count = 0;
    int64_t base_timestamp_ms = 0;
    int64_t max_timestamp_ms = 0;
    bool control = false;
    std::optional<ProducerStamp> producer;
  };

  RecordBatch(Header header, std::shared_ptr<const std::string> bytes);

  // Fills `header` from the fields of `bytes`, which start at the crc field.
  static absl::Status ParseHeader(absl::string_view bytes, Header* header);

  Header header_;
  std::shared_ptr<const std::string> bytes_;
};

}  // namespace quorum
