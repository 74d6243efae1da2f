// Runs every command of testdata/ against a scripted cluster and compares what it writes, and its
// exit code, with what stands there. These are promises to scripts: read a change before you commit
// it.
//
//   bazel build //tests/client:quorumctl_golden_test
//   QUORUMCTL_REWRITE=1 bazel-bin/tests/client/quorumctl_golden_test    # from the workspace's root

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/quorumctl/quorumctl.h"
#include "client/quorumctl/session.h"
#include "tests/client/fake_cluster.h"
#include "tests/main/goldens.h"

namespace quorum::client::quorumctl {
namespace {

constexpr char kFolder[] = "tests/client/testdata";
constexpr char kPrompt[] = "$ quorumctl ";

// Each line with what it was written to before it.
std::string Marked(const std::string& text, const std::string& mark) {
  std::string marked;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    absl::StrAppend(&marked, mark, line.empty() ? "" : " ", line, "\n");
  }
  return marked;
}

// What the golden says of a command: all of its output, and its exit code.
std::string Record(const std::string& command, const std::string& address) {
  std::vector<std::string> words = absl::StrSplit(command, ' ', absl::SkipEmpty());
  words.push_back(absl::StrCat("--bootstrap=", address));
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{in, out, err};
  const int code = RunQuorumctl(words, streams);
  const std::string text = absl::StrCat(kPrompt, command, "\n", Marked(out.str(), "out|"),
                                        Marked(err.str(), "err|"), "exit ", code, "\n");
  return absl::StrReplaceAll(text, {{address, "ADDRESS"}});
}

class QuorumctlGoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(QuorumctlGoldenTest, WritesItsGolden) {
  const std::string path = absl::StrCat(kFolder, "/", GetParam(), ".txt");
  const std::string golden = ReadGolden(path);
  FakeCluster cluster;
  std::string written;
  std::istringstream lines(golden);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.rfind(kPrompt, 0) != 0) continue;
    absl::StrAppend(&written, written.empty() ? "" : "\n",
                    Record(line.substr(sizeof(kPrompt) - 1), cluster.address()));
  }
  EXPECT_NE(written, "") << path << " holds no command";
  if (std::getenv("QUORUMCTL_REWRITE") != nullptr) {
    std::ofstream(path) << written;
  } else {
    EXPECT_EQ(written, golden) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, QuorumctlGoldenTest, testing::ValuesIn(ListGoldens(kFolder)),
                         [](const auto& file) { return file.param; });

TEST(QuorumctlGoldensTest, AreFound) { EXPECT_GE(ListGoldens(kFolder).size(), 5u); }

}  // namespace
}  // namespace quorum::client::quorumctl
