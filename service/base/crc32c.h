// CRC-32C (Castagnoli), the checksum of every record batch, with the processor's own instructions
// where it has them (ISA-L).
//
// The functions chain: Crc32cExtend(Crc32c(a), b) is Crc32c of a followed by b. A crc is the final,
// inverted one of RFC 3720: that of "123456789" is 0xe3069283, that of no bytes is 0.
//
// Thread: pure functions.

#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace quorum {

// The crc of `bytes`.
[[nodiscard]] uint32_t Crc32c(absl::string_view bytes);

// The crc of the bytes that `crc` covers followed by `bytes`.
[[nodiscard]] uint32_t Crc32cExtend(uint32_t crc, absl::string_view bytes);

}  // namespace quorum
