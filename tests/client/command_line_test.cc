#include "client/quorumctl/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace quorum::client::quorumctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Outcome {
  std::variant<CommandLine, ExitCode> parsed;
  std::string out;
  std::string err;
};

Outcome Parse(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  auto parsed = ParseCommandLine(words, out, err);
  return {std::move(parsed), out.str(), err.str()};
}

// The command line, which must be right.
CommandLine Right(const std::vector<std::string>& words) {
  Outcome outcome = Parse(words);
  CommandLine* line = std::get_if<CommandLine>(&outcome.parsed);
  EXPECT_NE(line, nullptr) << outcome.err;
  return line == nullptr ? CommandLine() : *line;
}

// The command of that type, which must be it.
template <typename T>
T CommandOf(const std::vector<std::string>& words) {
  const CommandLine line = Right(words);
  const T* command = std::get_if<T>(&line.command);
  EXPECT_NE(command, nullptr) << words[0];
  return command == nullptr ? T() : *command;
}

class CommandLineTest : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("QUORUM_BOOTSTRAP"); }
  void TearDown() override { unsetenv("QUORUM_BOOTSTRAP"); }
};

TEST_F(CommandLineTest, Defaults_AreThoseOfTheHelp) {
  const CommandLine line = Right({"topic", "list"});
  EXPECT_THAT(line.bootstrap, ElementsAre("127.0.0.1:7101", "127.0.0.1:7102", "127.0.0.1:7103"));
  EXPECT_EQ(line.timeout, std::chrono::seconds(30));
  EXPECT_FALSE(line.json);
}

TEST_F(CommandLineTest, Bootstrap_FlagWinsOverEnvironmentOverDefault) {
  setenv("QUORUM_BOOTSTRAP", "env:1", 1);
  EXPECT_THAT(Right({"topic", "list"}).bootstrap, ElementsAre("env:1"));
  EXPECT_THAT(Right({"--bootstrap=flag:1", "topic", "list"}).bootstrap, ElementsAre("flag:1"));
  setenv("QUORUM_BOOTSTRAP", "nonsense", 1);
  EXPECT_EQ(std::get<ExitCode>(Parse({"topic", "list"}).parsed), ExitCode::kUsage);
}

TEST_F(CommandLineTest, GlobalFlags_StandAnywhere) {
  const CommandLine line =
      Right({"topic", "list", "-o", "json", "--timeout=500ms", "--bootstrap", "a:1,b:2"});
  EXPECT_TRUE(line.json);
  EXPECT_EQ(line.timeout, std::chrono::milliseconds(500));
  EXPECT_THAT(line.bootstrap, ElementsAre("a:1", "b:2"));
}

TEST_F(CommandLineTest, TopicVerbs) {
  const auto create =
      CommandOf<TopicCreate>({"topic", "create", "orders", "--partitions=3", "--replicas=2"});
  EXPECT_EQ(create.name, "orders");
  EXPECT_EQ(create.partitions, 3u);
  EXPECT_EQ(create.replicas, 2u);
  EXPECT_FALSE(CommandOf<TopicCreate>({"topic", "create", "x"}).partitions.has_value());
  EXPECT_EQ(CommandOf<TopicDelete>({"topic", "delete", "orders", "--id=9"}).topic_id, 9u);
  EXPECT_TRUE(CommandOf<TopicList>({"topic", "list", "--internal"}).internal);
  EXPECT_EQ(CommandOf<TopicDescribe>({"topic", "describe", "orders"}).name, "orders");
}

TEST_F(CommandLineTest, Append_TakesRecordsFromWordsAndFlags) {
  const auto append = CommandOf<Append>({"append", "orders:1", "--key=", "v1", "v2"});
  EXPECT_EQ(append.partition.ToString(), "orders:1");
  EXPECT_EQ(append.key, std::string()) << "an empty key is a key";
  EXPECT_THAT(append.values, ElementsAre("v1", "v2"));
  EXPECT_THAT(CommandOf<Append>({"append", "orders:1", "--value", "v1"}).values, ElementsAre("v1"));
  const auto lines = CommandOf<Append>({"append", "orders:1", "--batch=5"});
  EXPECT_FALSE(lines.key.has_value());
  EXPECT_TRUE(lines.values.empty());
  EXPECT_EQ(lines.batch, 5u);
  EXPECT_TRUE(CommandOf<Append>({"append", "orders:1", "--key=k", "--tombstone"}).tombstone);
  EXPECT_FALSE(lines.expected_offset.has_value());
  EXPECT_EQ(lines.producer, "");
  const auto claim = CommandOf<Append>(
      {"append", "orders:1", "v", "--expected-offset=0", "--producer=controller"});
  EXPECT_EQ(claim.expected_offset, Offset(0));
  EXPECT_EQ(claim.producer, "controller");
}

