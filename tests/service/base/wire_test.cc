// The wire format is compared with google::protobuf's own coded streams in both directions, and the
// reader is fed every truncation and every one-byte damage of a message.

#include "service/base/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "service/base/prng.h"

namespace quorum::wire {
namespace {

using google::protobuf::internal::WireFormatLite;

// Reads all fields; empty and `ok` false when one is malformed.
struct Reading {
  std::vector<Field> fields;
  bool ok = false;
};

Reading ReadAll(absl::string_view input) {
  Reading reading;
  Reader reader(input);
  Field field;
  while (reader.Next(&field)) reading.fields.push_back(field);
  reading.ok = reader.ok();
  return reading;
}

bool IsRefused(const std::string& input) { return !ReadAll(input).ok; }

std::vector<uint64_t> InterestingValues() {
  std::vector<uint64_t> values = {0, std::numeric_limits<uint64_t>::max()};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (const uint64_t value : {power - 1, power, power + 1}) values.push_back(value);
  }
  return values;
}

TEST(WireReader, NoInput_HasNoFieldsAndIsOk) {
  const Reading reading = ReadAll("");
  EXPECT_TRUE(reading.ok);
  EXPECT_TRUE(reading.fields.empty());
}

TEST(WireReader, EachType_IsRead) {
  std::string bytes;
  AddVarint(1, 300, &bytes);
  AddFixed64(2, 0x0102030405060708ULL, &bytes);
  AddBytes(3, "abc", &bytes);
  AddFixed32(4, 0x01020304, &bytes);
  AddBytes(kFieldNumberMax, "", &bytes);
  const Reading reading = ReadAll(bytes);
  ASSERT_TRUE(reading.ok);
  ASSERT_EQ(reading.fields.size(), 5u);
  EXPECT_EQ(reading.fields[0].type, Type::kVarint);
  EXPECT_EQ(reading.fields[0].number, 1u);
  EXPECT_EQ(reading.fields[0].value, 300u);
  EXPECT_EQ(reading.fields[1].type, Type::kFixed64);
  EXPECT_EQ(reading.fields[1].value, 0x0102030405060708ULL);
  EXPECT_EQ(reading.fields[2].type, Type::kLengthDelimited);
  EXPECT_EQ(reading.fields[2].content, "abc");
  EXPECT_EQ(reading.fields[2].value, 0u);
  EXPECT_EQ(reading.fields[3].type, Type::kFixed32);
  EXPECT_EQ(reading.fields[3].value, 0x01020304u);
  EXPECT_TRUE(reading.fields[3].content.empty());
  EXPECT_EQ(reading.fields[4].number, kFieldNumberMax);
  EXPECT_TRUE(reading.fields[4].content.empty());
}

TEST(WireReader, EachVarint_IsReadBack) {
  for (const uint64_t value : InterestingValues()) {
    std::string bytes;
    AddVarint(5, value, &bytes);
    const Reading reading = ReadAll(bytes);
    ASSERT_TRUE(reading.ok) << value;
    ASSERT_EQ(reading.fields.size(), 1u);
    EXPECT_EQ(reading.fields[0].value, value);
  }
}

TEST(WireReader, Truncated_IsRefusedAtEachCutInsideAField) {
  std::string bytes;
  std::vector<size_t> borders = {0};
  AddVarint(1000, uint64_t{1} << 40, &bytes);
  borders.push_back(bytes.size());
  AddFixed64(2, 7, &bytes);
  borders.push_back(bytes.size());
  AddBytes(3, std::string(200, 'x'), &bytes);
  borders.push_back(bytes.size());
  AddFixed32(4, 7, &bytes);
  borders.push_back(bytes.size());
  size_t fields = 0;
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const Reading reading = ReadAll(absl::string_view(bytes).substr(0, cut));
    const bool is_border = cut == borders[fields];
    EXPECT_EQ(reading.ok, is_border) << cut;
    EXPECT_EQ(reading.fields.size(), is_border ? fields : fields - 1) << cut;
    if (is_border) ++fields;
  }
  EXPECT_EQ(fields, borders.size());
}

TEST(WireReader, LengthBeyondTheInput_IsRefused) {
  EXPECT_TRUE(IsRefused(std::string("\x0a\x02x", 3)));
  // A length of 2^64 - 1, which must not wrap around.
  EXPECT_TRUE(IsRefused(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 12)));
}

TEST(WireReader, OverlongVarint_IsRefused) {
  EXPECT_FALSE(IsRefused(std::string("\x08\x00", 2)));
  EXPECT_TRUE(IsRefused(std::string("\x08\x80\x00", 3)));
  EXPECT_TRUE(IsRefused(std::string("\x08\xff\x80\x00", 4)));
  // Also where it is a tag or a length.
  EXPECT_TRUE(IsRefused(std::string("\x88\x00\x01", 3)));
  EXPECT_TRUE(IsRefused(std::string("\x0a\x81\x00x", 4)));
}

