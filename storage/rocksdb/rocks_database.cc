#include "storage/rocksdb/rocks_database.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/value_codec.h"
#include "storage/rocksdb/wal_check.h"

namespace quorum::storage {
namespace {

rocksdb::Slice SliceOf(absl::string_view bytes) { return {bytes.data(), bytes.size()}; }

absl::string_view ViewOf(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

class RocksCursor : public Cursor {
 public:
  explicit RocksCursor(rocksdb::Iterator* iterator) : iterator_(iterator) {}

  bool Valid() const override { return iterator_->Valid(); }
  void Seek(absl::string_view key) override { iterator_->Seek(SliceOf(key)); }
  void SeekForPrev(absl::string_view key) override { iterator_->SeekForPrev(SliceOf(key)); }
  void Next() override { iterator_->Next(); }
  void Prev() override { iterator_->Prev(); }
  absl::string_view key() const override { return ViewOf(iterator_->key()); }
  absl::string_view value() const override { return ViewOf(iterator_->value()); }
  absl::Status status() const override { return StatusOfRocks(iterator_->status()); }

 private:
  const std::unique_ptr<rocksdb::Iterator> iterator_;
};

StoreError OpenError(const rocksdb::Status& status) {
  const std::string message = absl::StrCat("Cannot open the database: ", status.ToString());
  const bool io = status.IsIOError() && status.subcode() != rocksdb::Status::kPathNotFound;
  return DamageError(io ? kIoError : kCorrupt, message);
}

}  // namespace

absl::Status StatusOfRocks(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsNotFound()) return absl::NotFoundError(status.ToString());
  if (status.IsCorruption()) return absl::DataLossError(status.ToString());
  return absl::UnavailableError(status.ToString());
}

void RocksSink::Put(ColumnFamily family, absl::string_view key, absl::string_view value) {
  const rocksdb::Status status = batch_.Put(database_.handle(family), SliceOf(key), SliceOf(value));
  CHECK(status.ok()) << status.ToString();
}

void RocksSink::Delete(ColumnFamily family, absl::string_view key) {
  const rocksdb::Status status = batch_.Delete(database_.handle(family), SliceOf(key));
  CHECK(status.ok()) << status.ToString();
}

void RocksSink::DeleteRange(ColumnFamily family, absl::string_view begin, absl::string_view end) {
  const rocksdb::Status status =
      batch_.DeleteRange(database_.handle(family), SliceOf(begin), SliceOf(end));
  CHECK(status.ok()) << status.ToString();
}

rocksdb::Status RocksDatabase::OpenAs(Mode mode, const std::string& path, const RocksTuning& tuning,
                                      const FatalHandler& fatal, rocksdb::WalFilter* wal_filter,
                                      std::unique_ptr<RocksDatabase>* database) {
  rocksdb::DBOptions options = MakeDatabaseOptions(tuning, fatal);
  options.create_if_missing = mode == Mode::kCreate;
  options.create_missing_column_families = mode == Mode::kCreate;
  options.error_if_exists = mode == Mode::kCreate;
  options.wal_filter = wal_filter;
  std::unique_ptr<RocksDatabase> opened(new RocksDatabase());
  rocksdb::DB* db = nullptr;
  const auto families = MakeColumnFamilies(tuning);
  const rocksdb::Status status =
      mode == Mode::kReadOnly
          ? rocksdb::DB::OpenForReadOnly(options, path, families, &opened->handles_, &db)
          : rocksdb::DB::Open(options, path, families, &opened->handles_, &db);
  opened->db_.reset(db);
  if (status.ok()) *database = std::move(opened);
  return status;
}

std::optional<StoreError> RocksDatabase::Create(const std::string& path, const RocksTuning& tuning,
                                                const FatalHandler& fatal,
                                                std::unique_ptr<RocksDatabase>* database) {
  const rocksdb::Status status = OpenAs(Mode::kCreate, path, tuning, fatal, nullptr, database);
  if (!status.ok()) return OpenError(status);
  return std::nullopt;
}

std::optional<StoreError> RocksDatabase::Open(const std::string& path, const RocksTuning& tuning,
                                              const FatalHandler& fatal,
                                              std::unique_ptr<RocksDatabase>* database) {
  const rocksdb::Status status = OpenAs(Mode::kReadWrite, path, tuning, fatal, nullptr, database);
  if (!status.ok()) return OpenError(status);
  return std::nullopt;
}

std::optional<StoreError> RocksDatabase::OpenReadOnly(const std::string& path,
                                                      const RocksTuning& tuning,
                                                      std::unique_ptr<RocksDatabase>* database) {
  if (auto error = CheckWal(path, tuning)) return error;
  const rocksdb::Status status = OpenAs(Mode::kReadOnly, path, tuning, DieOf, nullptr, database);
  if (!status.ok()) return OpenError(status);
  return std::nullopt;
}

std::optional<StoreError> RocksDatabase::CheckWal(const std::string& path,
                                                  const RocksTuning& tuning) {
  WalNumbers numbers;
  std::unique_ptr<RocksDatabase> tables;
  const rocksdb::Status status = OpenAs(Mode::kReadOnly, path, tuning, DieOf, &numbers, &tables);
  if (!status.ok()) return OpenError(status);
  // Nothing was replayed, so this is the number that the tables hold.
  std::string value;
  const absl::Status found = tables->Get(ColumnFamily::kDefault, kSyncedNumberKey, &value);
  int64_t flushed = 0;
  if (found.ok()) {
    const auto number = DecodeNumber({ColumnFamily::kDefault, kSyncedNumberKey}, value);
    if (!number.ok()) return ErrorOfStatus(number.status());
    flushed = *number;
  } else if (!absl::IsNotFound(found)) {
    return ErrorOfStatus(found);
  }
  return numbers.Check(static_cast<uint64_t>(flushed));
}

RocksDatabase::~RocksDatabase() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    const rocksdb::Status status = db_->DestroyColumnFamilyHandle(handle);
    LOG_IF(WARNING, !status.ok()) << "rocksdb: " << status.ToString();
  }
}

std::unique_ptr<Cursor> RocksDatabase::NewCursor(ColumnFamily family) const {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  // Logs are read once and in order; the cache is for the rest.
  options.fill_cache = family != ColumnFamily::kLog;
  return std::make_unique<RocksCursor>(db_->NewIterator(options, handle(family)));
}

absl::Status RocksDatabase::Get(ColumnFamily family, absl::string_view key,
                                std::string* value) const {
  return StatusOfRocks(db_->Get(rocksdb::ReadOptions(), handle(family), SliceOf(key), value));
}

rocksdb::Status RocksDatabase::Write(RocksSink* sink) {
  return db_->Write(SyncedWrite(), sink->batch());
}

}  // namespace quorum::storage
