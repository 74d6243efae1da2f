#include "storage/rocksdb/rocks_log_reader.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "storage/layout/read_batches.h"

namespace quorum::storage {

RocksLogReader::RocksLogReader(const Image* image, int threads) : image_(*image) {
  CHECK_GE(threads, 1);
  for (int i = 0; i < threads; ++i) {
    threads_.push_back(
        std::make_unique<WorkerThread>(absl::StrCat("log-reader-", i), [this] { Run(); }));
  }
}

RocksLogReader::~RocksLogReader() {
  std::deque<Queued> rest;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    rest.swap(queue_);
    changed_.NotifyAll();
  }
  threads_.clear();
  for (const Queued& queued : rest) queued.done(absl::CancelledError("The store is closing."));
}

void RocksLogReader::Read(const ReadRequest& request, std::function<void(ReadResult)> done) {
  {
    MutexLock lock(&mutex_);
    if (!stopping_ && queue_.size() < kQueueMax) {
      queue_.push_back(Queued{request, std::move(done)});
      changed_.NotifyOne();
      return;
    }
  }
  done(absl::ResourceExhaustedError("Too many reads are waiting for the disk."));
}

void RocksLogReader::Run() {
  Queued queued;
  while (Take(&queued)) queued.done(ReadBatches(image_, queued.request));
}

bool RocksLogReader::Take(Queued* queued) {
  MutexLock lock(&mutex_);
  while (queue_.empty()) {
    if (stopping_) return false;
    changed_.Wait(&mutex_);
  }
  if (stopping_) return false;
  *queued = std::move(queue_.front());
  queue_.pop_front();
  return true;
}

}  // namespace quorum::storage
