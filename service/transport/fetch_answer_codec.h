// Answers of Fetch: quorum.v1.FetchResponse written and read with record batches as opaque bytes
// (docs/adr). A batch goes out as the very bytes that its leader sealed, without a copy, and comes
// in through RecordBatch::Parse, where its checksum is checked once. Everything around the batches
// is written and read by the generated classes.
//
// Thread: any.

#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "service/shard/peer_messages.h"

namespace quorum::transport {

grpc::ByteBuffer EncodeFetchAnswer(const shard::PeerIdentity& responder,
                                   const shard::FetchAnswer& answer);

// INVALID_ARGUMENT when the answer is malformed: nothing of it is used then. A batch that is
// damaged, or of another partition, ends the batches of its entry; those before it count.
absl::StatusOr<shard::LaneResponse> DecodeFetchAnswer(const grpc::ByteBuffer& buffer);
absl::StatusOr<shard::LaneResponse> DecodeFetchAnswer(absl::string_view bytes);

}  // namespace quorum::transport
