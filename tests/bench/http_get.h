// A GET over a fresh connection, for the /metrics pages of servers on this machine.
//
// Thread: any; blocks for 5 s at most.

#pragma once

#include <optional>
#include <string>

namespace quorum::bench {

// The body of the answer. `address` is IPV4:PORT. Absent when nobody answers with 200.
std::optional<std::string> HttpGet(const std::string& address, const std::string& path);

}  // namespace quorum::bench
