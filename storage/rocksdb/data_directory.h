// The layout of a data directory, its lock, and the few file operations that we do ourselves.
//
//   lock          held by whoever uses the directory
//   acked_floor   acked_floor.h
//   db/           the database
//
// Only these operations are relied upon: fsync of a file, fsync of a directory after a create or
// unlink in it.
//
// Thread: any; a DirectoryLock belongs to one owner.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/layout/store_error.h"

namespace quorum::storage {

std::string LockPath(const std::string& directory);
std::string FloorPath(const std::string& directory);
std::string DatabasePath(const std::string& directory);

// What a directory that is to be opened or formatted looks like from outside.
enum class DirectoryState {
  kMissing,
  // Nothing in it, but for a file system's own lost+found.
  kEmpty,
  // Files that are none of ours.
  kForeign,
  // Formatting at least began here.
  kOurs,
};

std::optional<StoreError> InspectDirectory(const std::string& directory, DirectoryState* state);

// Makes the directory and its missing parents, and syncs the parent of each new one.
std::optional<StoreError> MakeDirectory(const std::string& directory);

std::optional<StoreError> SyncDirectory(const std::string& directory);
// Makes the directory's own name durable. A parent that must not be opened is somebody else's care,
// a mount point for example.
std::optional<StoreError> SyncParentOf(const std::string& directory);

bool FileExists(const std::string& path);

// IO_ERROR with the text of `errno`.
StoreError ErrnoError(const std::string& action, const std::string& path);

// An exclusive lock on a data directory, against other processes and within this one. It ends with
// the object or the process, however that ends.
class DirectoryLock {
 public:
  // LOCKED when somebody else holds it. Makes the lock file where it is missing.
  static std::optional<StoreError> Take(const std::string& directory,
                                        std::unique_ptr<DirectoryLock>* lock);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  explicit DirectoryLock(int descriptor) : descriptor_(descriptor) {}

  const int descriptor_;
};

}  // namespace quorum::storage