TEST_F(CommandLineTest, Append_TakesValuesAsTheyAre) {
  for (const char* value :
       {"[\"a\",\"b\"]", "[]", "[[1],[2]]", "[1,2]", "a]", "]", "++", "a b", "{}"}) {
    EXPECT_THAT(CommandOf<Append>({"append", "orders:0", value}).values, ElementsAre(value));
    EXPECT_THAT(CommandOf<Append>({"append", "orders:0", "--value", value, "w"}).values,
                ElementsAre(value, "w"));
    EXPECT_THAT(CommandOf<Append>({"append", "orders:0", "--", value}).values, ElementsAre(value));
    EXPECT_EQ(CommandOf<Append>({"append", "orders:0", "v", "--key", value}).key, value);
  }
  EXPECT_THAT(CommandOf<Append>({"append", "orders:0", "--value=[1]"}).values, ElementsAre("[1]"));
  EXPECT_THAT(CommandOf<Append>({"append", "orders:0", "--", "--a=", "-b", "--"}).values,
              ElementsAre("--a=", "-b", "--"));
  EXPECT_THAT(CommandOf<Append>({"append", "orders:0", ""}).values, ElementsAre(""));
}

TEST_F(CommandLineTest, Tail_TakesAStart) {
  EXPECT_TRUE(std::holds_alternative<TailFromEarliest>(CommandOf<Tail>({"tail", "t:0"}).from));
  EXPECT_TRUE(std::holds_alternative<TailFromLatest>(
      CommandOf<Tail>({"tail", "t:0", "--from=latest"}).from));
  const auto tail = CommandOf<Tail>({"tail", "t:0", "--from=0", "--max=2", "--until-end"});
  EXPECT_EQ(std::get<Offset>(tail.from), Offset(0));
  EXPECT_EQ(tail.max_records, 2);
  EXPECT_TRUE(tail.until_end);
  EXPECT_FALSE(tail.print_epoch);
  EXPECT_TRUE(CommandOf<Tail>({"tail", "t:0", "--follow", "--print-epoch"}).print_epoch);
}

TEST_F(CommandLineTest, Status_TakesATopicAndAnInterval) {
  const auto plain = CommandOf<Status>({"status"});
  EXPECT_FALSE(plain.topic.has_value());
  EXPECT_FALSE(plain.watch.has_value());
  EXPECT_EQ(CommandOf<Status>({"status", "orders"}).topic, "orders");
  EXPECT_EQ(CommandOf<Status>({"status", "--watch"}).watch, std::chrono::seconds(2));
  const auto watch = CommandOf<Status>({"status", "orders", "--watch=500ms"});
  EXPECT_EQ(watch.topic, "orders");
  EXPECT_EQ(watch.watch, std::chrono::milliseconds(500));
}

TEST_F(CommandLineTest, Completion_KnowsTheWords) {
  EXPECT_THAT(CommandOf<Completion>({"completion", "bash"}).script, HasSubstr("--print-epoch"));
  EXPECT_THAT(CommandOf<Completion>({"completion", "zsh"}).script, HasSubstr("#compdef"));
}

TEST_F(CommandLineTest, ClusterVerbs) {
  EXPECT_FALSE(CommandOf<Offsets>({"offsets", "orders"}).target.partition.has_value());
  EXPECT_EQ(CommandOf<Offsets>({"offsets", "orders:0"}).target.partition, 0u);
  const auto quorum = CommandOf<QuorumDescribe>({"quorum", "describe", "orders:2", "--stale-ok"});
  EXPECT_EQ(quorum.target.ToString(), "orders:2");
  EXPECT_TRUE(quorum.stale_ok);
  CommandOf<ClusterDescribe>({"cluster", "describe"});
  EXPECT_EQ(CommandOf<Elect>({"elect", "orders:0", "--to=2"}).node, NodeId(2));
  EXPECT_FALSE(CommandOf<Elect>({"elect", "orders:0", "--preferred"}).node.has_value());
}

