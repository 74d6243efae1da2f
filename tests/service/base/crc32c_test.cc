#include "service/base/crc32c.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "service/base/prng.h"

namespace quorum {
namespace {

// A bit at a time, as the polynomial is written in RFC 3720, reflected.
uint32_t ObviousCrc32c(absl::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

std::string RandomBytes(Prng* prng, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(prng->Next()));
  return bytes;
}

TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (int i = 0; i < 32; ++i) rising.push_back(static_cast<char>(i));
  EXPECT_EQ(Crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(Crc32c(std::string(rising.rbegin(), rising.rend())), 0x113fdb5cu);
}

TEST(Crc32c, AnySizeAndAlignment_AgreesWithTheObviousOne) {
  Prng prng(1);
  const std::string bytes = RandomBytes(&prng, 5000);
  for (size_t size = 0; size < 300; ++size) {
    const absl::string_view part = absl::string_view(bytes).substr(prng.Below(16), size);
    EXPECT_EQ(Crc32c(part), ObviousCrc32c(part)) << size;
  }
  EXPECT_EQ(Crc32c(bytes), ObviousCrc32c(bytes));
}

TEST(Crc32cExtend, AnyCut_GivesTheCrcOfTheWhole) {
  Prng prng(2);
  const std::string bytes = RandomBytes(&prng, 200);
  const uint32_t whole = Crc32c(bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(Crc32cExtend(Crc32c(bytes.substr(0, cut)), bytes.substr(cut)), whole) << cut;
  }
}

TEST(Crc32c, EachSingleBitFlip_IsSeen) {
  Prng prng(3);
  const std::string bytes = RandomBytes(&prng, 100);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(Crc32c(damaged), Crc32c(bytes)) << bit;
  }
}

}  // namespace
}  // namespace quorum
