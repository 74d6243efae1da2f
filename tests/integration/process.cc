#include "tests/integration/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"

namespace quorum::integration {
namespace {

int OpenForAppend(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  PCHECK(file >= 0) << path;
  return file;
}

// Only what is allowed between fork and exec in a process with threads.
[[noreturn]] void RunChild(char** arguments, int output, int error, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before the line above.
  if (getppid() != parent) _exit(126);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(output, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  execv(arguments[0], arguments);
  _exit(127);
}

int CodeOf(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

Process::Process(const std::vector<std::string>& words, const std::string& log_path,
                 const std::string& output_path) {
  CHECK(!words.empty());
  std::vector<std::string> copy = words;
  std::vector<char*> arguments;
  for (std::string& word : copy) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int error = OpenForAppend(log_path);
  const int output = OpenForAppend(output_path.empty() ? log_path : output_path);
  const pid_t parent = getpid();
  pid_ = fork();
  PCHECK(pid_ >= 0);
  if (pid_ == 0) RunChild(arguments.data(), output, error, parent);
  close(error);
  close(output);
}

Process::~Process() {
  Signal(SIGKILL);
  if (!exit_code_.has_value()) waitpid(pid_, nullptr, 0);
}

void Process::Signal(int signal) {
  if (!exit_code().has_value()) PCHECK(kill(pid_, signal) == 0);
}

testing::AssertionResult Process::Pause() {
  Signal(SIGSTOP);
  return Await(absl::StrCat("process ", pid_, " stops"), [this]() -> std::string {
    siginfo_t stopped = {};
    PCHECK(waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WNOHANG) == 0);
    return stopped.si_pid == pid_ ? "" : "it runs";
  });
}

std::optional<int> Process::exit_code() {
  if (exit_code_.has_value()) return exit_code_;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  PCHECK(ended >= 0);
  if (ended == pid_) exit_code_ = CodeOf(status);
  return exit_code_;
}

testing::AssertionResult Process::AwaitExit(int* code, Duration limit) {
  const auto running = [this] { return exit_code().has_value() ? "" : "it runs"; };
  testing::AssertionResult ended = Await(absl::StrCat("process ", pid_, " ends"), running, limit);
  if (ended) *code = *exit_code_;
  return ended;
}

ProgramResult RunProgram(const std::vector<std::string>& words) {
  const std::string folder = MakeScratchFolder("program");
  const std::string output = folder + "/output";
  const std::string error = folder + "/error";
  Process process(words, error, output);
  ProgramResult result;
  EXPECT_TRUE(process.AwaitExit(&result.exit_code)) << words[0];
  result.output = ReadFile(output);
  result.error = ReadFile(error);
  return result;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string LastLines(const std::string& path, size_t count) {
  const std::string text = ReadFile(path);
  size_t start = text.size();
  for (size_t line = 0; start > 0 && line <= count; ++line) {
    const size_t end = text.rfind('\n', start - 1);
    if (end == std::string::npos) return text;
    start = end;
  }
  return text.substr(std::min(start + 1, text.size()));
}

std::string MakeScratchFolder(const std::string& name) {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string owner = test == nullptr ? "suite" : test->name();
  std::replace(owner.begin(), owner.end(), '/', '_');
  const std::string path = absl::StrCat(testing::TempDir(), "/", getpid(), "/", owner, "/", name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  struct statfs system = {};
  PCHECK(statfs(path.c_str(), &system) == 0);
  CHECK_NE(system.f_type, TMPFS_MAGIC)
      << path << " is in memory, where a sync means nothing; set TEST_TMPDIR to a disk";
  return path;
}

}  // namespace quorum::integration
