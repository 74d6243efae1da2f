#include "tests/sim/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "service/base/check.h"

namespace quorum::sim {
namespace {

std::string ReadAll(std::FILE* file) {
  std::string text;
  char part[4096];
  std::rewind(file);
  while (const size_t size = std::fread(part, 1, sizeof(part), file)) text.append(part, size);
  return text;
}

}  // namespace

Child::Child(const std::function<std::string()>& work)
    : output_(std::tmpfile()), returned_(std::tmpfile()) {
  CHECK(output_ != nullptr && returned_ != nullptr) << "no temporary file";
  // Else both processes would print what is buffered.
  std::cout << std::flush;
  std::cerr << std::flush;
  pid_ = fork();
  CHECK_GE(pid_, 0) << "fork";
  if (pid_ != 0) return;
  CHECK_GE(dup2(fileno(output_), STDOUT_FILENO), 0);
  CHECK_GE(dup2(fileno(output_), STDERR_FILENO), 0);
  const std::string returned = work();
  std::cout << std::flush;
  CHECK_EQ(std::fwrite(returned.data(), 1, returned.size(), returned_), returned.size());
  CHECK_EQ(std::fflush(returned_), 0);
  std::_Exit(EXIT_SUCCESS);
}

Child::~Child() {
  CHECK_EQ(pid_, 0) << "nobody waits for it";
  (void)std::fclose(output_);
  (void)std::fclose(returned_);
}

Child::End Child::Wait() {
  int status = 0;
  CHECK_EQ(waitpid(pid_, &status, 0), pid_);
  pid_ = 0;
  End end;
  end.done = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
  end.returned = ReadAll(returned_);
  end.output = ReadAll(output_);
  return end;
}

}  // namespace quorum::sim
