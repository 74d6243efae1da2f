#include "service/base/wire.h"

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "service/base/check.h"

namespace quorum::wire {
namespace {

constexpr int kTypeBits = 3;
constexpr int kVarintBits = 7;
constexpr uint8_t kVarintMore = 0x80;

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= kVarintMore) {
    out->push_back(static_cast<char>(value | kVarintMore));
    value >>= kVarintBits;
  }
  out->push_back(static_cast<char>(value));
}

void AppendTag(uint32_t number, Type type, std::string* out) {
  CHECK_GE(number, 1u);
  CHECK_LE(number, kFieldNumberMax);
  AppendVarint((uint64_t{number} << kTypeBits) | static_cast<uint64_t>(type), out);
}

void AppendLittleEndian(uint64_t value, size_t size, std::string* out) {
  for (size_t i = 0; i < size; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

bool Reader::Next(Field* field) {
  if (!ok_ || rest_.empty()) return false;
  *field = Field{};
  ok_ = ReadTag(field) && ReadValue(field);
  return ok_;
}

bool Reader::ReadTag(Field* field) {
  uint64_t tag = 0;
  if (!ReadVarint(&tag)) return false;
  const uint64_t number = tag >> kTypeBits;
  if (number < 1 || number > kFieldNumberMax) return false;
  field->number = static_cast<uint32_t>(number);
  // The value that is no Type is refused by ReadValue.
  field->type = static_cast<Type>(tag & ((1u << kTypeBits) - 1));
  return true;
}

bool Reader::ReadValue(Field* field) {
  switch (field->type) {
    case Type::kVarint:
      return ReadVarint(&field->value);
    case Type::kFixed64:
      return ReadLittleEndian(sizeof(uint64_t), &field->value);
    case Type::kFixed32:
      return ReadLittleEndian(sizeof(uint32_t), &field->value);
    case Type::kLengthDelimited: {
      uint64_t size = 0;
      if (!ReadVarint(&size) || size > rest_.size()) return false;
      field->content = rest_.substr(0, static_cast<size_t>(size));
      rest_.remove_prefix(static_cast<size_t>(size));
      return true;
    }
  }
  return false;
}

bool Reader::ReadVarint(uint64_t* value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 64; shift += kVarintBits) {
    if (rest_.empty()) return false;
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    const uint64_t bits = byte & (kVarintMore - 1u);
    // The tenth byte has room for one bit.
    if (shift == 63 && bits > 1) return false;
    result |= bits << shift;
    if ((byte & kVarintMore) != 0) continue;
    // A last byte of zero adds nothing: a shorter varint means the same.
    if (byte == 0 && shift > 0) return false;
    *value = result;
    return true;
  }
  return false;
}

bool Reader::ReadLittleEndian(size_t size, uint64_t* value) {
  if (rest_.size() < size) return false;
  uint64_t result = 0;
  for (size_t i = 0; i < size; ++i) {
    result |= static_cast<uint64_t>(static_cast<uint8_t>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(size);
  *value = result;
  return true;
}

void AddVarint(uint32_t number, uint64_t value, std::string* out) {
  AppendTag(number, Type::kVarint, out);
  AppendVarint(value, out);
}

void AddSignedVarint(uint32_t number, int64_t value, std::string* out) {
  AddVarint(number, static_cast<uint64_t>(value), out);
}

void AddFixed32(uint32_t number, uint32_t value, std::string* out) {
  AppendTag(number, Type::kFixed32, out);
  AppendLittleEndian(value, sizeof(value), out);
}

void AddFixed64(uint32_t number, uint64_t value, std::string* out) {
  AppendTag(number, Type::kFixed64, out);
  AppendLittleEndian(value, sizeof(value), out);
}

void AddBytes(uint32_t number, absl::string_view content, std::string* out) {
  AppendTag(number, Type::kLengthDelimited, out);
  AppendVarint(content.size(), out);
  out->append(content.data(), content.size());
}

}  // namespace quorum::wire
