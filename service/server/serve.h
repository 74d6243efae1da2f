// The verb `serve`: runs a node until it is asked to stop.
//
// Thread: main's.

#pragma once

#include "service/server/server_config.h"

namespace quorum::server {

// Returns the exit code of a process that cannot serve; otherwise the process ends in here. The
// first SIGTERM or SIGINT hands over what is led here and stops in order; a second one ends the
// process at once.
int RunServe(ServeConfig config);

}  // namespace quorum::server
