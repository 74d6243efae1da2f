#include "service/base/producer.h"

#include <utility>
#include <variant>

namespace quorum {

absl::StatusOr<BatchHeader> HeaderOf(const RecordBatch& batch) {
  BatchHeader header;
  header.base_offset = batch.base_offset();
  header.next_offset = batch.next_offset();
  header.control = batch.control();
  header.base_timestamp_ms = batch.base_timestamp_ms();
  header.producer = batch.producer();
  if (!batch.control()) return header;
  absl::StatusOr<std::vector<ControlRecord>> records = DecodeControlBatch(batch);
  if (!records.ok()) return records.status();
  Offset offset = batch.base_offset();
  for (ControlRecord& record : *records) {
    if (auto* binding = std::get_if<ProducerBinding>(&record)) {
      header.bindings.emplace_back(offset, std::move(*binding));
    }
    offset = offset + 1;
  }
  return header;
}

}  // namespace quorum
