// ReadOnlyStore: a data directory, locked and open for reading only. It is what a server looks at
// before it opens the store for writing, and what `dump` and `verify` read. Nothing on disk
// changes.
//
//   std::unique_ptr<ReadOnlyStore> store;
//   if (auto error = ReadOnlyStore::Open(directory, RocksTuning(), &store)) return error;
//   return DumpNode(store->database(), DumpFormat::kText, print);
//
// Thread: the owner's.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "storage/layout/dump.h"
#include "storage/layout/recover.h"
#include "storage/layout/store_error.h"
#include "storage/rocksdb/acked_floor.h"
#include "storage/rocksdb/data_directory.h"
#include "storage/rocksdb/rocks_database.h"
#include "storage/rocksdb/rocks_options.h"

namespace quorum::storage {

class ReadOnlyStore {
 public:
  // Everything up to the database; says nothing about whose it is. The floor may be missing, see
  // floor_error().
  static std::optional<StoreError> Open(const std::string& directory, const RocksTuning& tuning,
                                        std::unique_ptr<ReadOnlyStore>* store);

  const RocksDatabase& database() const { return *database_; }
  // Why there is no usable acked floor; CheckFloor returns it.
  const std::optional<StoreError>& floor_error() const { return floor_error_; }
  // BEHIND_ACKED_FLOOR when the database, whose newest write is `synced_number`, is behind it, and
  // CORRUPT when the floor is that of another directory.
  std::optional<StoreError> CheckFloor(const RecoveredImage& found) const;

  // ReadNodeRecords, but for a missing formatted marker under a raised floor: that is no unfinished
  // formatting but BEHIND_ACKED_FLOOR.
  std::optional<StoreError> ReadNode(RecoveredImage* result) const;

  // All that RocksStore::Open looks at before it writes: identity, floor, then the replicas.
  std::optional<StoreError> Recover(const ExpectedIdentity& expected, const RecoveryBudget& budget,
                                    RecoveredImage* result) const;

  // Closes the database, and hands the lock and the floor over.
  void Release(std::unique_ptr<DirectoryLock>* lock, std::unique_ptr<AckedFloor>* floor);

 private:
  ReadOnlyStore() = default;

  std::unique_ptr<DirectoryLock> lock_;
  std::unique_ptr<AckedFloor> floor_;
  std::optional<StoreError> floor_error_;
  std::unique_ptr<RocksDatabase> database_;
};

// What `verify` does: the floor, and every value and batch of the store, as VerifyImage says them.
std::optional<StoreError> VerifyDirectory(const std::string& directory, const RocksTuning& tuning,
                                          DumpFormat format, const LineSink& sink);

}  // namespace quorum::storage
