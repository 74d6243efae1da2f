#include "client/bootstrap.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace quorum::client {
namespace {

// Empty when `entry` is a usable address, else what is wrong with it.
std::string Fault(const std::string& entry) {
  const size_t colon = entry.rfind(':');
  if (colon == std::string::npos) return "has no port";
  const std::string host = entry.substr(0, colon);
  const std::string port_text = entry.substr(colon + 1);
  uint32_t port = 0;
  const bool digits =
      std::all_of(port_text.begin(), port_text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || !absl::SimpleAtoi(port_text, &port) || port < 1 || port > 65535) {
    return "has a port outside 1 to 65535";
  }
  if (host.empty()) return "has no host";
  const bool bracketed = host.front() == '[' && host.back() == ']' && host.size() > 2;
  if (!bracketed && host.find_first_of(":[]/ ") != std::string::npos) {
    return "is not host:port (an IPv6 host stands in brackets)";
  }
  return "";
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseBootstrap(const std::string& text) {
  std::vector<std::string> addresses;
  for (const absl::string_view piece : absl::StrSplit(text, ',')) {
    const std::string entry(absl::StripAsciiWhitespace(piece));
    if (entry.empty()) continue;
    const std::string fault = Fault(entry);
    if (!fault.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("bootstrap entry \"", entry, "\" ", fault));
    }
    if (std::find(addresses.begin(), addresses.end(), entry) == addresses.end()) {
      addresses.push_back(entry);
    }
  }
  if (addresses.empty()) return absl::InvalidArgumentError("the bootstrap list names no node");
  if (addresses.size() > kBootstrapMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the bootstrap list names more than ", kBootstrapMax, " nodes"));
  }
  return addresses;
}

}  // namespace quorum::client
