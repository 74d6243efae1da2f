#include "tests/sim/replica_log.h"

#include <algorithm>

namespace quorum::sim {

bool IsSame(const RecordBatch& a, const RecordBatch& b) {
  if (a.base_offset() != b.base_offset() || a.epoch() != b.epoch()) return false;
  return a.bytes().data() == b.bytes().data() || a.bytes() == b.bytes();
}

bool ReplicaLog::Append(const RecordBatch& batch) {
  if (batch.base_offset() != end()) return false;
  batches_.push_back(batch);
  return true;
}

bool ReplicaLog::TruncateTo(Offset end) {
  const size_t kept = CountBelow(end);
  batches_.erase(batches_.begin() + static_cast<int64_t>(kept), batches_.end());
  return this->end() == end;
}

size_t ReplicaLog::CountBelow(Offset offset) const {
  const auto first = std::partition_point(
      batches_.begin(), batches_.end(),
      [offset](const RecordBatch& batch) { return batch.next_offset() <= offset; });
  return static_cast<size_t>(first - batches_.begin());
}

const RecordBatch* ReplicaLog::EndingAt(Offset offset) const {
  const size_t count = CountBelow(offset);
  if (count == 0 || batches_[count - 1].next_offset() != offset) return nullptr;
  return &batches_[count - 1];
}

const RecordBatch* ReplicaLog::StartingAt(Offset offset) const {
  const size_t count = CountBelow(offset);
  if (count >= batches_.size() || batches_[count].base_offset() != offset) return nullptr;
  return &batches_[count];
}

}  // namespace quorum::sim
