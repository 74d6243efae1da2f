// HOST:PORT as flags, voter sets and the catalog hold it. The host is a name, an IPv4 address, or
// an IPv6 address in brackets.
//
// Thread: plain values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quorum::server {

// No longer one can be registered in the catalog.
inline constexpr size_t kAddressSizeMax = 255;

struct Address {
  // Without brackets.
  std::string host;
  // Range [1, 65535].
  uint16_t port = 0;

  // Nobody can be reached at it: it means every address of the machine.
  bool IsWildcard() const;
  std::string ToString() const;
};

// Empty when it is malformed.
std::optional<Address> ParseAddress(const std::string& text);

// A list that is separated by commas; empty text is an empty list. Empty when one is malformed.
std::optional<std::vector<std::string>> ParseAddresses(const std::string& text);

}  // namespace quorum::server
