#include "service/base/ids.h"

#include <cstdio>
#include <optional>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"

namespace quorum {
namespace {

// The value of a hexadecimal digit, or -1.
int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

constexpr size_t kDirectoryTextSize = 36;
constexpr size_t kDirectoryBytes = 16;

bool IsHyphenPosition(size_t position) {
  return position == 8 || position == 13 || position == 18 || position == 23;
}

}  // namespace

std::string DirectoryId::ToString() const {
  char text[kDirectoryTextSize + 1];
  std::snprintf(text, sizeof(text), "%08x-%04x-%04x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>((high >> 16) & 0xffff),
                static_cast<unsigned>(high & 0xffff), static_cast<unsigned>(low >> 48),
                static_cast<unsigned long long>(low & 0xffffffffffffULL));
  return text;
}

std::optional<DirectoryId> DirectoryId::Parse(const std::string& text) {
  if (text.size() != kDirectoryTextSize) return std::nullopt;
  DirectoryId parsed;
  int digits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsHyphenPosition(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int value = HexValue(text[i]);
    if (value < 0) return std::nullopt;
    uint64_t& half = digits < 16 ? parsed.high : parsed.low;
    half = (half << 4) | static_cast<uint64_t>(value);
    ++digits;
  }
  if (parsed.IsZero()) return std::nullopt;
  return parsed;
}

std::string DirectoryId::ToBytes() const {
  std::string bytes;
  bytes.reserve(kDirectoryBytes);
  for (const uint64_t half : {high, low}) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(half >> shift));
  }
  return bytes;
}

std::optional<DirectoryId> DirectoryId::FromBytes(absl::string_view bytes) {
  if (bytes.size() != kDirectoryBytes) return std::nullopt;
  DirectoryId directory;
  for (size_t i = 0; i < bytes.size(); ++i) {
    uint64_t& half = i < kDirectoryBytes / 2 ? directory.high : directory.low;
    half = (half << 8) | static_cast<uint8_t>(bytes[i]);
  }
  if (directory.IsZero()) return std::nullopt;
  return directory;
}

std::ostream& operator<<(std::ostream& out, const DirectoryId& directory) {
  return out << directory.ToString();
}

std::ostream& operator<<(std::ostream& out, const ReplicaKey& key) {
  return out << key.id << '@' << key.directory.ToString().substr(0, 8);
}

std::ostream& operator<<(std::ostream& out, const PartitionId& partition) {
  return out << partition.topic << ':' << partition.index;
}

std::ostream& operator<<(std::ostream& out, const OffsetAndEpoch& point) {
  return out << point.offset << '/' << point.epoch;
}

}  // namespace quorum
