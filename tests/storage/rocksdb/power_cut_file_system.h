// PowerCutFileSystem: the real file system, which remembers what has been synced, so that a test
// can have the directory as a power cut would leave it; and which can fail syncs.
//
// What survives: of each file the bytes up to its last sync; a new name, and a rename, once its
// directory was synced. An unlink always survives.

#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "service/base/mutex.h"

namespace quorum::storage {

class PowerCutFileSystem : public rocksdb::FileSystemWrapper {
 public:
  PowerCutFileSystem();

  const char* Name() const override { return "PowerCutFileSystem"; }

  // Takes the files that a killed process left in `directory`: their names are durable, the bytes
  // of WALs are not, and those of all other files are.
  void AdoptKilled(const std::string& directory);

  // Makes `target`, which must not exist, out of what is durable of `directory`.
  void CopyDurable(const std::string& directory, const std::string& target);

  // From now on each sync of a WAL fails, or succeeds again without doing anything for what was
  // written before, like a kernel that dropped the pages.
  void FailWalSyncs(bool fail) { fail_wal_syncs_ = fail; }
  // As above, for tables and blob files.
  void FailTableSyncs(bool fail) { fail_table_syncs_ = fail; }

  // While held, syncs of a WAL do not return: a disk that hangs.
  void HoldWalSyncs(bool hold);
  // Called after each sync of a file or directory, on the thread that syncs.
  void SetObserver(std::function<void()> observer);

  bool SyncFails(const std::string& path) const;
  void AwaitRelease(const std::string& path);
  void CountSync(const std::string& path);
  void CountDirectorySync(const std::string& directory);

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& directory, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& source, const std::string& target,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

 private:
  struct File {
    uint64_t synced_bytes = 0;
    bool durable_name = false;
    // What the name stood for before a rename that is not durable yet.
    std::string old_content;
    bool has_old_content = false;
  };

  mutable Mutex mutex_;
  std::map<std::string, File> files_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> observer_;
  CondVar released_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> fail_wal_syncs_{false};
  std::atomic<bool> fail_table_syncs_{false};
};

// An Env over a PowerCutFileSystem.
struct PowerCutEnv {
  PowerCutEnv()
      : file_system(std::make_shared<PowerCutFileSystem>()),
        env(rocksdb::NewCompositeEnv(file_system)) {}

  const std::shared_ptr<PowerCutFileSystem> file_system;
  const std::unique_ptr<rocksdb::Env> env;
};

}  // namespace quorum::storage
