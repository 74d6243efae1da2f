#include "client/producer_batch.h"

#include <algorithm>
#include <utility>

namespace quorum::client {
namespace {

// Tag, length, delta and the batch's share of its header.
constexpr size_t kRecordOverhead = 16;

void AddTo(const PendingAppendPointer& append, ProducerBatch* batch) {
  for (v1::Record& record : append->spec.records) {
    *batch->request.add_records() = std::move(record);
  }
  append->spec.records.clear();
  batch->deadline = std::max(batch->deadline, append->deadline);
  batch->appends.push_back(append);
}

}  // namespace

size_t WireBytes(const AppendSpec& spec) {
  size_t bytes = 0;
  for (const v1::Record& record : spec.records) bytes += record.ByteSizeLong() + kRecordOverhead;
  return bytes;
}

ProducerBatchPointer TakeBatch(size_t bytes_max, std::deque<PendingAppendPointer>* queue) {
  ProducerBatchPointer batch;
  size_t bytes = 0;
  while (!queue->empty()) {
    const PendingAppendPointer next = queue->front();
    if (!next->decided) {
      const bool fits = batch == nullptr || (!next->alone && bytes + next->bytes <= bytes_max);
      if (!fits) break;
      if (batch == nullptr) {
        batch = std::make_shared<ProducerBatch>();
        batch->deadline = next->deadline;
        const AppendSpec& spec = next->spec;
        batch->request.set_topic(spec.partition.topic);
        batch->request.set_partition(spec.partition.index);
        if (spec.expected_offset.has_value()) {
          batch->request.set_expected_offset(spec.expected_offset->value());
        }
        if (spec.leader_epoch.has_value()) {
          batch->request.set_leader_epoch(spec.leader_epoch->value());
        }
      }
      bytes += next->bytes;
      AddTo(next, batch.get());
    }
    queue->pop_front();
    if (next->alone && !next->decided) break;
  }
  return batch;
}

void PutBack(const std::deque<ProducerBatchPointer>& batches,
             std::deque<PendingAppendPointer>* queue) {
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
    int position = (*batch)->request.records_size();
    for (auto append = (*batch)->appends.rbegin(); append != (*batch)->appends.rend(); ++append) {
      PendingAppend& pending = **append;
      position -= static_cast<int>(pending.record_count);
      if (pending.decided) continue;
      for (size_t i = 0; i < pending.record_count; ++i) {
        pending.spec.records.push_back(
            std::move(*(*batch)->request.mutable_records(position + static_cast<int>(i))));
      }
      queue->push_front(*append);
    }
  }
}

}  // namespace quorum::client
