// The protobuf wire format, read and written by hand, for the layers that see no protobuf.
//
//   wire::Reader reader(bytes);
//   wire::Field field;
//   while (reader.Next(&field)) {
//     if (field.number == 4 && field.type == wire::Type::kVarint) count = field.value;
//   }
//   if (!reader.ok()) return absl::InvalidArgumentError("...");
//
// The reader takes any bytes, of any origin, and never reads outside of them. It is stricter than
// protobuf where strictness costs no honest writer anything: a varint must be the shortest one of
// its value, so that a message has one encoding only, and groups do not exist.
//
// Thread: plain values. A Reader and its Fields point into the input, which must outlive them.

#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace quorum::wire {

enum class Type : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kFixed32 = 5,
};

// The highest field number that protobuf knows; the lowest is 1.
inline constexpr uint32_t kFieldNumberMax = (uint32_t{1} << 29) - 1;

struct Field {
  uint32_t number = 0;
  Type type = Type::kVarint;
  // What a varint, fixed64 or fixed32 field holds; 0 for a length-delimited one.
  uint64_t value = 0;
  // What a length-delimited field holds; empty for the others.
  absl::string_view content;
};

class Reader {
 public:
  explicit Reader(absl::string_view input) : rest_(input) {}

  // Reads the next field. False at the end of the input, and for good at the first field that is
  // truncated or malformed; ok() tells the two apart. `field` has a meaning after true only.
  [[nodiscard]] bool Next(Field* field);

  // False once Next has met a truncated or malformed field.
  bool ok() const { return ok_; }

 private:
  bool ReadTag(Field* field);
  bool ReadValue(Field* field);
  bool ReadVarint(uint64_t* value);
  bool ReadLittleEndian(size_t size, uint64_t* value);

  absl::string_view rest_;
  bool ok_ = true;
};

// The value that a varint of the proto types int32 and int64 stands for.
inline constexpr int64_t ToSigned(uint64_t value) { return static_cast<int64_t>(value); }

// ZigZag, the varint of the proto types sint32 and sint64: small magnitudes of either sign are
// short.
inline constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// Each adds one field, tag included, to the end of `out`. `number` is in [1, kFieldNumberMax]. They
// write zeros too: it is the caller who leaves a proto3 default out.
void AddVarint(uint32_t number, uint64_t value, std::string* out);
void AddSignedVarint(uint32_t number, int64_t value, std::string* out);
void AddFixed32(uint32_t number, uint32_t value, std::string* out);
void AddFixed64(uint32_t number, uint64_t value, std::string* out);
void AddBytes(uint32_t number, absl::string_view content, std::string* out);

}  // namespace quorum::wire
