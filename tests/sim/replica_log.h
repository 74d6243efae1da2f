// ReplicaLog: what the oracle knows of one log, batch by batch, from the writes that the product
// submitted or from what lies on a simulated disk. The product's own state is never asked.
//
// Thread: the simulator's only one.

#pragma once

#include <cstddef>
#include <vector>

#include "service/base/ids.h"
#include "service/base/record_batch.h"

namespace quorum::sim {

// The same record at the same place: base offset, epoch and every byte.
bool IsSame(const RecordBatch& a, const RecordBatch& b);

class ReplicaLog {
 public:
  size_t size() const { return batches_.size(); }
  const RecordBatch& operator[](size_t index) const { return batches_[index]; }
  Offset end() const { return batches_.empty() ? Offset(0) : batches_.back().next_offset(); }

  // False, and nothing is added, when the batch does not start at the end.
  bool Append(const RecordBatch& batch);
  // Removes the batches at or above `end`. False when `end` is no batch border.
  bool TruncateTo(Offset end);
  // How many batches lie below `offset`, those that reach beyond it not counted.
  size_t CountBelow(Offset offset) const;
  // The batch that ends exactly at `offset`; null when there is none.
  const RecordBatch* EndingAt(Offset offset) const;
  // The batch that starts exactly at `offset`; null when there is none.
  const RecordBatch* StartingAt(Offset offset) const;

 private:
  std::vector<RecordBatch> batches_;
};

}  // namespace quorum::sim
