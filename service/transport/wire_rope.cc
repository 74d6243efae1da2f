#include "service/transport/wire_rope.h"

#include "service/base/check.h"

namespace quorum::transport {
namespace {

// Below this, a reference costs more than a copy: a slice of its own, a reference count, a vector
// of the system call.
constexpr size_t kReferredSizeMin = 4096;

size_t VarintSize(size_t value) {
  size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

void Release(void* batch) { delete static_cast<RecordBatch*>(batch); }

}  // namespace

size_t DelimitedSize(size_t content) { return 1 + VarintSize(content) + content; }

void WireRope::AddPrefix(uint32_t number, size_t size) {
  CHECK_LT(number, 16u);
  const size_t before = gathered_.size();
  gathered_.push_back(static_cast<char>(number << 3 | 2));
  size_t rest = size;
  while (rest >= 0x80) {
    gathered_.push_back(static_cast<char>(rest | 0x80));
    rest >>= 7;
  }
  gathered_.push_back(static_cast<char>(rest));
  size_ += gathered_.size() - before;
}

void WireRope::AddBytes(absl::string_view bytes) {
  gathered_.append(bytes.data(), bytes.size());
  size_ += bytes.size();
}

void WireRope::AddBatch(const RecordBatch& batch) {
  const absl::string_view bytes = batch.bytes();
  if (bytes.size() < kReferredSizeMin) {
    AddBytes(bytes);
    return;
  }
  CloseGathered();
  // The copy shares the bytes and keeps them alive. gRPC does not write to a slice.
  slices_.emplace_back(const_cast<char*>(bytes.data()), bytes.size(), Release,
                       new RecordBatch(batch));
  size_ += bytes.size();
}

grpc::ByteBuffer WireRope::Finish() {
  CloseGathered();
  // An empty message is a buffer of one empty slice: a buffer of none is no message at all.
  if (slices_.empty()) slices_.emplace_back();
  grpc::ByteBuffer buffer(slices_.data(), slices_.size());
  slices_.clear();
  size_ = 0;
  return buffer;
}

void WireRope::CloseGathered() {
  if (gathered_.empty()) return;
  slices_.emplace_back(gathered_);
  gathered_.clear();
}

}  // namespace quorum::transport
