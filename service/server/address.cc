#include "service/server/address.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace quorum::server {
namespace {

constexpr size_t kHostSizeMax = 253;

bool IsHostCharacter(unsigned char c) {
  return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
}

bool IsAddressCharacter(unsigned char c) {
  return absl::ascii_isxdigit(c) || c == ':' || c == '.' || c == '%';
}

}  // namespace

bool Address::IsWildcard() const { return host == "0.0.0.0" || host == "::"; }

std::string Address::ToString() const {
  if (host.find(':') != std::string::npos) return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

std::optional<Address> ParseAddress(const std::string& text) {
  if (text.size() > kAddressSizeMax) return std::nullopt;
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  std::string host = text.substr(0, colon);
  const std::string digits = text.substr(colon + 1);
  uint32_t port = 0;
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(digits, &port) || port < 1 || port > UINT16_MAX) {
    return std::nullopt;
  }
  bool (*allowed)(unsigned char) = IsHostCharacter;
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    allowed = IsAddressCharacter;
  }
  if (host.empty() || host.size() > kHostSizeMax ||
      !std::all_of(host.begin(), host.end(), allowed)) {
    return std::nullopt;
  }
  return Address{host, static_cast<uint16_t>(port)};
}

std::optional<std::vector<std::string>> ParseAddresses(const std::string& text) {
  std::vector<std::string> addresses;
  if (text.empty()) return addresses;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::optional<Address> address =
        ParseAddress(std::string(absl::StripAsciiWhitespace(part)));
    if (!address.has_value()) return std::nullopt;
    addresses.push_back(address->ToString());
  }
  return addresses;
}

}  // namespace quorum::server
