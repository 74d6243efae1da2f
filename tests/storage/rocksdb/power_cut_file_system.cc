#include "tests/storage/rocksdb/power_cut_file_system.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "service/base/check.h"

namespace quorum::storage {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// RocksDB writes some paths with two slashes.
std::string Normal(const std::string& path) { return fs::path(path).lexically_normal().string(); }

class TrackedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  TrackedFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::string path,
              PowerCutFileSystem* owner)
      : FSWritableFileOwnerWrapper(std::move(file)), path_(std::move(path)), owner_(*owner) {}

  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override {
    if (owner_.SyncFails(path_)) return rocksdb::IOStatus::NoSpace("injected sync failure");
    owner_.AwaitRelease(path_);
    return Counted(FSWritableFileOwnerWrapper::Sync(options, debug));
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override {
    if (owner_.SyncFails(path_)) return rocksdb::IOStatus::NoSpace("injected sync failure");
    owner_.AwaitRelease(path_);
    return Counted(FSWritableFileOwnerWrapper::Fsync(options, debug));
  }

 private:
  rocksdb::IOStatus Counted(rocksdb::IOStatus status) {
    if (status.ok()) owner_.CountSync(path_);
    return status;
  }

  const std::string path_;
  PowerCutFileSystem& owner_;
};

class TrackedDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  TrackedDirectory(std::unique_ptr<rocksdb::FSDirectory> directory, std::string path,
                   PowerCutFileSystem* owner)
      : FSDirectoryWrapper(std::move(directory)), path_(std::move(path)), owner_(*owner) {}

  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus status = FSDirectoryWrapper::Fsync(options, debug);
    owner_.CountDirectorySync(path_);
    return status;
  }
  rocksdb::IOStatus FsyncWithDirOptions(const rocksdb::IOOptions& options,
                                        rocksdb::IODebugContext* debug,
                                        const rocksdb::DirFsyncOptions& reason) override {
    const rocksdb::IOStatus status =
        FSDirectoryWrapper::FsyncWithDirOptions(options, debug, reason);
    owner_.CountDirectorySync(path_);
    return status;
  }

 private:
  const std::string path_;
  PowerCutFileSystem& owner_;
};

}  // namespace

PowerCutFileSystem::PowerCutFileSystem()
    : rocksdb::FileSystemWrapper(rocksdb::FileSystem::Default()) {}

void PowerCutFileSystem::AdoptKilled(const std::string& directory) {
  MutexLock lock(&mutex_);
  for (const auto& entry : fs::directory_iterator(directory)) {
    File& file = files_[Normal(entry.path().string())];
    file.durable_name = true;
    const bool is_wal = entry.path().extension() == ".log";
    file.synced_bytes = is_wal ? 0 : fs::file_size(entry.path());
  }
}

void PowerCutFileSystem::CopyDurable(const std::string& directory, const std::string& target) {
  CHECK(fs::create_directories(target));
  MutexLock lock(&mutex_);
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string path = Normal(entry.path().string());
    const auto found = files_.find(path);
    if (found == files_.end()) continue;
    const File& file = found->second;
    const std::string copy = target + "/" + entry.path().filename().string();
    if (file.durable_name) {
      WriteAll(copy, ReadAll(path).substr(0, file.synced_bytes));
    } else if (file.has_old_content) {
      WriteAll(copy, file.old_content);
    }
  }
}

bool PowerCutFileSystem::SyncFails(const std::string& path) const {
  if (EndsWith(path, ".log")) return fail_wal_syncs_;
  if (EndsWith(path, ".sst") || EndsWith(path, ".blob")) return fail_table_syncs_;
  return false;
}

void PowerCutFileSystem::HoldWalSyncs(bool hold) {
  MutexLock lock(&mutex_);
  held_ = hold;
  released_.NotifyAll();
}

void PowerCutFileSystem::SetObserver(std::function<void()> observer) {
  observer_ = std::move(observer);
}

void PowerCutFileSystem::AwaitRelease(const std::string& path) {
  if (!EndsWith(path, ".log")) return;
  MutexLock lock(&mutex_);
  while (held_) released_.Wait(&mutex_);
}

void PowerCutFileSystem::CountSync(const std::string& path) {
  {
    MutexLock lock(&mutex_);
    files_[path].synced_bytes = fs::file_size(path);
  }
  if (observer_) observer_();
}

void PowerCutFileSystem::CountDirectorySync(const std::string& directory) {
  {
    MutexLock lock(&mutex_);
    for (auto& [path, file] : files_) {
      if (fs::path(path).parent_path() != directory) continue;
      file.durable_name = true;
      file.has_old_content = false;
    }
  }
  if (observer_) observer_();
}

rocksdb::IOStatus PowerCutFileSystem::NewWritableFile(
    const std::string& path, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSWritableFile> inner;
  const rocksdb::IOStatus status = target()->NewWritableFile(path, options, &inner, debug);
  if (!status.ok()) return status;
  MutexLock lock(&mutex_);
  files_[Normal(path)] = File();
  *file = std::make_unique<TrackedFile>(std::move(inner), Normal(path), this);
  return status;
}

rocksdb::IOStatus PowerCutFileSystem::NewDirectory(const std::string& directory,
                                                   const rocksdb::IOOptions& options,
                                                   std::unique_ptr<rocksdb::FSDirectory>* result,
                                                   rocksdb::IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSDirectory> inner;
  const rocksdb::IOStatus status = target()->NewDirectory(directory, options, &inner, debug);
  if (!status.ok()) return status;
  *result = std::make_unique<TrackedDirectory>(std::move(inner), Normal(directory), this);
  return status;
}

rocksdb::IOStatus PowerCutFileSystem::DeleteFile(const std::string& path,
                                                 const rocksdb::IOOptions& options,
                                                 rocksdb::IODebugContext* debug) {
  MutexLock lock(&mutex_);
  files_.erase(Normal(path));
  return target()->DeleteFile(path, options, debug);
}

rocksdb::IOStatus PowerCutFileSystem::RenameFile(const std::string& source,
                                                 const std::string& target_path,
                                                 const rocksdb::IOOptions& options,
                                                 rocksdb::IODebugContext* debug) {
  MutexLock lock(&mutex_);
  File moved = files_[Normal(source)];
  const auto replaced = files_.find(Normal(target_path));
  if (replaced != files_.end() && replaced->second.durable_name) {
    moved.old_content = ReadAll(target_path).substr(0, replaced->second.synced_bytes);
    moved.has_old_content = true;
  }
  moved.durable_name = false;
  const rocksdb::IOStatus status = target()->RenameFile(source, target_path, options, debug);
  if (!status.ok()) return status;
  files_.erase(Normal(source));
  files_[Normal(target_path)] = moved;
  return status;
}

}  // namespace quorum::storage
