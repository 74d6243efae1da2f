// Messages of a Tail as bytes: whole batches are sent as they are stored, as in Fetch.
//
// Thread: any.

#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <optional>

#include "quorum/v1/log.pb.h"
#include "service/transport/tail_plan.h"

namespace quorum::transport {

grpc::ByteBuffer EncodeTailRecords(const TailRecords& records,
                                   std::optional<Offset> high_watermark);
grpc::ByteBuffer EncodeTailMessage(const v1::TailResponse& message);

}  // namespace quorum::transport
