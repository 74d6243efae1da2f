// What the tests of the real store share: directories, opening, damage, and what a store holds as
// one comparable text.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/rocksdb/format.h"
#include "storage/rocksdb/rocks_store.h"
#include "tests/storage/store_fixtures.h"

namespace quorum::storage {

// The real monotonic clock; the writer's deadlines are real ones here.
class SteadyClock : public Clock {
 public:
  MonoTime Now() const override;
  int64_t WallTimeMs() const override;
};

const Clock* RealClock();

// Asks again and again, for 30 seconds at most. False when it was never true.
bool AwaitTrue(const std::function<bool()>& condition);

// A directory of its own below the test's temporary one; it does not exist yet.
std::string FreshPath(const std::string& name);

// As MakePlan, for the real format.
FormatRequest MakeRequest(bool join = false);
// CHECK-fails when it is refused.
void FormatOrDie(const std::string& directory);

StoreOptions MakeOptions(const std::string& directory);
// "none", or why the store cannot be opened. Closes it again.
std::string ReasonOfOpen(const StoreOptions& options);
std::unique_ptr<RocksStore> OpenOrDie(const StoreOptions& options);

// Submits and waits until it is durable.
void WriteAndWait(RocksStore* store, WriteSet set);
// Reads all of [from, end).
ReadResult ReadAndWait(RocksStore* store, PartitionId partition, Offset from, Offset end);

// Copies a directory as a kill -9 would leave it: the floor first, so that it is not newer than the
// database, and whatever else has been written.
void CopyKilled(const std::string& source, const std::string& target);

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);
// Paths of all files below `directory`, relative to it, sorted.
std::vector<std::string> FilesBelow(const std::string& directory);
// Names and contents of all files, to see that nothing changed.
std::string Snapshot(const std::string& directory);
// The newest file of that extension in the database of `directory`; empty when there is none.
std::string NewestFile(const std::string& directory, const std::string& extension);

// Everything that a store holds of one replica, records included; a replica that is damaged, or
// whose log cannot be read, says "damaged".
std::string Fingerprint(const Image& image, const RecoveredStore& recovered, PartitionId partition);
std::string Fingerprint(RocksStore* store, PartitionId partition);

}  // namespace quorum::storage
