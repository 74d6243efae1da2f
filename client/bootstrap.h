// The bootstrap list: where a client finds its first node. Any node serves any call, so one that
// lives is enough; the rest of the cluster is learnt from its answers.
//
// Thread: any.

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quorum::client {

// What `./dev up` starts.
inline constexpr char kBootstrapDefault[] = "127.0.0.1:7101,127.0.0.1:7102,127.0.0.1:7103";

// More would only hide a mistake; the whole cluster need not be named.
inline constexpr size_t kBootstrapMax = 64;

// Reads `host:port` entries parted by commas; spaces around an entry are dropped, an IPv6 host
// stands in brackets, an entry that repeats counts once. InvalidArgument, with the entry named, for
// an empty list, an empty host, a port outside [1, 65535], a scheme, or too many entries.
absl::StatusOr<std::vector<std::string>> ParseBootstrap(const std::string& text);

}  // namespace quorum::client
