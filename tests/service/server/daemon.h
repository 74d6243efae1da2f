// Daemon: quorumd as a program, run by a test and never outliving it.
//
// Thread: the test's main thread.

#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace quorum::server {

class Daemon {
 public:
  // Starts quorumd with these arguments. What it prints is appended to `log_path`.
  Daemon(const std::vector<std::string>& arguments, const std::string& log_path);
  // Kills it.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  void Signal(int signal);

  // Waits until the log holds `text`; fails after half a minute, or when the program has ended
  // without it.
  testing::AssertionResult AwaitLog(const std::string& text);

  // Waits for the end: the exit code, or 128 + the signal; -1 after half a minute.
  int AwaitExit();

  std::string Log() const;

 private:
  // Whether it has ended; keeps its exit code.
  bool Ended();

  const std::string log_path_;
  pid_t pid_;
  int exit_code_ = -1;
  bool ended_ = false;
};

// A TCP port of 127.0.0.1 that was free just now.
int FreePort();

}  // namespace quorum::server
