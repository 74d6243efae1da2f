// RocksDatabase: one open database with its column families, as an Image; and RocksSink, the batch
// that is written to it.
//
// Thread: reads by any; Write by one thread at a time.

#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/layout/image.h"
#include "storage/layout/store_error.h"
#include "storage/rocksdb/rocks_options.h"

namespace quorum::storage {

class RocksDatabase;

// Collects the operations of one atomic write.
class RocksSink : public OperationSink {
 public:
  // `database` must outlive the sink.
  explicit RocksSink(const RocksDatabase* database) : database_(*database) {}

  void Put(ColumnFamily family, absl::string_view key, absl::string_view value) override;
  void Delete(ColumnFamily family, absl::string_view key) override;
  void DeleteRange(ColumnFamily family, absl::string_view begin, absl::string_view end) override;

  rocksdb::WriteBatch* batch() { return &batch_; }
  size_t size() const { return batch_.GetDataSize(); }

 private:
  const RocksDatabase& database_;
  rocksdb::WriteBatch batch_;
};

class RocksDatabase : public Image {
 public:
  // Makes a database with its column families. There must be none yet.
  static std::optional<StoreError> Create(const std::string& path, const RocksTuning& tuning,
                                          const FatalHandler& fatal,
                                          std::unique_ptr<RocksDatabase>* database);
  // Opens an existing one for reading and writing. What the WAL held is in synced tables on return.
  static std::optional<StoreError> Open(const std::string& path, const RocksTuning& tuning,
                                        const FatalHandler& fatal,
                                        std::unique_ptr<RocksDatabase>* database);
  // Opens an existing one for reading, after checking that its WAL has no hole (wal_check.h).
  // Nothing on disk changes.
  static std::optional<StoreError> OpenReadOnly(const std::string& path, const RocksTuning& tuning,
                                                std::unique_ptr<RocksDatabase>* database);
  ~RocksDatabase() override;
  RocksDatabase(const RocksDatabase&) = delete;
  RocksDatabase& operator=(const RocksDatabase&) = delete;

  std::unique_ptr<Cursor> NewCursor(ColumnFamily family) const override;
  absl::Status Get(ColumnFamily family, absl::string_view key, std::string* value) const override;

  // One synced write. It must not be repeated after an error.
  [[nodiscard]] rocksdb::Status Write(RocksSink* sink);

  rocksdb::ColumnFamilyHandle* handle(ColumnFamily family) const {
    return handles_[IndexOf(family)];
  }
  rocksdb::DB* db() const { return db_.get(); }

 private:
  enum class Mode { kCreate, kReadWrite, kReadOnly };

  RocksDatabase() = default;

  // `wal_filter` may be null.
  static rocksdb::Status OpenAs(Mode mode, const std::string& path, const RocksTuning& tuning,
                                const FatalHandler& fatal, rocksdb::WalFilter* wal_filter,
                                std::unique_ptr<RocksDatabase>* database);
  static std::optional<StoreError> CheckWal(const std::string& path, const RocksTuning& tuning);

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

// DATA_LOSS for corruption, NOT_FOUND, else UNAVAILABLE.
absl::Status StatusOfRocks(const rocksdb::Status& status);

}  // namespace quorum::storage
