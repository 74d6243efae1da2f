// RocksStore: one node's data directory, open for its server.
//
// Opening first looks without writing: lock, acked floor, identity, a WAL without holes, all node
// and replica records, the tails of all logs. A refusal therefore changes nothing, and a second
// start sees the same. Only then is the database opened for writing, which moves what the WAL held
// into synced tables, and the raised incarnation is written and synced, and the floor with it: from
// here on everything that was recovered is durable, also what an earlier process had written but
// never synced (protocol.md 9, trap 9). (The planted bug M41 leaves that out; it lives in the
// simulated disk, storage/memory.)
//
// Thread: Open and Close by the owner; writer, reader and watchdog as their headers say.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "service/base/time.h"
#include "storage/api/log_reader.h"
#include "storage/api/recovery.h"
#include "storage/layout/recover.h"
#include "storage/layout/store_error.h"
#include "storage/rocksdb/data_directory.h"
#include "storage/rocksdb/read_only_store.h"
#include "storage/rocksdb/rocks_database.h"
#include "storage/rocksdb/rocks_log_reader.h"
#include "storage/rocksdb/rocks_log_writer.h"
#include "storage/rocksdb/rocks_options.h"

namespace quorum::storage {

struct StoreOptions {
  std::string directory;
  ExpectedIdentity expected;
  RocksTuning tuning;
  RecoveryBudget recovery;
  // writer.clock must be set.
  RocksLogWriter::Options writer;
  int reader_threads = 2;
};

class RocksStore {
 public:
  // NOT_FORMATTED, HALF_FORMATTED, LOCKED, CLUSTER_MISMATCH, NODE_MISMATCH, BEHIND_ACKED_FLOOR,
  // ACKED_FLOOR_MISSING, CORRUPT and what else store_error.h names.
  static std::optional<StoreError> Open(const StoreOptions& options,
                                        std::unique_ptr<RocksStore>* store);
  // Completes what was submitted, answers what was to be read, and lets the directory go. Nobody
  // may submit or read any more.
  ~RocksStore();
  RocksStore(const RocksStore&) = delete;
  RocksStore& operator=(const RocksStore&) = delete;

  // As the store was when it opened, with the raised incarnation.
  const RecoveredStore& recovered() const { return recovered_; }

  // Both live as long as the store.
  RocksLogWriter* writer() { return writer_.get(); }
  LogReader* reader() { return reader_.get(); }

 private:
  RocksStore() = default;

  RecoveredStore recovered_;
  // Destroyed from the last to the first.
  std::unique_ptr<DirectoryLock> lock_;
  std::unique_ptr<RocksDatabase> database_;
  std::unique_ptr<RocksLogWriter> writer_;
  std::unique_ptr<RocksLogReader> reader_;
};

}  // namespace quorum::storage
