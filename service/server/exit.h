// How the daemon ends. Exit codes and the line `FATAL reason=TOKEN message` on standard error are a
// contract with operators and tests:
//
//   0  it was asked to stop, or the verb did its work
//   2  the configuration cannot be served as asked, a port in use and a locked directory included
//   3  the directory is not the one that is meant, is not formatted, or the process was fenced
//   4  the storage is damaged, or could not be read or written
//   5  an internal assertion failed
//
// Codes 2 to 4 and their tokens are those of storage/layout/store_error.h; here are the others.
//
// Thread: any.

#pragma once

#include <string>

#include "service/base/time.h"
#include "storage/layout/store_error.h"

namespace quorum::server {

inline constexpr int kExitStopped = 0;
inline constexpr int kExitAssertion = 5;

// Tokens with storage::kExitBadConfig.
inline constexpr char kUsage[] = "USAGE";
inline constexpr char kBadFlag[] = "BAD_FLAG";
inline constexpr char kBadConfig[] = "BAD_CONFIG";
inline constexpr char kPortInUse[] = "PORT_IN_USE";
inline constexpr char kTraceFile[] = "TRACE_FILE";
// With storage::kExitIdentity: the cluster knows a newer process, or another directory, of this
// node.
inline constexpr char kFenced[] = "FENCED";
// With storage::kExitDamage: a sync has been out for so long that the disk counts as lost.
inline constexpr char kDiskStuck[] = "DISK_STUCK";
// With kExitAssertion.
inline constexpr char kAssertion[] = "ASSERTION";

// Prints the one line and returns the exit code.
int Report(const storage::StoreError& error);

// As Report, and ends the process with that code, even if the line cannot be written: standard
// error may be a file on a disk that does not answer.
[[noreturn]] void EndWith(const storage::StoreError& error);

// Only a new process, perhaps on another disk, can get out of this.
[[noreturn]] void EndOfStuckDisk(Duration outstanding);

// From now on a failed CHECK prints its line, a stack and `FATAL reason=ASSERTION`, and ends the
// process with exit code 5. Call it after glog is initialised.
void InstallAssertionExit();

// From now on a signal that means a crash (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) prints a stack
// before it ends the process.
void InstallCrashTrace();

}  // namespace quorum::server
