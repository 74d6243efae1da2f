#include "tests/service/server/daemon.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/server/loop_thread.h"
#include "service/server/system_clock.h"

namespace quorum::server {
namespace {

constexpr Duration kWaitMax = std::chrono::seconds(30);

std::string ProgramPath() {
  return absl::StrCat(getenv("TEST_SRCDIR"), "/", getenv("TEST_WORKSPACE"),
                      "/service/server/quorumd");
}

// Another process cannot wake this one, so the condition is looked at again and again.
bool Await(const std::function<bool()>& condition) {
  const SystemClock clock;
  const MonoTime give_up = clock.Now() + kWaitMax;
  Waker never;
  while (!condition()) {
    if (clock.Now() > give_up) return false;
    never.WaitUntil(clock.Now() + std::chrono::milliseconds(10), clock);
  }
  return true;
}

}  // namespace

Daemon::Daemon(const std::vector<std::string>& arguments, const std::string& log_path)
    : log_path_(log_path) {
  std::vector<std::string> words = {ProgramPath()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log_path.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  CHECK_EQ(posix_spawn(&pid_, pointers[0], &actions, nullptr, pointers.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
}

Daemon::~Daemon() {
  if (Ended()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Daemon::Signal(int signal) {
  if (!Ended()) kill(pid_, signal);
}

testing::AssertionResult Daemon::AwaitLog(const std::string& text) {
  const bool found = Await([&] {
    const bool ended = Ended();
    return absl::StrContains(Log(), text) || ended;
  });
  if (found && absl::StrContains(Log(), text)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << text << "\" in\n" << Log();
}

int Daemon::AwaitExit() {
  return Await([this] { return Ended(); }) ? exit_code_ : -1;
}

std::string Daemon::Log() const {
  std::ostringstream text;
  text << std::ifstream(log_path_).rdbuf();
  return text.str();
}

bool Daemon::Ended() {
  int status = 0;
  if (ended_ || waitpid(pid_, &status, WNOHANG) != pid_) return ended_;
  ended_ = true;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

int FreePort() {
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  PCHECK(bind(file, reinterpret_cast<sockaddr*>(&address), size) == 0);
  PCHECK(getsockname(file, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(file);
  return ntohs(address.sin_port);
}

}  // namespace quorum::server
