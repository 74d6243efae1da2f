#include "storage/rocksdb/rocks_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "storage/layout/write_encoder.h"

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

// Writes and syncs the raised incarnation, and raises the floor to it.
std::optional<StoreError> WriteIncarnation(RecoveredImage* recovered, RocksDatabase* database,
                                           AckedFloor* floor) {
  NodeIdentity& node = recovered->store.node;
  node.incarnation = Incarnation(node.incarnation.value() + 1);
  RocksSink sink(database);
  EncodeIncarnation(node.incarnation, &sink);
  EncodeSyncedNumber(++recovered->synced_number, &sink);
  const rocksdb::Status status = database->Write(&sink);
  if (!status.ok()) return ErrorOfStatus(StatusOfRocks(status));
  if (auto error = floor->Raise(recovered->synced_number)) return error;
  return floor->RewriteBoth();
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

std::optional<StoreError> RocksStore::Open(const StoreOptions& options,
                                           std::unique_ptr<RocksStore>* store) {
  std::unique_ptr<ReadOnlyStore> found;
  if (auto error = ReadOnlyStore::Open(options.directory, options.tuning, &found)) return error;
  RecoveredImage recovered;
  if (auto error = ReadNodeRecords(found->database(), &recovered)) return error;
  if (auto error = CheckIdentity(recovered.store.node, options.expected)) return error;
  if (auto error = found->CheckFloor(recovered)) return error;
  if (auto error = RecoverImage(found->database(), options.recovery, &recovered)) return error;

  std::unique_ptr<RocksStore> opened(new RocksStore());
  std::unique_ptr<AckedFloor> floor;
  found->Release(&opened->lock_, &floor);
  found.reset();
  if (auto error = RocksDatabase::Open(DatabasePath(options.directory), options.tuning,
                                       options.writer.fatal, &opened->database_)) {
    return error;
  }
  RecoveredImage again;
  if (auto error = ReadNodeRecords(*opened->database_, &again)) return error;
  CHECK_EQ(again.synced_number, recovered.synced_number);
  if (auto error = WriteIncarnation(&recovered, opened->database_.get(), floor.get())) {
    return error;
  }
  opened->recovered_ = std::move(recovered.store);
  opened->writer_ = std::make_unique<RocksLogWriter>(options.writer, opened->database_.get(),
                                                     std::move(floor), recovered.synced_number);
  opened->reader_ =
      std::make_unique<RocksLogReader>(opened->database_.get(), options.reader_threads);
  *store = std::move(opened);
  return std::nullopt;
}

RocksStore::~RocksStore() = default;

}  // namespace quorum::storage
