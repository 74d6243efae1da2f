#include "storage/rocksdb/data_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace quorum::storage {
namespace {

std::string ParentOf(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  const size_t slash = end == std::string::npos ? std::string::npos : path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool IsDirectory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

std::string LockPath(const std::string& directory) { return directory + "/lock"; }
std::string FloorPath(const std::string& directory) { return directory + "/acked_floor"; }
std::string DatabasePath(const std::string& directory) { return directory + "/db"; }

StoreError ErrnoError(const std::string& action, const std::string& path) {
  const int code = errno;
  return DamageError(kIoError, absl::StrCat(action, " ", path, ": ", std::strerror(code), "."));
}

bool FileExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

std::optional<StoreError> InspectDirectory(const std::string& directory, DirectoryState* state) {
  DIR* listing = opendir(directory.c_str());
  if (listing == nullptr) {
    if (errno != ENOENT) return ErrnoError("Cannot list", directory);
    *state = DirectoryState::kMissing;
    return std::nullopt;
  }
  *state = DirectoryState::kEmpty;
  while (const dirent* entry = readdir(listing)) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || name == "lost+found") continue;
    if (*state == DirectoryState::kEmpty) *state = DirectoryState::kForeign;
    if (name == "lock" || name == "acked_floor" || name == "db") *state = DirectoryState::kOurs;
  }
  closedir(listing);
  return std::nullopt;
}

std::optional<StoreError> MakeDirectory(const std::string& directory) {
  if (IsDirectory(directory)) return std::nullopt;
  const std::string parent = ParentOf(directory);
  if (auto error = MakeDirectory(parent)) return error;
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoError("Cannot make", directory);
  }
  return SyncDirectory(parent);
}

std::optional<StoreError> SyncDirectory(const std::string& directory) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return ErrnoError("Cannot open", directory);
  const bool synced = fsync(descriptor) == 0;
  std::optional<StoreError> error;
  if (!synced) error = ErrnoError("Cannot sync", directory);
  close(descriptor);
  return error;
}

std::optional<StoreError> SyncParentOf(const std::string& directory) {
  const std::string parent = ParentOf(directory);
  if (access(parent.c_str(), R_OK) != 0 && errno == EACCES) return std::nullopt;
  return SyncDirectory(parent);
}

std::optional<StoreError> DirectoryLock::Take(const std::string& directory,
                                              std::unique_ptr<DirectoryLock>* lock) {
  const std::string path = LockPath(directory);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return ErrnoError("Cannot open", path);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    lock->reset(new DirectoryLock(descriptor));
    return std::nullopt;
  }
  std::optional<StoreError> error;
  if (errno == EWOULDBLOCK) {
    error = ConfigError(kLocked, absl::StrCat("Another process uses ", directory, "."));
  } else {
    error = ErrnoError("Cannot lock", path);
  }
  close(descriptor);
  return error;
}

DirectoryLock::~DirectoryLock() { close(descriptor_); }

}  // namespace quorum::storage
