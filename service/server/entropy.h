// Entropy of the operating system. This is the server's only reader of it: everything else draws
// from a Prng made of the one seed.
//
// Thread: any.

#pragma once

#include <cstdint>

#include "service/base/ids.h"

namespace quorum::server {

// Never zero, which stands for "draw one" in the flag.
uint64_t DrawSeed();

// Never zero.
DirectoryId DrawDirectoryId();

}  // namespace quorum::server
