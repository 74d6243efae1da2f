// Process: another program, started by a test and never outliving it.
//
//   Process process({"/bin/true"}, "/tmp/log");
//   ASSERT_TRUE(process.AwaitExit(&exit));
//
// Thread: the test's main thread, because the kernel kills the program when the thread that started
// it ends.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "service/base/time.h"
#include "tests/integration/await.h"

namespace quorum::integration {

class Process {
 public:
  // Starts `words[0]` with the others as its arguments. Standard output and error are appended to
  // `log_path`, or to one file each when `output_path` is given.
  Process(const std::vector<std::string>& words, const std::string& log_path,
          const std::string& output_path = "");
  // Kills it.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

  // Sends a signal, unless the process has ended.
  void Signal(int signal);

  // SIGSTOP, and waits until all of its threads have stopped: some run on for a moment on a busy
  // machine, and may do what the test means to hold back.
  testing::AssertionResult Pause();

  // How it ended: its exit code, or 128 + the signal; empty while it runs.
  std::optional<int> exit_code();

  // Waits for its end.
  testing::AssertionResult AwaitExit(int* code, Duration limit = kWaitMax);

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// What a program that has ended left behind.
struct ProgramResult {
  int exit_code = -1;
  std::string output;
  std::string error;
};

// Runs a program to its end; one that takes longer than kWaitMax fails the test and is killed.
ProgramResult RunProgram(const std::vector<std::string>& words);

// The whole file; empty when there is none.
std::string ReadFile(const std::string& path);

// The last lines of a file.
std::string LastLines(const std::string& path, size_t count);

// A folder of this test case below $TEST_TMPDIR, blank, on a file system that syncs.
std::string MakeScratchFolder(const std::string& name);

}  // namespace quorum::integration
