#include "storage/rocksdb/rocks_log_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "storage/layout/write_encoder.h"

namespace quorum::storage {

RocksLogWriter::RocksLogWriter(Options options, RocksDatabase* database,
                               std::unique_ptr<AckedFloor> floor, uint64_t synced_number)
    : options_(std::move(options)),
      database_(*database),
      floor_(std::move(floor)),
      synced_number_(synced_number),
      behind_since_(options_.clock->Now()),
      watchdog_(options_.watchdog != nullptr ? options_.watchdog : &own_watchdog_) {
  thread_ = std::make_unique<WorkerThread>("log-writer", [this] { Run(); });
}

RocksLogWriter::~RocksLogWriter() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyOne();
  }
  thread_.reset();
}

void RocksLogWriter::Submit(WriteSet set, std::function<void()> on_durable) {
  MutexLock lock(&mutex_);
  CHECK(!stopping_) << "The store is closed.";
  queue_.push_back(Queued{std::move(set), std::move(on_durable)});
  if (queue_.size() == 1) changed_.NotifyOne();
}

RocksLogWriter::Counts RocksLogWriter::counts() const {
  Counts counts;
  counts.write_sets = write_sets_.load();
  counts.syncs = syncs_.load();
  counts.bytes = bytes_.load();
  counts.floor_syncs = floor_syncs_.load();
  return counts;
}

void RocksLogWriter::Run() {
  std::vector<Queued> group;
  while (WaitForGroup(&group)) {
    if (group.empty()) {
      RaiseFloor();
      continue;
    }
    Commit(group);
    if (FloorIsBehind() && FloorDueIn(options_.clock->Now()) <= Duration::zero()) RaiseFloor();
  }
  RaiseFloor();
}

bool RocksLogWriter::WaitForGroup(std::vector<Queued>* group) {
  group->clear();
  MutexLock lock(&mutex_);
  while (queue_.empty()) {
    if (stopping_) return false;
    if (!FloorIsBehind()) {
      changed_.Wait(&mutex_);
      continue;
    }
    const Duration due = FloorDueIn(options_.clock->Now());
    if (due <= Duration::zero()) return true;
    const bool notified = changed_.WaitFor(&mutex_, std::min(due, options_.floor_idle));
    if (!notified && queue_.empty()) return true;
  }
  TakeGroup(group);
  return true;
}

void RocksLogWriter::TakeGroup(std::vector<Queued>* group) {
  size_t bytes = 0;
  while (!queue_.empty() && bytes < options_.group_bytes_max) {
    for (const Write& write : queue_.front().set.writes) {
      const auto* append = std::get_if<AppendBatch>(&write);
      if (append != nullptr) bytes += append->batch.size();
    }
    group->push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
}

void RocksLogWriter::Commit(const std::vector<Queued>& group) {
  RocksSink sink(&database_);
  bool exact_floor = false;
  for (const Queued& queued : group) {
    EncodeWriteSet(queued.set, &sink);
    exact_floor = exact_floor || queued.set.exact_floor;
  }
  EncodeSyncedNumber(synced_number_ + 1, &sink);

  watchdog_->Begin(options_.clock->Now());
  const rocksdb::Status status = database_.Write(&sink);
  if (!status.ok()) {
    options_.fatal(
        DamageError(kIoError, absl::StrCat("A synced write failed: ", status.ToString())));
    LOG(FATAL) << "The store was to end after a failed write.";
  }
  watchdog_->End();
  // The number counts, and the floor may follow it, only now that the write is synced. (The planted
  // bug M40 raises it earlier; it lives in the simulated disk, storage/memory.)
  if (!FloorIsBehind()) behind_since_ = options_.clock->Now();
  ++synced_number_;
  write_sets_ += group.size();
  bytes_ += sink.size();
  ++syncs_;

  if (exact_floor) RaiseFloor();
  for (const Queued& queued : group) {
    if (queued.on_durable) queued.on_durable();
  }
}

void RocksLogWriter::RaiseFloor() {
  if (!FloorIsBehind()) return;
  watchdog_->Begin(options_.clock->Now());
  if (const std::optional<StoreError> error = floor_->Raise(synced_number_)) {
    options_.fatal(*error);
    LOG(FATAL) << "The store was to end after a failed raise of the acked floor.";
  }
  watchdog_->End();
  ++floor_syncs_;
}

Duration RocksLogWriter::FloorDueIn(MonoTime now) const {
  return behind_since_ + options_.floor_lag - now;
}

}  // namespace quorum::storage