TEST_F(CommandLineTest, Mistakes_AreUsageErrorsOnStandardError) {
  const std::vector<std::vector<std::string>> mistakes = {
      {},
      {"nonsense"},
      {"topic"},
      {"topic", "create"},
      {"topic", "create", "t", "--partitions=0"},
      {"topic", "create", "t", "--partitions=10001"},
      {"topic", "create", "t", "--partitions=x"},
      {"topic", "create", "t", "--partitions=010"},
      {"topic", "create", "t", "--partitions=0x10"},
      {"topic", "create", "t", "--replicas=0"},
      {"topic", "delete", "t", "--id=-1"},
      {"topic", "delete", "t", "--id=18446744073709551616"},
      {"append", "orders"},
      {"append", "orders:-1"},
      {"append", "orders:0", "--tombstone"},
      {"append", "orders:0", "--tombstone", "--key=k", "v"},
      {"append", "orders:0", "--batch=0"},
      {"append", "orders:0", "--expected-offset=7"},
      {"append", "orders:0", "v", "--expected-offset=-1"},
      {"append", "orders:0", "v", "--expected-offset=00017"},
      {"append", "orders:0", "v", "--expected-offset=9223372036854775808"},
      {"append", "orders:0", "v", "--producer="},
      {"tail", "orders:0", "--from=-1"},
      {"tail", "orders:0", "--from=4611686018427387904"},
      {"tail", "orders:0", "--from=soon"},
      {"tail", "orders:0", "--max=0"},
      {"tail", "orders:0", "--follow", "--until-end"},
      {"status", "--watch=soon"},
      {"completion"},
      {"completion", "fish"},
      {"offsets", "orders:x"},
      {"elect", "orders:0", "--to=0"},
      {"elect", "orders:0", "--to=2", "--preferred"},
      {"topic", "list", "--timeout=0"},
      {"topic", "list", "--timeout=25h"},
      {"topic", "list", "--timeout=soon"},
      {"topic", "list", "-o", "yaml"},
      {"topic", "list", "--bootstrap=nonsense"},
      {"topic", "list", "--unknown"},
  };
  for (const auto& words : mistakes) {
    const Outcome outcome = Parse(words);
    const std::string text = ::testing::PrintToString(words);
    ASSERT_TRUE(std::holds_alternative<ExitCode>(outcome.parsed)) << text;
    EXPECT_EQ(std::get<ExitCode>(outcome.parsed), ExitCode::kUsage) << text;
    EXPECT_EQ(outcome.out, "") << text;
    EXPECT_THAT(outcome.err, HasSubstr("\n  why: ")) << text;
    EXPECT_THAT(outcome.err, HasSubstr("\n  do:  ")) << text;
  }
}

TEST_F(CommandLineTest, Help_ShowsExamplesBeforeOptionsAndTheExitCodes) {
  const Outcome outcome = Parse({"--help"});
  EXPECT_EQ(std::get<ExitCode>(outcome.parsed), ExitCode::kDone);
  EXPECT_EQ(outcome.err, "");
  const size_t examples = outcome.out.find("Examples:");
  const size_t options = outcome.out.find("Options:");
  ASSERT_NE(examples, std::string::npos);
  ASSERT_NE(options, std::string::npos);
  EXPECT_LT(examples, options);
  EXPECT_THAT(outcome.out, HasSubstr("  5  refused"));
  EXPECT_THAT(outcome.out, HasSubstr("  append      Append records to a partition"));
}

TEST_F(CommandLineTest, HelpOfAVerb_ShowsItsExamples) {
  const Outcome outcome = Parse({"topic", "create", "--help"});
  EXPECT_EQ(std::get<ExitCode>(outcome.parsed), ExitCode::kDone);
  EXPECT_THAT(outcome.out, HasSubstr("quorumctl topic create orders --partitions=3"));
  EXPECT_THAT(outcome.out, HasSubstr("--replicas"));
}

TEST_F(CommandLineTest, Version_IsOneLine) {
  const Outcome outcome = Parse({"--version"});
  EXPECT_EQ(std::get<ExitCode>(outcome.parsed), ExitCode::kDone);
  EXPECT_EQ(outcome.out, "quorumctl 0.1.0\n");
}

TEST(ParseTimeoutTest, Forms) {
  EXPECT_EQ(ParseTimeout("30s"), std::chrono::seconds(30));
  EXPECT_EQ(ParseTimeout("1m30s"), std::chrono::seconds(90));
  EXPECT_EQ(ParseTimeout("2.5"), std::chrono::milliseconds(2500));
  EXPECT_EQ(ParseTimeout("1ms"), std::chrono::milliseconds(1));
  for (const char* bad : {"", "-1s", "0", "0.0001", "inf", "nan", "1e300", "24h1s"}) {
    EXPECT_FALSE(ParseTimeout(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace quorum::client::quorumctl
