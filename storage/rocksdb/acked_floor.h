// AckedFloor: the file that holds the number of the newest synced write whose effects have left
// this node. A database that comes back with a smaller number has forgotten something that others
// rely on, perhaps a vote, and must not be used again (reliability.md 7.2).
//
// Layout: two slots of 4096 bytes, written in turn, of which the higher valid one counts. A slot:
// magic (4 bytes), version (4), directory id (16), number (8), CRC-32C of all that (4), little
// endian, then zeros. The file is written whole when it is made, so that a raise changes no size
// and an fdatasync is all it takes. A power cut can tear the slot that is being written only; its
// number had no effect yet.
//
// Guarantees:
//   1. the number never goes down;
//   2. when Raise returns OK, the number is durable.
//
// Thread: one at a time; the log writer's, once the store is open.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "service/base/ids.h"
#include "storage/layout/store_error.h"

namespace quorum::storage {

class AckedFloor {
 public:
  static constexpr size_t kSlotSize = 4096;
  static constexpr size_t kFileSize = 2 * kSlotSize;

  // Makes the file, with number 0, and syncs it. The caller syncs the directory.
  static std::optional<StoreError> Create(const std::string& path, DirectoryId directory);

  // Opens and reads the file and changes nothing. ACKED_FLOOR_MISSING, or CORRUPT when no slot is
  // valid, UNKNOWN_VERSION when a valid slot is of another version.
  static std::optional<StoreError> Open(const std::string& path,
                                        std::unique_ptr<AckedFloor>* floor);

  ~AckedFloor();
  AckedFloor(const AckedFloor&) = delete;
  AckedFloor& operator=(const AckedFloor&) = delete;

  DirectoryId directory() const { return directory_; }
  uint64_t number() const { return number_; }

  // Writes the other slot and syncs it. A number that is not above the floor changes nothing.
  std::optional<StoreError> Raise(uint64_t number);

  // Writes the number into both slots: after opening, so that a damaged slot does not stay.
  std::optional<StoreError> RewriteBoth();

 private:
  AckedFloor(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  // Takes one slot in. True when it is valid.
  bool TakeSlot(size_t slot, const std::string& bytes, bool* unknown_version);
  std::optional<StoreError> WriteSlot(size_t slot);

  const std::string path_;
  const int descriptor_;
  DirectoryId directory_;
  uint64_t number_ = 0;
  // Where number_ was read or written last.
  size_t slot_ = 0;
};

}  // namespace quorum::storage
