// Runs every script of testdata/ and compares what it puts out with what stands there. A changed
// golden is a claim about the protocol: read it before you commit it.
//
//   bazel build //tests/interaction:interaction_test
//   INTERACTION_REWRITE=1 bazel-bin/tests/interaction/interaction_test     # from the workspace
//   root

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/interaction/script.h"

namespace quorum::interaction {
namespace {

constexpr char kFolder[] = "tests/interaction/testdata";

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> ListScripts() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, error)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class InteractionTest : public testing::TestWithParam<std::string> {};

TEST_P(InteractionTest, PutsOutItsGolden) {
  const std::string path = std::string(kFolder) + "/" + GetParam() + ".txt";
  std::vector<Paragraph> paragraphs = ParseScript(ReadFile(path));
  ASSERT_FALSE(paragraphs.empty()) << path;
  const bool rewrite = std::getenv("INTERACTION_REWRITE") != nullptr;
  Interpreter interpreter;
  for (Paragraph& paragraph : paragraphs) {
    const std::string output = interpreter.Run(paragraph.commands);
    EXPECT_EQ(output.find("error:"), std::string::npos) << path << ":" << paragraph.line << "\n"
                                                        << output;
    if (!rewrite) EXPECT_EQ(output, paragraph.expected) << path << ":" << paragraph.line;
    paragraph.expected = output;
  }
  if (rewrite) {
    std::ofstream(path) << FormatScript(paragraphs);
  } else {
    EXPECT_EQ(FormatScript(paragraphs), ReadFile(path)) << "not as a rewrite would leave it";
  }
}

INSTANTIATE_TEST_SUITE_P(Scripts, InteractionTest, testing::ValuesIn(ListScripts()),
                         [](const auto& info) { return info.param; });

TEST(Scripts, AreFound) { EXPECT_GE(ListScripts().size(), 8u); }

TEST(Interpreter, ANonsensicalCommandIsAnError) {
  Interpreter interpreter;
  EXPECT_NE(interpreter.Run({"tick 5s"}).find("error:"), std::string::npos) << "no cluster yet";
  EXPECT_EQ(interpreter.Run({"cluster voters=1", "quiet"}).find("error:"), std::string::npos);
  for (const char* line : {"tick", "tick 5", "campaign 9", "dance 1", "deliver drop=1",
                           "cluster log1=3", "cluster voters=many", "restart 1"}) {
    EXPECT_NE(interpreter.Run({line}).find("error:"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace quorum::interaction
