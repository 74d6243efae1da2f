// The daemon as a program: what it prints, how it stops, and what is left behind. One node is a
// cluster of its own; data directories and damage have their tests in tests/integration.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/service/server/daemon.h"

namespace quorum::server {
namespace {

using testing::HasSubstr;

constexpr char kDirectory[] = "3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a01";

struct Result {
  int exit_code;
  std::string output;
};

class ProgramTest : public testing::Test {
 protected:
  // A verb that ends by itself.
  Result Run(const std::vector<std::string>& words) {
    Daemon daemon(words, absl::StrCat(folder_, "/run", ++runs_));
    const int code = daemon.AwaitExit();
    return {code, daemon.Log()};
  }

  // A data directory of a cluster of one.
  void Format() {
    const Result formatted =
        Run({"format", "--data-dir=" + data_dir_, "--cluster-id=solo", "--node-id=1",
             absl::StrCat("--initial-voters=1@", address_, ":", kDirectory)});
    ASSERT_EQ(formatted.exit_code, 0) << formatted.output;
  }

  std::unique_ptr<Daemon> Serve(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"--data-dir=" + data_dir_, "--cluster-id=solo", "--node-id=1",
                                      "--listen-address=" + address_, "--election-timeout-ms=100"};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Daemon>(words, folder_ + "/log");
  }

  static std::string ReadFile(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  static std::string MakeFolder() {
    // The end is what mkdtemp makes a name of.
    std::string path = absl::StrCat(getenv("TEST_TMPDIR"), "/program", std::string(6, 'X'));
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    return path;
  }

  const std::string folder_ = MakeFolder();
  const std::string data_dir_ = folder_ + "/data";
  const std::string address_ = absl::StrCat("127.0.0.1:", FreePort());
  int runs_ = 0;
};

TEST_F(ProgramTest, HelpAndVersionAreNoErrors) {
  const Result help = Run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("quorumd format --data-dir=DIR"));
  const Result version = Run({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.output, "quorumd 0.1.0\n");
}

TEST_F(ProgramTest, AVerbThatDoesNotExistIsUsage) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"defragment"},
                                                {"dump"},
                                                {"dump", "node", "log"},
                                                {"verify", "x"}}) {
    const Result result = Run(words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.output, HasSubstr("FATAL reason=USAGE "));
  }
}

TEST_F(ProgramTest, AStopLeavesASoundDirectory) {
  Format();
  const auto daemon = Serve({"--trace-file=" + folder_ + "/trace"});
  ASSERT_TRUE(daemon->AwaitLog("] serving node=1 cluster=solo "));
  ASSERT_TRUE(daemon->AwaitLog("] ready node=1 "));
  daemon->Signal(SIGTERM);
  EXPECT_EQ(daemon->AwaitExit(), 0) << daemon->Log();
  EXPECT_THAT(daemon->Log(), HasSubstr("] stopped\n"));
  EXPECT_THAT(ReadFile(folder_ + "/trace"), HasSubstr("\"to\":\"Leader\""));
  EXPECT_EQ(Run({"verify", "--data-dir=" + data_dir_}).exit_code, 0);
  EXPECT_THAT(Run({"dump", "log", "--partition=1:0", "--data-dir=" + data_dir_}).output,
              HasSubstr("epoch=1"));
  EXPECT_THAT(Run({"dump", "node", "--format=json", "--data-dir=" + data_dir_}).output,
              HasSubstr(kDirectory));
}

// A leader whose peers do not answer waits for a successor as long as it may.
TEST_F(ProgramTest, ASecondSignalEndsItAtOnce) {
  std::vector<std::string> addresses;
  std::string voters;
  for (int id = 1; id <= 3; ++id) {
    addresses.push_back(absl::StrCat("127.0.0.1:", FreePort()));
    absl::StrAppend(&voters, id > 1 ? "," : "", id, "@", addresses.back(),
                    ":3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a0", id);
  }
  std::vector<std::unique_ptr<Daemon>> daemons;
  for (int id = 1; id <= 3; ++id) {
    const std::vector<std::string> who = {absl::StrCat("--data-dir=", folder_, "/d", id),
                                          "--cluster-id=trio", absl::StrCat("--node-id=", id)};
    std::vector<std::string> format = {"format", "--initial-voters=" + voters};
    format.insert(format.end(), who.begin(), who.end());
    ASSERT_EQ(Run(format).exit_code, 0);
    std::vector<std::string> serve = {"--listen-address=" + addresses[static_cast<size_t>(id - 1)],
                                      "--shutdown-timeout-ms=600000"};
    serve.insert(serve.end(), who.begin(), who.end());
    daemons.push_back(std::make_unique<Daemon>(serve, absl::StrCat(folder_, "/log", id)));
  }
  for (const auto& daemon : daemons) ASSERT_TRUE(daemon->AwaitLog("] ready node="));
  Daemon* leader = nullptr;
  for (const auto& daemon : daemons) {
    if (daemon->Log().find(" Leader hw=") != std::string::npos) leader = daemon.get();
  }
  ASSERT_NE(leader, nullptr);
  for (const auto& daemon : daemons) {
    if (daemon.get() != leader) daemon->Signal(SIGSTOP);
  }
  leader->Signal(SIGINT);
  ASSERT_TRUE(leader->AwaitLog("] stopping on signal 2"));
  ASSERT_TRUE(leader->AwaitLog(" Resigned hw="));
  leader->Signal(SIGINT);
  EXPECT_EQ(leader->AwaitExit(), 0);
  EXPECT_EQ(leader->Log().find("] stopped\n"), std::string::npos);
}

TEST_F(ProgramTest, AFlagFileIsEnough) {
  Format();
  const std::string flags = folder_ + "/flags";
  std::ofstream(flags) << "--data-dir=" << data_dir_ << "\n--cluster-id=solo\n--node-id=1\n"
                       << "--listen-address=" << address_ << "\n--seed=77\n";
  Daemon daemon({"serve", "--flagfile=" + flags}, folder_ + "/log");
  ASSERT_TRUE(daemon.AwaitLog(" seed=77 "));
  EXPECT_TRUE(daemon.AwaitLog("] ready node=1 "));
}

TEST_F(ProgramTest, EachStartRaisesTheIncarnation) {
  Format();
  for (int life = 1; life <= 3; ++life) {
    const auto daemon = Serve();
    ASSERT_TRUE(daemon->AwaitLog(absl::StrCat(" incarnation=", life, " ")));
    daemon->Signal(SIGKILL);
    EXPECT_EQ(daemon->AwaitExit(), 128 + SIGKILL);
  }
}

TEST_F(ProgramTest, AnotherServersDirectoryIsLocked) {
  Format();
  const auto daemon = Serve();
  ASSERT_TRUE(daemon->AwaitLog("] ready node=1 "));
  const Result second = Run({"--data-dir=" + data_dir_, "--cluster-id=solo", "--node-id=1",
                             absl::StrCat("--listen-address=127.0.0.1:", FreePort())});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.output, HasSubstr("FATAL reason=LOCKED "));
}

}  // namespace
}  // namespace quorum::server
