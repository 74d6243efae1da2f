#include "storage/memory/memory_disk.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/base/plant.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/read_batches.h"

namespace quorum::storage {

void MemoryDisk::SetObservers(std::function<void()> writes_pending,
                              std::function<void()> reads_pending) {
  writes_pending_ = std::move(writes_pending);
  reads_pending_ = std::move(reads_pending);
}

std::optional<StoreError> MemoryDisk::Format(const FormatPlan& plan) {
  if (!image_.empty()) {
    RecoveredImage found;
    if (auto error = ReadNodeRecords(image_, &found)) return error;
    const NodeIdentity& node = found.store.node;
    if (auto error = CheckIdentity(node, {plan.identity.cluster_id, plan.identity.node})) {
      return error;
    }
    if (node.directory == plan.identity.directory) return std::nullopt;
    return IdentityError(kDirectoryMismatch, "The disk is formatted under another directory id.");
  }
  EncodeFormat(plan, &image_);
  synced_number_ = 1;
  RaiseFloor(1);
  return std::nullopt;
}

std::optional<StoreError> MemoryDisk::CheckFloor(uint64_t recovered_number) const {
  if (!floor_.has_value()) {
    return DamageError(kAckedFloorMissing, "The file of the acked floor is missing.");
  }
  if (recovered_number < *floor_) {
    return DamageError(kBehindAckedFloor,
                       absl::StrCat("The database holds synced write ", recovered_number,
                                    ", but effects of ", *floor_, " have left this node."));
  }
  return std::nullopt;
}

std::optional<StoreError> MemoryDisk::Recover(const ExpectedIdentity& expected,
                                              RecoveredStore* result) {
  if (image_.empty()) return IdentityError(kNotFormatted, "The disk is blank.");
  MemoryImage recovered = image_;
  RecoveredImage found;
  if (auto error = ReadNodeRecords(recovered, &found)) return error;
  uint64_t number = found.synced_number;
  for (const WriteSet& set : page_cache_) {
    EncodeWriteSet(set, &recovered);
    EncodeSyncedNumber(++number, &recovered);
  }
  if (auto error = RecoverImage(recovered, RecoveryBudget(), &found)) return error;
  if (auto error = CheckIdentity(found.store.node, expected)) return error;
  if (auto error = CheckFloor(found.synced_number)) return error;

  NodeIdentity& node = found.store.node;
  node.incarnation = Incarnation(node.incarnation.value() + 1);
  EncodeIncarnation(node.incarnation, &recovered);
  EncodeSyncedNumber(found.synced_number + 1, &recovered);
  if (Planted(Plant::kM41) && !platter_.has_value()) platter_ = image_;
  image_ = std::move(recovered);
  synced_number_ = found.synced_number + 1;
  if (!Planted(Plant::kM41)) {
    CountSync();
    RaiseFloor(synced_number_);
  }
  page_cache_.clear();
  *result = std::move(found.store);
  return std::nullopt;
}

void MemoryDisk::Submit(WriteSet set, std::function<void()> on_durable) {
  CHECK(page_cache_.empty()) << "Recover the disk before writing to it.";
  if (Planted(Plant::kM40) && set.exact_floor) RaiseFloor(synced_number_ + 1);
  const bool was_empty = queue_.empty();
  queue_.push_back(Pending{std::move(set), std::move(on_durable)});
  if (!was_empty) return;
  watchdog_.Begin(clock_.Now());
  if (writes_pending_) writes_pending_();
}

void MemoryDisk::Read(const ReadRequest& request, std::function<void(ReadResult)> done) {
  const bool was_empty = reads_.empty();
  reads_.push_back(PendingRead{request, std::move(done)});
  if (was_empty && reads_pending_) reads_pending_();
}

bool MemoryDisk::CompleteWrites(size_t count) {
  count = std::min(count, queue_.size());
  if (stuck_ || count == 0) return false;
  std::vector<WriteSet> sets;
  std::vector<std::function<void()>> completions;
  for (size_t i = 0; i < count; ++i) {
    sets.push_back(std::move(queue_.front().set));
    completions.push_back(std::move(queue_.front().on_durable));
    queue_.pop_front();
  }
  const bool exact =
      std::any_of(sets.begin(), sets.end(), [](const WriteSet& set) { return set.exact_floor; });
  ApplyGroup(sets);
  CountSync();
  RaiseFloor(exact ? synced_number_ : synced_number_ - 1);
  watchdog_.End();
  if (!queue_.empty()) watchdog_.Begin(clock_.Now());
  for (const std::function<void()>& completion : completions) completion();
  return true;
}

bool MemoryDisk::CompleteReads(size_t count) {
  count = std::min(count, reads_.size());
  if (stuck_ || count == 0) return false;
  std::vector<PendingRead> reads(
      std::make_move_iterator(reads_.begin()),
      std::make_move_iterator(reads_.begin() + static_cast<int64_t>(count)));
  reads_.erase(reads_.begin(), reads_.begin() + static_cast<int64_t>(count));
  for (const PendingRead& read : reads) read.done(ReadBatches(image_, read.request));
  return true;
}

void MemoryDisk::RaiseIdleFloor() {
  if (formatted() && !stuck_ && !platter_.has_value()) RaiseFloor(synced_number_);
}

void MemoryDisk::Crash(const CrashOutcome& outcome) {
  const size_t synced = std::min(outcome.synced, queue_.size());
  const size_t written = std::min(std::max(outcome.written, synced), queue_.size());
  for (size_t i = 0; i < synced; ++i) {
    ApplyGroup({queue_[i].set});
    CountSync();
  }
  for (size_t i = synced; i < written; ++i) page_cache_.push_back(std::move(queue_[i].set));
  queue_.clear();
  reads_.clear();
  watchdog_.End();
}

void MemoryDisk::PowerCut() {
  CHECK(queue_.empty()) << "Crash the process first.";
  page_cache_.clear();
  if (!platter_.has_value()) return;
  image_ = *std::move(platter_);
  platter_.reset();
  RecoveredImage found;
  if (!ReadNodeRecords(image_, &found).has_value()) synced_number_ = found.synced_number;
}

void MemoryDisk::Wipe() {
  image_ = MemoryImage();
  platter_.reset();
  page_cache_.clear();
  floor_.reset();
  synced_number_ = 0;
}

bool MemoryDisk::FlipBit(ColumnFamily family, Prng* prng) {
  const MemoryImage::Family& entries = image_.family(family);
  if (entries.empty()) return false;
  const size_t position = prng->Below(entries.size());
  const size_t size = std::next(entries.begin(), static_cast<int64_t>(position))->second.size();
  return image_.FlipBit(family, position, prng->Below(8 * size));
}

bool MemoryDisk::FlipBitOfLog(PartitionId partition, Prng* prng) {
  const MemoryImage::Family& log = image_.family(ColumnFamily::kLog);
  const auto begin = log.lower_bound(PartitionKey(partition));
  const auto end = log.lower_bound(PartitionEndKey(partition));
  const auto count = static_cast<uint64_t>(std::distance(begin, end));
  if (count == 0) return false;
  const auto step = static_cast<int64_t>(prng->Below(count));
  const size_t size = std::next(begin, step)->second.size();
  const auto position = static_cast<size_t>(std::distance(log.begin(), begin) + step);
  return image_.FlipBit(ColumnFamily::kLog, position, prng->Below(8 * size));
}

void MemoryDisk::ApplyGroup(const std::vector<WriteSet>& sets) {
  for (const WriteSet& set : sets) EncodeWriteSet(set, &image_);
  EncodeSyncedNumber(++synced_number_, &image_);
}

void MemoryDisk::RaiseFloor(uint64_t number) {
  if (floor_.has_value() && *floor_ >= number) return;
  floor_ = number;
  ++floor_syncs_;
}

void MemoryDisk::CountSync() {
  ++syncs_;
  platter_.reset();
}

}  // namespace quorum::storage