TEST(WireReader, VarintBeyond64Bits_IsRefused) {
  const std::string nine(9, '\xff');
  EXPECT_FALSE(IsRefused("\x08" + nine + "\x01"));
  EXPECT_TRUE(IsRefused("\x08" + nine + "\x02"));
  EXPECT_TRUE(IsRefused("\x08" + nine + "\x7f"));
  EXPECT_TRUE(IsRefused("\x08" + nine + "\xff\x01"));
}

TEST(WireReader, IllegalTag_IsRefused) {
  // Field 0.
  EXPECT_TRUE(IsRefused(std::string("\x00\x01", 2)));
  // Groups (3, 4) and what is no type (6, 7).
  for (const char tag : {'\x0b', '\x0c', '\x0e', '\x0f'}) {
    EXPECT_TRUE(IsRefused(std::string(1, tag) + std::string(8, '\x01')));
  }
  // Field 2^29.
  EXPECT_TRUE(IsRefused(std::string("\x80\x80\x80\x80\x10\x01", 6)));
  EXPECT_FALSE(IsRefused(std::string("\xf8\xff\xff\xff\x0f\x01", 6)));
}

TEST(WireReader, AfterAMalformedField_StaysAtIt) {
  Reader reader(absl::string_view("\x00\x08\x01", 3));
  Field field;
  EXPECT_FALSE(reader.Next(&field));
  EXPECT_FALSE(reader.ok());
  EXPECT_FALSE(reader.Next(&field));
  EXPECT_FALSE(reader.ok());
}

// Any bytes are read to an end, inside of the input: the address sanitizer watches.
TEST(WireReader, RandomBytes_NeverLeaveTheInput) {
  Prng prng(1);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<char> bytes(prng.Below(24));
    for (char& byte : bytes) byte = static_cast<char>(prng.Next());
    const Reading reading = ReadAll(absl::string_view(bytes.data(), bytes.size()));
    refused += reading.ok ? 0 : 1;
    for (const Field& field : reading.fields) {
      if (field.content.empty()) continue;
      EXPECT_GE(field.content.data(), bytes.data());
      EXPECT_LE(field.content.data() + field.content.size(), bytes.data() + bytes.size());
    }
  }
  EXPECT_GT(refused, 10000);
  EXPECT_LT(refused, 20000);
}

TEST(Wire, Writers_WriteWhatProtobufWrites) {
  for (const uint64_t value : InterestingValues()) {
    std::string ours;
    AddVarint(3, value, &ours);
    AddSignedVarint(4, ToSigned(value), &ours);
    AddVarint(5, ZigZag(ToSigned(value)), &ours);
    AddFixed32(6, static_cast<uint32_t>(value), &ours);
    AddFixed64(7, value, &ours);
    AddBytes(8, "content", &ours);

    std::string theirs;
    {
      google::protobuf::io::StringOutputStream stream(&theirs);
      google::protobuf::io::CodedOutputStream out(&stream);
      WireFormatLite::WriteUInt64(3, value, &out);
      WireFormatLite::WriteInt64(4, static_cast<int64_t>(value), &out);
      WireFormatLite::WriteSInt64(5, static_cast<int64_t>(value), &out);
      WireFormatLite::WriteFixed32(6, static_cast<uint32_t>(value), &out);
      WireFormatLite::WriteFixed64(7, value, &out);
      WireFormatLite::WriteBytes(8, "content", &out);
    }
    EXPECT_EQ(ours, theirs) << value;
  }
}

TEST(Wire, ZigZag_SmallMagnitudesAreSmall) {
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(-1), 1u);
  EXPECT_EQ(ZigZag(1), 2u);
  EXPECT_EQ(ZigZag(std::numeric_limits<int64_t>::min()), std::numeric_limits<uint64_t>::max());
}

TEST(Wire, ZigZag_IsUndoneByUnZigZag) {
  for (const uint64_t value : InterestingValues()) {
    EXPECT_EQ(UnZigZag(ZigZag(ToSigned(value))), ToSigned(value));
    EXPECT_EQ(UnZigZag(value), WireFormatLite::ZigZagDecode64(value));
  }
}

TEST(WireDeathTest, FieldNumberOutOfRange_Dies) {
  std::string out;
  EXPECT_DEATH(AddVarint(0, 1, &out), "number");
  EXPECT_DEATH(AddVarint(kFieldNumberMax + 1, 1, &out), "number");
}

}  // namespace
}  // namespace quorum::wire
