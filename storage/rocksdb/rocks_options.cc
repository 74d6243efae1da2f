#include "storage/rocksdb/rocks_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>

#include <cstdarg>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "storage/layout/image.h"

namespace quorum::storage {
namespace {

// Memtables of one family, beside the one that is written, before writes wait for a flush. All
// families are flushed together, so the number is one for all.
constexpr int kMemtablesMax = 4;

// Warnings and errors of the database go to our own log; no LOG files lie in the directory.
class GlogLogger : public rocksdb::Logger {
 public:
  GlogLogger() : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[1024];
    const int size = vsnprintf(line, sizeof(line), format, arguments);
    if (size > 0) LOG(WARNING) << "rocksdb: " << line;
  }
};

// Any background error ends the use of the store: what was written may be lost, and an automatic
// resume would hide it.
class FatalListener : public rocksdb::EventListener {
 public:
  explicit FatalListener(FatalHandler fatal) : fatal_(std::move(fatal)) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
    // A job that closing the database interrupted; the next opening does it anew.
    if (error->IsShutdownInProgress()) return;
    fatal_(DamageError(kIoError, absl::StrCat("The database failed in the background (reason ",
                                              static_cast<int>(reason), "): ", error->ToString())));
  }

 private:
  const FatalHandler fatal_;
};

rocksdb::ColumnFamilyOptions MetadataFamily(const RocksTuning& tuning,
                                            const std::shared_ptr<rocksdb::TableFactory>& table) {
  rocksdb::ColumnFamilyOptions options;
  options.table_factory = table;
  options.write_buffer_size = tuning.metadata_memtable_bytes;
  options.max_write_buffer_number = kMemtablesMax;
  options.compression = rocksdb::kNoCompression;
  return options;
}

// Written once in order, read in order, removed by ranges: few compactions, and large batches lie
// in blob files, which compactions do not rewrite until half of a file is garbage.
rocksdb::ColumnFamilyOptions LogFamily(const RocksTuning& tuning,
                                       const std::shared_ptr<rocksdb::TableFactory>& table) {
  rocksdb::ColumnFamilyOptions options;
  options.table_factory = table;
  options.write_buffer_size = tuning.log_memtable_bytes;
  options.max_write_buffer_number = kMemtablesMax;
  options.level0_file_num_compaction_trigger = 8;
  options.max_bytes_for_level_base = uint64_t{8} * tuning.log_memtable_bytes;
  options.compression = rocksdb::kNoCompression;
  options.bottommost_compression = rocksdb::kLZ4Compression;
  options.enable_blob_files = true;
  options.min_blob_size = tuning.blob_bytes_min;
  options.blob_file_size = uint64_t{64} << 20;
  options.blob_compression_type = rocksdb::kNoCompression;
  options.enable_blob_garbage_collection = true;
  options.blob_garbage_collection_force_threshold = 0.5;
  return options;
}

}  // namespace

rocksdb::DBOptions MakeDatabaseOptions(const RocksTuning& tuning, const FatalHandler& fatal) {
  rocksdb::DBOptions options;
  options.env = tuning.env;
  options.info_log = std::make_shared<GlogLogger>();
  options.listeners.push_back(std::make_shared<FatalListener>(fatal));

  // Only an incomplete last record may be dropped; damage before it refuses to open. Recycled WALs
  // would hold old records behind the new ones.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.recycle_log_file_num = 0;
  options.track_and_verify_wals_in_manifest = true;
  options.paranoid_checks = true;
  // What the WAL holds at open is flushed to synced tables before it is used.
  options.avoid_flush_during_recovery = false;
  // The number of the last synced write is flushed together with all that it stands for, so that
  // tables never claim more than they hold (wal_check.h).
  options.atomic_flush = true;
  options.max_bgerror_resume_count = 0;

  options.max_total_wal_size = tuning.wal_bytes_max;
  options.max_background_jobs = 2;
  options.max_open_files = -1;
  options.max_manifest_file_size = uint64_t{16} << 20;
  options.bytes_per_sync = uint64_t{1} << 20;
  options.skip_stats_update_on_db_open = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> MakeColumnFamilies(const RocksTuning& tuning) {
  rocksdb::BlockBasedTableOptions table_options;
  table_options.block_cache = rocksdb::NewLRUCache(tuning.block_cache_bytes);
  table_options.format_version = 5;
  const std::shared_ptr<rocksdb::TableFactory> table(
      rocksdb::NewBlockBasedTableFactory(table_options));
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const ColumnFamily family : kColumnFamilies) {
    const bool is_log = family == ColumnFamily::kLog;
    families.emplace_back(NameOf(family),
                          is_log ? LogFamily(tuning, table) : MetadataFamily(tuning, table));
  }
  return families;
}

rocksdb::WriteOptions SyncedWrite() {
  rocksdb::WriteOptions options;
  options.sync = true;
  options.disableWAL = false;
  return options;
}

}  // namespace quorum::storage
