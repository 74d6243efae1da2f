// Image: the column families of one node's store, as recovery, dump and the readers see them, and
// OperationSink, as writers see them. RocksDB and the simulated disk each implement both, so that
// everything that gives the bytes a meaning exists once.
//
//   default        node records, and per replica its birth, log start and lower bounds
//   quorum_state   partition -> epoch, leader, vote
//   log            partition, base offset -> record batch exactly as it travels
//   leader_epochs  partition, start offset -> epoch
//   voters         partition, offset -> voter set
//   producers      partition -> up to which offset; partition, producer id -> producer state
//   snapshots      reserved for snapshots
//
// Thread: an Image may be read by any number of threads; a Cursor belongs to one.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace quorum::storage {

// The numbers are part of each value's checksum: never reuse one.
enum class ColumnFamily : uint8_t {
  kDefault = 0,
  kQuorumState = 1,
  kLog = 2,
  kLeaderEpochs = 3,
  kVoters = 4,
  kProducers = 5,
  kSnapshots = 6,
};

inline constexpr size_t kColumnFamilyCount = 7;

inline constexpr std::array<ColumnFamily, kColumnFamilyCount> kColumnFamilies = {
    ColumnFamily::kDefault,      ColumnFamily::kQuorumState, ColumnFamily::kLog,
    ColumnFamily::kLeaderEpochs, ColumnFamily::kVoters,      ColumnFamily::kProducers,
    ColumnFamily::kSnapshots,
};

inline constexpr size_t IndexOf(ColumnFamily family) { return static_cast<size_t>(family); }

// The name in the database, by IndexOf.
inline constexpr std::array<const char*, kColumnFamilyCount> kColumnFamilyNames = {
    "default", "quorum_state", "log", "leader_epochs", "voters", "producers", "snapshots"};

inline const char* NameOf(ColumnFamily family) { return kColumnFamilyNames[IndexOf(family)]; }

// A position in one column family, over the state at the cursor's creation. After each move, check
// status() once Valid() is false: a damaged block ends the scan, it does not hide.
class Cursor {
 public:
  virtual ~Cursor() = default;

  virtual bool Valid() const = 0;
  // The first key at or above `key`.
  virtual void Seek(absl::string_view key) = 0;
  // The last key at or below `key`.
  virtual void SeekForPrev(absl::string_view key) = 0;
  virtual void Next() = 0;
  virtual void Prev() = 0;
  // Valid until the next move.
  virtual absl::string_view key() const = 0;
  virtual absl::string_view value() const = 0;
  // DATA_LOSS when the bytes are damaged; another error when they could not be read.
  virtual absl::Status status() const = 0;
};

class Image {
 public:
  virtual ~Image() = default;

  virtual std::unique_ptr<Cursor> NewCursor(ColumnFamily family) const = 0;
  // NOT_FOUND, or as Cursor::status.
  virtual absl::Status Get(ColumnFamily family, absl::string_view key,
                           std::string* value) const = 0;
};

// Takes the operations of one atomic write, in order.
class OperationSink {
 public:
  virtual ~OperationSink() = default;

  virtual void Put(ColumnFamily family, absl::string_view key, absl::string_view value) = 0;
  virtual void Delete(ColumnFamily family, absl::string_view key) = 0;
  // Removes every key in [begin, end).
  virtual void DeleteRange(ColumnFamily family, absl::string_view begin, absl::string_view end) = 0;
};

}  // namespace quorum::storage
