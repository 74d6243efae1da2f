// RocksLogReader: a few threads that read batches for the shards.
//
// Thread: Read: any. `done` runs on a reader thread, or in Read itself when the queue is full.

#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "storage/api/log_reader.h"
#include "storage/layout/image.h"
#include "storage/rocksdb/worker_thread.h"

namespace quorum::storage {

class RocksLogReader : public LogReader {
 public:
  // Reads that wait; one more is answered RESOURCE_EXHAUSTED.
  static constexpr size_t kQueueMax = 16'384;

  // `image` outlives the reader. `threads` >= 1.
  RocksLogReader(const Image* image, int threads);
  // Answers what is queued with CANCELLED.
  ~RocksLogReader() override;

  void Read(const ReadRequest& request, std::function<void(ReadResult)> done) override;

 private:
  struct Queued {
    ReadRequest request;
    std::function<void(ReadResult)> done;
  };

  void Run();
  // Waits for a read. False when the reader is to end.
  bool Take(Queued* queued) ABSL_LOCKS_EXCLUDED(mutex_);

  const Image& image_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<WorkerThread>> threads_;
};

}  // namespace quorum::storage
