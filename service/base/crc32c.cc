#include "service/base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace quorum {
namespace {

// crc32_iscsi takes its length as an int.
constexpr size_t kChunkSizeMax = size_t{1} << 30;

}  // namespace

uint32_t Crc32c(absl::string_view bytes) { return Crc32cExtend(0, bytes); }

uint32_t Crc32cExtend(uint32_t crc, absl::string_view bytes) {
  // ISA-L leaves both inversions of the standard to its caller.
  uint32_t state = ~crc;
  while (!bytes.empty()) {
    const absl::string_view chunk = bytes.substr(0, std::min(bytes.size(), kChunkSizeMax));
    // It only reads the buffer, although its signature does not say so.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(chunk.data()));
    state = crc32_iscsi(data, static_cast<int>(chunk.size()), state);
    bytes.remove_prefix(chunk.size());
  }
  return ~state;
}

}  // namespace quorum
