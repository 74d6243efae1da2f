// DieOf: the end of a process whose store failed while it was in use. A failed sync cannot be
// repeated (the kernel drops the dirty pages and calls the next one a success), so nothing may go
// on from it, not even cleaning up.
//
// Thread: any.

#pragma once

#include <functional>

#include "storage/layout/store_error.h"

namespace quorum::storage {

// Prints `FATAL reason=<reason> <message>` to standard error and ends the process at once with the
// error's exit code. Does not return.
[[noreturn]] void DieOf(const StoreError& error);

// What the store calls when it must not be used any more. It must not return; DieOf by default.
using FatalHandler = std::function<void(const StoreError&)>;

}  // namespace quorum::storage
