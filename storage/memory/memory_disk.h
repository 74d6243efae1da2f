// MemoryDisk: the disk of one simulated node. It stores what storage/rocksdb stores, by the same
// encoder, and recovers by the same code; only durability is simulated. The simulator decides when
// a sync or a read completes, and what a crash leaves.
//
//   Submit -> queue (only in memory) -> CompleteWrites: one group, written, synced, floor raised,
//   completions called in order.
//
// A crash finds the queued write sets at any stage of that way: lost, in the page cache, or on the
// platter with or without its floor. What is in the page cache survives the end of a process but
// not a power cut, until Recover or a later sync makes it durable.
//
// Guarantees:
//   1. what comes back after any Crash is a prefix of the submitted write sets that holds all the
//      completed ones (but for the faults below);
//   2. completions run in the order of Submit, and none runs for a write set that a crash took;
//   3. the acked floor is never above the number of the newest synced group, and covers each
//      exact_floor set before its completion runs. For other groups it is one group behind.
//
// Thread: one, the simulator's. Completions run inside CompleteWrites and CompleteReads.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/base/time.h"
#include "storage/api/log_reader.h"
#include "storage/api/log_writer.h"
#include "storage/api/recovery.h"
#include "storage/api/sync_watchdog.h"
#include "storage/api/write_set.h"
#include "storage/layout/recover.h"
#include "storage/layout/store_error.h"
#include "storage/layout/write_encoder.h"
#include "storage/memory/memory_image.h"

namespace quorum::storage {

// What a crash leaves of the queued write sets, oldest first. `synced` of them reached the platter;
// the next ones up to `written` are in the page cache only; the rest is lost. A power cut has
// written == synced. Values above the queue's length mean all of it.
struct CrashOutcome {
  size_t synced = 0;
  size_t written = 0;
};

class MemoryDisk : public LogWriter, public LogReader {
 public:
  // `clock` must outlive the disk; it is read for the watchdog only.
  explicit MemoryDisk(const Clock* clock) : clock_(*clock) {}
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;

  // `writes_pending` is called by Submit whenever the queue was empty before, and `reads_pending`
  // by Read likewise: the place to schedule a CompleteWrites or CompleteReads after a latency. The
  // caller schedules anew when a completion leaves some of the queue behind.
  void SetObservers(std::function<void()> writes_pending, std::function<void()> reads_pending);

  // Formats a blank disk. NOT_EMPTY otherwise; already formatted for the same cluster, node and
  // directory changes nothing.
  std::optional<StoreError> Format(const FormatPlan& plan);
  bool formatted() const { return !image_.empty(); }

  // Opens the disk at the start of a process: checks identity and floor, rebuilds the replicas,
  // raises the incarnation and syncs all that survived. A refusal changes nothing.
  std::optional<StoreError> Recover(const ExpectedIdentity& expected, RecoveredStore* result);

  void Submit(WriteSet set, std::function<void()> on_durable) override;
  void Read(const ReadRequest& request, std::function<void(ReadResult)> done) override;

  bool HasPending() const { return !queue_.empty(); }
  size_t PendingWriteSets() const { return queue_.size(); }
  // Syncs the first `count` queued write sets as one group. Does nothing while the disk is stuck or
  // nothing is queued. False when it did nothing.
  bool CompleteWrites(size_t count);

  bool HasPendingReads() const { return !reads_.empty(); }
  // Answers the first `count` reads from what is durable now. As CompleteWrites while stuck.
  bool CompleteReads(size_t count);

  // Raises the floor to the newest synced group, as the real writer does when it is idle.
  void RaiseIdleFloor();

  // Ends the process that uses the disk. Queued completions and reads are dropped.
  void Crash(const CrashOutcome& outcome);
  // The machine loses power while no process runs: the page cache is gone too.
  void PowerCut();

  // A stuck disk completes nothing; the watchdog goes on counting.
  void SetStuck(bool stuck) { stuck_ = stuck; }
  bool stuck() const { return stuck_; }

  // Faults outside of what a correct disk does. None touches the acked floor, but for Wipe.
  // The directory is emptied, as by a new disk.
  void Wipe();
  // The database as it is now, and back to it later: a restored backup.
  MemoryImage SaveDatabase() const { return image_; }
  void RestoreDatabase(MemoryImage image) { image_ = std::move(image); }
  // Inverts a random bit of a random value of the family. False when the family is empty.
  bool FlipBit(ColumnFamily family, Prng* prng);
  // Inverts a random bit of a random batch of the partition. False when its log is empty.
  bool FlipBitOfLog(PartitionId partition, Prng* prng);

  // What is durable, for checkers.
  const MemoryImage& image() const { return image_; }
  uint64_t acked_floor() const { return floor_.value_or(0); }
  uint64_t synced_number() const { return synced_number_; }
  // Syncs of the database since construction; floor raises are counted apart.
  uint64_t syncs() const { return syncs_; }
  uint64_t floor_syncs() const { return floor_syncs_; }
  const SyncWatchdog& watchdog() const { return watchdog_; }

 private:
  struct Pending {
    WriteSet set;
    std::function<void()> on_durable;
  };
  struct PendingRead {
    ReadRequest request;
    std::function<void(ReadResult)> done;
  };

  // Applies `count` sets of `sets` as the next synced group.
  void ApplyGroup(const std::vector<WriteSet>& sets);
  void RaiseFloor(uint64_t number);
  // All that was written is on the platter from now on.
  void CountSync();
  std::optional<StoreError> CheckFloor(uint64_t recovered_number) const;

  const Clock& clock_;
  std::function<void()> writes_pending_;
  std::function<void()> reads_pending_;
  std::deque<Pending> queue_;
  std::deque<PendingRead> reads_;
  // Written by an earlier process, never synced, not yet recovered.
  std::vector<WriteSet> page_cache_;
  // What the database holds; all of it is durable, unless platter_ is present.
  MemoryImage image_;
  // What is really durable while the recovered tail is not (planted bug M41 only).
  std::optional<MemoryImage> platter_;
  // Absent when there is no floor file.
  std::optional<uint64_t> floor_;
  uint64_t synced_number_ = 0;
  uint64_t syncs_ = 0;
  uint64_t floor_syncs_ = 0;
  bool stuck_ = false;
  SyncWatchdog watchdog_;
};

}  // namespace quorum::storage
