// Signals that ask the daemon to stop.
//
// Thread: main's. BlockStopSignals comes before any other thread is started, so that all of them
// inherit it.

#pragma once

namespace quorum::server {

// SIGTERM and SIGINT are delivered to WaitForStopSignal only; a broken pipe is an error code.
void BlockStopSignals();

// Returns the number of the signal.
int WaitForStopSignal();

// From now on such a signal ends the process at once, with exit code 0: what was acknowledged is
// synced, and the others elect by themselves.
void ExitAtNextStopSignal();

}  // namespace quorum::server
