#include "storage/rocksdb/read_only_store.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace quorum::storage {
namespace {

// No database where one should be: formatting never finished, or, once the floor is above 0, the
// database was lost.
StoreError NoDatabase(const std::string& directory, const AckedFloor* floor) {
  if (floor != nullptr && floor->number() > 0) {
    return DamageError(kCorrupt, absl::StrCat("The database of ", directory, " is gone."));
  }
  return IdentityError(kHalfFormatted, absl::StrCat("Formatting of ", directory,
                                                    " never finished. Wipe it and format again."));
}

}  // namespace

std::optional<StoreError> ReadOnlyStore::Open(const std::string& directory,
                                              const RocksTuning& tuning,
                                              std::unique_ptr<ReadOnlyStore>* store) {
  DirectoryState state = DirectoryState::kMissing;
  if (auto error = InspectDirectory(directory, &state)) return error;
  if (state != DirectoryState::kOurs) {
    return IdentityError(kNotFormatted,
                         absl::StrCat(directory, " is not a formatted data directory."));
  }
  std::unique_ptr<ReadOnlyStore> opened(new ReadOnlyStore());
  if (auto error = DirectoryLock::Take(directory, &opened->lock_)) return error;
  opened->floor_error_ = AckedFloor::Open(FloorPath(directory), &opened->floor_);
  if (!FileExists(DatabasePath(directory) + "/CURRENT")) {
    return NoDatabase(directory, opened->floor_.get());
  }
  if (auto error =
          RocksDatabase::OpenReadOnly(DatabasePath(directory), tuning, &opened->database_)) {
    return error;
  }
  *store = std::move(opened);
  return std::nullopt;
}

std::optional<StoreError> ReadOnlyStore::CheckFloor(const RecoveredImage& found) const {
  if (floor_error_.has_value()) return floor_error_;
  if (floor_->directory() != found.store.node.directory) {
    return DamageError(kCorrupt, "The acked floor is that of another directory.");
  }
  if (found.synced_number < floor_->number()) {
    return DamageError(kBehindAckedFloor,
                       absl::StrCat("The database holds synced write ", found.synced_number,
                                    ", but effects of ", floor_->number(),
                                    " have left this node. Wipe it and join under a new "
                                    "directory id."));
  }
  return std::nullopt;
}

void ReadOnlyStore::Release(std::unique_ptr<DirectoryLock>* lock,
                            std::unique_ptr<AckedFloor>* floor) {
  database_.reset();
  *lock = std::move(lock_);
  *floor = std::move(floor_);
}

std::optional<StoreError> ReadOnlyStore::ReadNode(RecoveredImage* result) const {
  *result = RecoveredImage();
  const std::optional<StoreError> error = ReadNodeRecords(*database_, result);
  if (error.has_value() && error->reason == kHalfFormatted && floor_ != nullptr &&
      floor_->number() > 0) {
    return DamageError(kBehindAckedFloor, "The database has lost all that was ever written to it.");
  }
  return error;
}

std::optional<StoreError> ReadOnlyStore::Recover(const ExpectedIdentity& expected,
                                                 const RecoveryBudget& budget,
                                                 RecoveredImage* result) const {
  if (auto error = ReadNode(result)) return error;
  if (auto error = CheckIdentity(result->store.node, expected)) return error;
  if (auto error = CheckFloor(*result)) return error;
  return RecoverImage(*database_, budget, result);
}

std::optional<StoreError> VerifyDirectory(const std::string& directory, const RocksTuning& tuning,
                                          DumpFormat format, const LineSink& sink) {
  std::unique_ptr<ReadOnlyStore> store;
  if (auto error = ReadOnlyStore::Open(directory, tuning, &store)) return error;
  RecoveredImage found;
  if (auto error = store->ReadNode(&found)) return error;
  if (auto error = store->CheckFloor(found)) return error;
  return VerifyImage(store->database(), format, sink);
}

}  // namespace quorum::storage
