// The exit codes of quorumctl, a promise to scripts. `quorumctl --help` lists them.
//
// Thread: any.

#pragma once

#include "client/append_outcome.h"
#include "client/error.h"
#include "client/retry_policy.h"

namespace quorum::client::quorumctl {

enum class ExitCode : int {
  // Done; for appends: committed.
  kDone = 0,
  // Any failure that is none of the others.
  kFailed = 1,
  // The command line is wrong; nothing was sent.
  kUsage = 2,
  // The topic, partition or replica does not exist; nothing was changed.
  kNotFound = 3,
  // No node could be reached, so that nothing was sent; or a read found no answer in time.
  kUnreachable = 4,
  // The append or the change was not done and never will be.
  kRefused = 5,
  // The append or the change was perhaps done.
  kUnknown = 6,
  // For status: a partition has no leader.
  kUnhealthy = 10,
};

// The exit code of a call of this kind that failed; not of an append.
ExitCode ExitCodeOf(CallKind kind, const Error& error);

// The exit code of an append.
ExitCode ExitCodeOf(const AppendOutcome& outcome);

}  // namespace quorum::client::quorumctl
