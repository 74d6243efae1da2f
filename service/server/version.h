// The version of the software, as `quorumd --version` and the catalog say it.
//
// Thread: a constant.

#pragma once

namespace quorum::server {

inline constexpr char kSoftwareVersion[] = "0.1.0";

}  // namespace quorum::server
