// The verbs of the daemon. Each takes what flags.h loaded, prints its results to standard output,
// and returns the exit code of the process; on anything but 0 it has printed the FATAL line.
//
// Thread: main's.

#pragma once

#include "service/server/server_config.h"

namespace quorum::server {

// Formats a data directory, or says that it is formatted already.
int RunFormat(FormatConfig config);

// Prints what a directory holds, a line each. It must not be in use by a server.
int RunDump(const DumpConfig& config);

// Checks everything that a directory holds, and changes nothing.
int RunVerify(const VerifyConfig& config);

}  // namespace quorum::server
