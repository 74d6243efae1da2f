// quorumctl as a function, for its main and for tests.
//
// Thread: the caller's.

#pragma once

#include <string>
#include <vector>

#include "client/quorumctl/session.h"

namespace quorum::client::quorumctl {

// Runs the command line `words`, without the program's name, and returns the exit code.
int RunQuorumctl(const std::vector<std::string>& words, Streams& streams);

}  // namespace quorum::client::quorumctl
