#include "service/server/exit.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/server/loop_thread.h"
#include "service/server/system_clock.h"
#include "storage/rocksdb/worker_thread.h"

namespace quorum::server {
namespace {

constexpr Duration kLastLineWait = std::chrono::milliseconds(1000);

void WriteToStandardError(const std::string& text) {
  // Neither buffered nor retried: nothing else can be done with a failure here.
  const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);
}

// glog's type asks for this attribute instead of [[noreturn]].
__attribute__((noreturn)) void ExitOfAssertion() {
  constexpr int kFramesMax = 64;
  void* frames[kFramesMax];
  const int count = backtrace(frames, kFramesMax);
  backtrace_symbols_fd(frames, count, STDERR_FILENO);
  WriteToStandardError("FATAL reason=ASSERTION A broken invariant; the check is named above.\n");
  _exit(kExitAssertion);
}

}  // namespace

int Report(const storage::StoreError& error) {
  std::ostringstream line;
  line << "FATAL " << error;
  std::string text = line.str();
  std::replace(text.begin(), text.end(), '\n', ' ');
  WriteToStandardError(text + "\n");
  return error.exit_code;
}

void EndWith(const storage::StoreError& error) {
  const SystemClock clock;
  Waker written;
  const storage::WorkerThread writer("last-line", [&] {
    Report(error);
    written.Wake();
  });
  written.WaitUntil(clock.Now() + kLastLineWait, clock);
  std::_Exit(error.exit_code);
}

void EndOfStuckDisk(Duration outstanding) {
  const auto out = std::chrono::duration_cast<std::chrono::milliseconds>(outstanding);
  EndWith(storage::DamageError(
      kDiskStuck, absl::StrCat("The disk has not answered a sync for ", out.count(), " ms.")));
}

void InstallCrashTrace() {
  google::InstallFailureSignalHandler();
  // Which glog counts as a crash.
  signal(SIGTERM, SIG_DFL);
}

void InstallAssertionExit() { google::InstallFailureFunction(&ExitOfAssertion); }

}  // namespace quorum::server
