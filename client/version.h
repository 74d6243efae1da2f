// The version of the client library and of quorumctl.

#pragma once

namespace quorum::client {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace quorum::client
