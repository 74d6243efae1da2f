// How our databases are opened. The defaults of RocksDB 7.8 are wrong for a voter (reliability.md
// 7.7): they drop synced records after damage, do not sync writes, do not notice a missing WAL and
// resume after an error by themselves.
//
// Thread: pure functions.

#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <cstddef>
#include <vector>

#include "storage/rocksdb/fatal_error.h"

namespace quorum::storage {

struct RocksTuning {
  // Where files go; tests put their own file system here. Must outlive the database.
  rocksdb::Env* env = rocksdb::Env::Default();
  // Memtable of the log, and of each other column family. All are flushed together.
  size_t log_memtable_bytes = size_t{16} << 20;
  size_t metadata_memtable_bytes = size_t{8} << 20;
  // WALs are flushed away above this.
  size_t wal_bytes_max = size_t{128} << 20;
  // Batches of at least this size are written once, to blob files, instead of at each compaction.
  size_t blob_bytes_min = size_t{1} << 10;
  size_t block_cache_bytes = size_t{16} << 20;
};

// `fatal` is called on any background error.
rocksdb::DBOptions MakeDatabaseOptions(const RocksTuning& tuning, const FatalHandler& fatal);

// In the order of kColumnFamilies.
std::vector<rocksdb::ColumnFamilyDescriptor> MakeColumnFamilies(const RocksTuning& tuning);

// Synced, always.
rocksdb::WriteOptions SyncedWrite();

}  // namespace quorum::storage
