// Runs every script of testdata/ and compares what it puts out with what stands there. A changed
// golden is a claim about the protocol: read it before you commit it.
//
//   bazel build //tests/interaction:interaction_test
//   INTERACTION_REWRITE=1 bazel-bin/tests/interaction/interaction_test     # from the workspace
//   root

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/interaction/script.h"
#include "tests/main/goldens.h"

namespace quorum::interaction {
namespace {

constexpr char kFolder[] = "tests/interaction/testdata";

class InteractionTest : public testing::TestWithParam<std::string> {};

TEST_P(InteractionTest, PutsOutItsGolden) {
  const std::string path = std::string(kFolder) + "/" + GetParam() + ".txt";
  std::vector<Paragraph> paragraphs = ParseScript(ReadGolden(path));
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
    EXPECT_EQ(FormatScript(paragraphs), ReadGolden(path)) << "not as a rewrite would leave it";
  }
}

INSTANTIATE_TEST_SUITE_P(Scripts, InteractionTest, testing::ValuesIn(ListGoldens(kFolder)),
                         [](const auto& info) { return info.param; });

TEST(Scripts, AreFound) { EXPECT_GE(ListGoldens(kFolder).size(), 8u); }

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
