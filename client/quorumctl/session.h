// Session: what every verb of quorumctl works with, and how it reports.
//
// Data goes to `out`; failures, hints and progress go to `err`.
//
// Thread: the main thread, but for the progress callback.

#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "client/admin.h"
#include "client/client_options.h"
#include "client/error.h"
#include "client/quorum_client.h"
#include "client/quorumctl/exit_code.h"
#include "client/retry_policy.h"
#include "service/base/time.h"

namespace quorum::client::quorumctl {

// The streams of the process.
struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  // Progress is shown on a terminal only.
  bool err_is_terminal = false;
  bool in_is_terminal = false;
  // How many lines fit on the terminal that `out` is; 0 when it is none.
  size_t out_rows = 0;
};

struct Session {
  QuorumClient& client;
  Admin admin;
  Streams& streams;
  Duration timeout;
  bool json = false;

  // The options of a call: the time-out, and progress where that is shown.
  CallOptions Call() const;

  // Removes the progress line.
  void ClearProgress() const;

  // Writes the three lines of a failure that ends with `code`: `what` was attempted, why it failed,
  // and what to do, where `look` is the command that shows more.
  void Report(const std::string& what, const Error& error, ExitCode code,
              const std::string& look) const;

  // The same of a call of this kind; returns its exit code.
  ExitCode Fail(CallKind kind, const std::string& what, const Error& error,
                const std::string& look) const;
};

// One line: the reason, the message, the leader where one is named, the number of attempts.
std::string WhyLine(const Error& error);

}  // namespace quorum::client::quorumctl
