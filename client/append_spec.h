// AppendSpec: one append, records that go into the log together or not at all.
//
// Thread: plain values.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/partition_name.h"
#include "quorum/v1/record.pb.h"
#include "service/base/ids.h"
#include "service/base/time.h"

namespace quorum::client {

// The most that the records of an append may have, in bytes on the wire; a larger one is refused
// here. The servers' own limits are lower, unless they were raised.
inline constexpr size_t kAppendBytesMax = (size_t{16} << 20) - (size_t{64} << 10);

struct AppendSpec {
  PartitionName partition;
  // At least one. They get consecutive offsets. Leave `offset_delta` out.
  std::vector<v1::Record> records;
  // Append only if no record of a client lies at or above this offset, else OFFSET_MISMATCH, whose
  // metadata say the committed end as `log_end`. Empty: no condition.
  std::optional<Offset> expected_offset = {};
  // The only epoch in which the append may happen, else FENCED_LEADER_EPOCH. Empty: any.
  std::optional<Epoch> leader_epoch = {};
  // From Append until the outcome; empty: ProducerOptions::timeout. Positive.
  std::optional<Duration> timeout = {};
};

// A record with a value, and with a key or without.
inline v1::Record RecordOf(std::string value) {
  v1::Record record;
  record.set_value(std::move(value));
  return record;
}
inline v1::Record RecordOf(std::string key, std::string value) {
  v1::Record record = RecordOf(std::move(value));
  record.set_key(std::move(key));
  return record;
}

}  // namespace quorum::client
