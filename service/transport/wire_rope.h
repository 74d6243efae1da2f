// WireRope: collects the bytes of a message whose big parts are not copied. Small pieces are
// gathered; a record batch is referred to, and kept alive until gRPC has sent it.
//
// Thread: one; the ByteBuffer it gives may go anywhere.

#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "service/base/record_batch.h"

namespace quorum::transport {

// How many bytes a length-delimited field of `content` bytes takes. Field numbers below 16 only.
size_t DelimitedSize(size_t content);

class WireRope {
 public:
  WireRope() = default;
  WireRope(const WireRope&) = delete;
  WireRope& operator=(const WireRope&) = delete;

  // The tag and length of field `number`, below 16; its `size` bytes of content must follow.
  void AddPrefix(uint32_t number, size_t size);
  void AddBytes(absl::string_view bytes);
  // The bytes of the batch; short ones are copied, which is cheaper than a piece of their own.
  void AddBatch(const RecordBatch& batch);

  size_t size() const { return size_; }

  // Everything added, and leaves the rope empty.
  grpc::ByteBuffer Finish();

 private:
  void CloseGathered();

  std::string gathered_;
  std::vector<grpc::Slice> slices_;
  size_t size_ = 0;
};

}  // namespace quorum::transport
