#include "service/transport/tail_codec.h"

#include <string>

#include "service/transport/wire_rope.h"

namespace quorum::transport {

grpc::ByteBuffer EncodeTailRecords(const TailRecords& records,
                                   std::optional<Offset> high_watermark) {
  constexpr uint32_t kRecords = v1::TailResponse::kRecordsFieldNumber;
  constexpr uint32_t kBatches = v1::TailResponse::Records::kBatchesFieldNumber;
  v1::TailResponse::Records positions;
  positions.set_next_offset(records.next.value());
  if (high_watermark.has_value()) positions.set_high_watermark(high_watermark->value());
  // The batches have the lowest field number, so they come first.
  const std::string tail = positions.SerializeAsString();
  size_t size = tail.size();
  for (const TailBatch& batch : records.batches) {
    size += DelimitedSize(batch.whole.has_value() ? batch.whole->size() : batch.cut.size());
  }
  WireRope rope;
  rope.AddPrefix(kRecords, size);
  for (const TailBatch& batch : records.batches) {
    if (batch.whole.has_value()) {
      rope.AddPrefix(kBatches, batch.whole->size());
      rope.AddBatch(*batch.whole);
    } else {
      rope.AddPrefix(kBatches, batch.cut.size());
      rope.AddBytes(batch.cut);
    }
  }
  rope.AddBytes(tail);
  return rope.Finish();
}

grpc::ByteBuffer EncodeTailMessage(const v1::TailResponse& message) {
  WireRope rope;
  rope.AddBytes(message.SerializeAsString());
  return rope.Finish();
}

}  // namespace quorum::transport
