// Child: a process that is forked for a part of the work, so that what ends it ends nothing else.
// What it prints is kept for its parent.
//
// Thread: the simulator's only one.

#pragma once

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <string>

namespace quorum::sim {

class Child {
 public:
  // Runs `work` in a new process, which ends with it and leaves its parent what it returns.
  explicit Child(const std::function<std::string()>& work);
  // Wait has been called.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  struct End {
    // It came to the end of its work.
    bool done = false;
    std::string returned;
    std::string output;
  };
  // Once.
  End Wait();

 private:
  std::FILE* const output_;
  std::FILE* const returned_;
  pid_t pid_ = 0;
};

}  // namespace quorum::sim
