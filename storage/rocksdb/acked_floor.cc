#include "storage/rocksdb/acked_floor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "service/base/crc32c.h"
#include "storage/rocksdb/data_directory.h"

namespace quorum::storage {
namespace {

constexpr uint32_t kMagic = 0x524f4c46;  // "FLOR"
constexpr uint32_t kVersion = 1;
constexpr size_t kChecked = 32;

void AddLittleEndian(uint64_t value, size_t size, std::string* out) {
  for (size_t i = 0; i < size; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t ReadLittleEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = (value << 8) | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

std::string EncodeSlot(DirectoryId directory, uint64_t number) {
  std::string slot;
  slot.reserve(AckedFloor::kSlotSize);
  AddLittleEndian(kMagic, 4, &slot);
  AddLittleEndian(kVersion, 4, &slot);
  AddLittleEndian(directory.high, 8, &slot);
  AddLittleEndian(directory.low, 8, &slot);
  AddLittleEndian(number, 8, &slot);
  AddLittleEndian(Crc32c(slot), 4, &slot);
  slot.resize(AckedFloor::kSlotSize, '\0');
  return slot;
}

// Writes all of `bytes` at `position`; false with errno otherwise.
bool WriteAll(int descriptor, absl::string_view bytes, size_t position) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
    position += static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

std::optional<StoreError> AckedFloor::Create(const std::string& path, DirectoryId directory) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return ErrnoError("Cannot make", path);
  const std::string slot = EncodeSlot(directory, 0);
  std::optional<StoreError> error;
  if (!WriteAll(descriptor, slot + slot, 0) || fsync(descriptor) != 0) {
    error = ErrnoError("Cannot write", path);
  }
  close(descriptor);
  return error;
}

std::optional<StoreError> AckedFloor::Open(const std::string& path,
                                           std::unique_ptr<AckedFloor>* floor) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) {
    return DamageError(kAckedFloorMissing,
                       absl::StrCat(path, " is missing: what this node has promised is unknown."));
  }
  if (descriptor < 0) return ErrnoError("Cannot open", path);
  std::unique_ptr<AckedFloor> opened(new AckedFloor(path, descriptor));
  std::string bytes(kFileSize, '\0');
  const ssize_t size = pread(descriptor, &bytes[0], bytes.size(), 0);
  if (size < 0) return ErrnoError("Cannot read", path);
  bytes.resize(static_cast<size_t>(size));
  bool unknown_version = false;
  const bool first = opened->TakeSlot(0, bytes, &unknown_version);
  const bool second = opened->TakeSlot(1, bytes, &unknown_version);
  if (unknown_version) {
    return DamageError(kUnknownVersion, absl::StrCat(path, " is of a newer version."));
  }
  if (!first && !second) return DamageError(kCorrupt, absl::StrCat(path, " is damaged."));
  *floor = std::move(opened);
  return std::nullopt;
}

AckedFloor::~AckedFloor() { close(descriptor_); }

bool AckedFloor::TakeSlot(size_t slot, const std::string& bytes, bool* unknown_version) {
  if (bytes.size() < (slot + 1) * kSlotSize) return false;
  const absl::string_view content = absl::string_view(bytes).substr(slot * kSlotSize, kSlotSize);
  const auto number_at = [content](size_t position, size_t size) {
    return ReadLittleEndian(content.substr(position, size));
  };
  if (number_at(kChecked, 4) != Crc32c(content.substr(0, kChecked))) return false;
  if (number_at(0, 4) != kMagic) return false;
  if (number_at(4, 4) != kVersion) {
    *unknown_version = true;
    return false;
  }
  const DirectoryId directory{number_at(8, 8), number_at(16, 8)};
  const uint64_t number = number_at(24, 8);
  if (directory_.IsZero() || number > number_) {
    directory_ = directory;
    number_ = number;
    slot_ = slot;
  }
  return true;
}

std::optional<StoreError> AckedFloor::Raise(uint64_t number) {
  if (number <= number_) return std::nullopt;
  number_ = number;
  slot_ = 1 - slot_;
  return WriteSlot(slot_);
}

std::optional<StoreError> AckedFloor::RewriteBoth() {
  // The slot that does not hold the number goes first, so that one valid slot remains throughout.
  if (auto error = WriteSlot(1 - slot_)) return error;
  return WriteSlot(slot_);
}

std::optional<StoreError> AckedFloor::WriteSlot(size_t slot) {
  const bool written = WriteAll(descriptor_, EncodeSlot(directory_, number_), slot * kSlotSize) &&
                       fdatasync(descriptor_) == 0;
  if (!written) return ErrnoError("Cannot write", path_);
  return std::nullopt;
}

}  // namespace quorum::storage
