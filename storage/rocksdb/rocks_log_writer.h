// RocksLogWriter: the thread that writes. It merges everything that all shards have queued into one
// write and one sync, while the shards go on; then it calls the completions in the order of Submit.
//
//   write and sync  ->  raise the acked floor, if a set asked for it  ->  completions
//
// Never another order: a floor above the database makes the node refuse to start after a power cut,
// and an effect before its floor can be forgotten unnoticed.
//
// Guarantees:
//   1. completions run in the order of Submit, after the sync of their group;
//   2. the completion of an exact_floor set runs after the floor covers it;
//   3. the floor follows other groups within floor_lag, and when nothing is queued;
//   4. after a failed write or sync no completion runs and no write starts: the process ends.
//
// Thread: Submit, counts: any. Everything else happens on the writer's own thread.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "service/base/time.h"
#include "storage/api/log_writer.h"
#include "storage/api/sync_watchdog.h"
#include "storage/rocksdb/acked_floor.h"
#include "storage/rocksdb/fatal_error.h"
#include "storage/rocksdb/rocks_database.h"
#include "storage/rocksdb/worker_thread.h"

namespace quorum::storage {

class RocksLogWriter : public LogWriter {
 public:
  struct Options {
    const Clock* clock = nullptr;
    // Told of each sync; outlives the writer. Null: the writer has one of its own.
    SyncWatchdog* watchdog = nullptr;
    // A floor behind the database is raised after this long at the latest, measured to the start of
    // the raise; the rest of the promised 50 ms is for the sync itself.
    Duration floor_lag = std::chrono::milliseconds(40);
    // Likewise when nothing was queued for this long.
    Duration floor_idle = std::chrono::milliseconds(10);
    // A group ends once it is this large; the rest of the queue is the next group.
    size_t group_bytes_max = size_t{4} << 20;
    FatalHandler fatal = DieOf;
  };

  struct Counts {
    uint64_t write_sets = 0;
    // Writes to the database, each with one sync.
    uint64_t syncs = 0;
    uint64_t bytes = 0;
    // Syncs of the floor's file.
    uint64_t floor_syncs = 0;
  };

  // `database` outlives the writer. `synced_number` is that of the newest write in it.
  RocksLogWriter(Options options, RocksDatabase* database, std::unique_ptr<AckedFloor> floor,
                 uint64_t synced_number);
  // Writes what is queued, completes it and raises the floor.
  ~RocksLogWriter() override;

  void Submit(WriteSet set, std::function<void()> on_durable) override;

  Counts counts() const;
  const SyncWatchdog& watchdog() const { return *watchdog_; }

 private:
  struct Queued {
    WriteSet set;
    std::function<void()> on_durable;
  };

  void Run();
  // Waits for something to do. False when the writer is to end and nothing is queued. An empty
  // group means that the floor is due.
  bool WaitForGroup(std::vector<Queued>* group) ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeGroup(std::vector<Queued>* group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Commit(const std::vector<Queued>& group);
  void RaiseFloor();
  bool FloorIsBehind() const { return floor_->number() < synced_number_; }
  // How long until the floor must be raised, when it is behind.
  Duration FloorDueIn(MonoTime now) const;

  const Options options_;
  RocksDatabase& database_;
  const std::unique_ptr<AckedFloor> floor_;
  uint64_t synced_number_;
  // When the oldest write that the floor does not cover was synced.
  MonoTime behind_since_;
  SyncWatchdog own_watchdog_;
  SyncWatchdog* const watchdog_;

  std::atomic<uint64_t> write_sets_{0};
  std::atomic<uint64_t> syncs_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> floor_syncs_{0};

  Mutex mutex_;
  CondVar changed_;
  // Bounded by what the shards have in flight; each bounds its own.
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  // Last, so that it ends before anything that it uses.
  std::unique_ptr<WorkerThread> thread_;
};

}  // namespace quorum::storage
