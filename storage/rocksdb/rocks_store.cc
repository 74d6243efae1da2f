#include "storage/rocksdb/rocks_store.h"

#include <utility>

#include "service/base/check.h"
#include "storage/layout/write_encoder.h"

namespace quorum::storage {
namespace {

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

std::optional<StoreError> RocksStore::Open(const StoreOptions& options,
                                           std::unique_ptr<RocksStore>* store) {
  std::unique_ptr<ReadOnlyStore> found;
  if (auto error = ReadOnlyStore::Open(options.directory, options.tuning, &found)) return error;
  RecoveredImage recovered;
  if (auto error = found->Recover(options.expected, options.recovery, &recovered)) return error;

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
