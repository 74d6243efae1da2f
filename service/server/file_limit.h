// The number of files that the process may have open: connections, and the tables of the store.
//
// Thread: at start, one.

#pragma once

#include <cstdint>

namespace quorum::server {

// With fewer, reads of the store may fail and connections be refused when much goes on.
inline constexpr uint64_t kOpenFilesMin = 4'096;

// Raises the soft limit as far as the process may by itself. Returns what it is now.
uint64_t RaiseOpenFilesLimit();

}  // namespace quorum::server
