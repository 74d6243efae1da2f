// Every flag: what it takes, what it refuses, and what all of them together must make sense of. The
// parser and gflags are the real ones; each test puts the flags back.

#include "service/server/flags.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "service/server/command_line.h"
#include "service/server/exit.h"
#include "service/transport/wire_limits.h"

namespace quorum::server {
namespace {

constexpr char kDirectory[] = "3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a01";

class FlagsTest : public testing::Test {
 protected:
  // The reason why the words are refused; empty when they are not.
  std::string Parse(const std::vector<std::string>& words) {
    const auto error = ParseCommandLine(words, &line_);
    return error.has_value() ? error->reason : "";
  }

  std::string Serve(std::vector<std::string> words) {
    words.insert(words.end(), {"--data-dir=d", "--cluster-id=c", "--node-id=1"});
    const std::string refused = Parse(words);
    if (!refused.empty()) return refused;
    const auto error = LoadServeConfig(&serve_);
    if (!error.has_value()) return "";
    EXPECT_EQ(error->exit_code, storage::kExitBadConfig);
    return error->reason;
  }

  std::string Format(std::vector<std::string> words) {
    words.insert(words.end(), {"format", "--data-dir=d", "--cluster-id=c", "--node-id=1"});
    const std::string refused = Parse(words);
    if (!refused.empty()) return refused;
    const auto error = LoadFormatConfig(&format_);
    return error.has_value() ? error->reason : "";
  }

  std::string WriteFile(const std::string& text) {
    const std::string path = absl::StrCat(getenv("TEST_TMPDIR"), "/flags");
    std::ofstream(path) << text;
    return path;
  }

  // First, so that it is destroyed last.
  gflags::FlagSaver saver_;
  CommandLine line_;
  ServeConfig serve_;
  FormatConfig format_;
};

TEST_F(FlagsTest, ServeIsTheDefaultVerb) {
  EXPECT_EQ(Parse({"--node-id=3"}), "");
  EXPECT_EQ(line_.verb, "serve");
  EXPECT_EQ(Parse({"dump", "--node-id=3", "log"}), "");
  EXPECT_EQ(line_.verb, "dump");
  EXPECT_EQ(line_.arguments, std::vector<std::string>{"log"});
}

TEST_F(FlagsTest, EachWayToWriteAFlagIsTheSame) {
  const std::vector<std::vector<std::string>> ways = {
      {"--node-id=7"}, {"--node_id=7"}, {"-node-id=7"}, {"--node-id", "7"}};
  for (const auto& way : ways) {
    gflags::FlagSaver saver;
    ASSERT_EQ(Serve(way), "");
    // Serve adds another node id behind it, and the last one counts.
    EXPECT_EQ(serve_.node, NodeId(1));
    ASSERT_EQ(Parse(way), "");
    ASSERT_FALSE(LoadServeConfig(&serve_).has_value());
    EXPECT_EQ(serve_.node, NodeId(7)) << way.front();
  }
}

TEST_F(FlagsTest, ABoolNeedsNoValue) {
  ASSERT_EQ(Parse({"--check-config"}), "");
  EXPECT_TRUE(CheckConfigOnly());
  ASSERT_EQ(Parse({"--nocheck-config"}), "");
  EXPECT_FALSE(CheckConfigOnly());
  EXPECT_EQ(Parse({"--check-config=perhaps"}), kBadFlag);
}

TEST_F(FlagsTest, WhatMakesNoSenseIsUsage) {
  EXPECT_EQ(Parse({"--no-such-flag=1"}), kUsage);
  EXPECT_EQ(Parse({"--nonode-id"}), kUsage);
  EXPECT_EQ(Parse({"--node-id"}), kUsage);
  EXPECT_EQ(Parse({"--flagfile=/does/not/exist"}), kUsage);
  EXPECT_EQ(Parse({"--flagfile=/"}), kUsage) << "a directory opens and has no lines";
}

TEST_F(FlagsTest, WhatTheFlagLibraryWouldDoIsNotDone) {
  for (const std::string name : {"fromenv", "tryfromenv", "undefok", "helpfull", "helpon"}) {
    EXPECT_EQ(Parse({"--" + name + "=x"}), kUsage) << name;
  }
}

TEST_F(FlagsTest, HelpAndVersionEndTheParsing) {
  ASSERT_EQ(Parse({"serve", "--help", "--no-such-flag"}), "");
  EXPECT_TRUE(line_.help);
  ASSERT_EQ(Parse({"--version", "--no-such-flag"}), "");
  EXPECT_TRUE(line_.version);
}

TEST_F(FlagsTest, AFlagFileSetsFlags) {
  const std::string path =
      WriteFile("# The node.\n--data-dir=here\n\n  --node-id=4\n--cluster_id=one two\n");
  ASSERT_EQ(Parse({"--flagfile=" + path}), "");
  ASSERT_FALSE(LoadServeConfig(&serve_).has_value());
  EXPECT_EQ(serve_.data_dir, "here");
  EXPECT_EQ(serve_.node, NodeId(4));
  EXPECT_EQ(serve_.cluster_id, "one two");
}

TEST_F(FlagsTest, AFlagFileIsJudgedLikeTheCommandLine) {
  EXPECT_EQ(Parse({"--flagfile=" + WriteFile("--node-id=-1\n")}), kBadFlag);
  EXPECT_EQ(Parse({"--flagfile=" + WriteFile("--node-id\n")}), kUsage);
  EXPECT_EQ(Parse({"--flagfile=" + WriteFile("node-id=1\n")}), kUsage);
  EXPECT_EQ(Parse({"--flagfile=" + WriteFile("--flagfile=other\n")}), kUsage);
}

TEST_F(FlagsTest, TheLastSettingCounts) {
  ASSERT_EQ(Serve({"--fetch-timeout-ms=3000", "--fetch-timeout-ms=4000"}), "");
  EXPECT_EQ(serve_.raft.fetch_timeout, std::chrono::seconds(4));
}

TEST_F(FlagsTest, IdentityIsRequired) {
  EXPECT_TRUE(LoadServeConfig(&serve_).has_value());
  ASSERT_EQ(Parse({"--data-dir=d", "--cluster-id=c"}), "");
  const auto error = LoadServeConfig(&serve_);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->reason, kBadFlag);
  EXPECT_TRUE(absl::StrContains(error->message, "--node-id")) << error->message;
}

TEST_F(FlagsTest, TheListenAddressIsAdvertisedUnlessItIsAWildcard) {
  ASSERT_EQ(Serve({"--listen-address=10.0.0.1:7000"}), "");
  EXPECT_EQ(serve_.advertised_address, "10.0.0.1:7000");
  EXPECT_EQ(Serve({"--listen-address=0.0.0.0:7000"}), kBadConfig);
  EXPECT_EQ(Serve({"--listen-address=[::]:7000"}), kBadConfig);
  EXPECT_EQ(Serve({"--listen-address=0.0.0.0:7000", "--advertised-address=pod-0:7000"}), "");
  EXPECT_EQ(serve_.advertised_address, "pod-0:7000");
}

TEST_F(FlagsTest, TimesThatContradictEachOtherAreRefused) {
  EXPECT_EQ(Serve({"--election-timeout-ms=2000", "--fetch-timeout-ms=2000"}), kBadConfig);
  EXPECT_EQ(Serve({"--election-timeout-ms=1000", "--fetch-max-wait-ms=1000"}), kBadConfig);
}

TEST_F(FlagsTest, ADiskIsGivenUpAfterAMinuteOrAsAsked) {
  ASSERT_EQ(Serve({}), "");
  EXPECT_EQ(serve_.disk_stuck_exit_after, std::chrono::seconds(60));
  ASSERT_EQ(Serve({"--disk-stuck-exit-after-ms=2001"}), "");
  EXPECT_EQ(serve_.disk_stuck_exit_after, std::chrono::milliseconds(2001));
  EXPECT_EQ(Serve({"--fetch-timeout-ms=600000"}), "") << "whichever comes first";
}

TEST_F(FlagsTest, ARecordFitsIntoABatch) {
  EXPECT_EQ(Serve({"--record-bytes-max=2048", "--batch-bytes-max=1024"}), kBadConfig);
  EXPECT_EQ(Serve({"--record-bytes-max=2048", "--batch-bytes-max=2048"}), "");
}

// A fetch goes over its limit by one batch at most, and 1 MiB is for the fields around the records.
TEST_F(FlagsTest, WhatIsFetchedFitsIntoAMessageBetweenNodes) {
  constexpr int64_t kBatchBytesMax = 8 << 20;
  EXPECT_EQ(Serve({absl::StrCat("--batch-bytes-max=", kBatchBytesMax)}), "");
  EXPECT_NE(Serve({absl::StrCat("--batch-bytes-max=", kBatchBytesMax + 1)}), "");
  constexpr int64_t kFits = transport::kPeerMessageBytesMax - kBatchBytesMax - (1 << 20);
  EXPECT_EQ(Serve({absl::StrCat("--fetch-bytes-max=", kFits)}), "");
  EXPECT_EQ(Serve({absl::StrCat("--fetch-bytes-max=", kFits + 1)}), kBadFlag);
}

TEST_F(FlagsTest, AFounderTakesItsDirectoryFromTheVoters) {
  ASSERT_EQ(Format({absl::StrCat("--initial-voters=1@h:7101:", kDirectory)}), "");
  EXPECT_EQ(format_.request.directory, *DirectoryId::Parse(kDirectory));
  EXPECT_TRUE(format_.request.directory_given);
  ASSERT_TRUE(format_.request.initial_voters.has_value());
  EXPECT_EQ(format_.request.initial_voters->begin()->endpoint, "h:7101");
}

TEST_F(FlagsTest, FormatFoundsOrJoins) {
  const std::string voters = absl::StrCat("--initial-voters=1@h:7101:", kDirectory);
  EXPECT_EQ(Format({}), kBadFlag);
  EXPECT_EQ(Format({"--join", voters}), kBadFlag);
  EXPECT_EQ(Format({"--nojoin", absl::StrCat("--initial-voters=2@h:7101:", kDirectory)}),
            kBadConfig);
}

TEST_F(FlagsTest, AJoinerMayLeaveTheDirectoryToChance) {
  ASSERT_EQ(Format({"--join"}), "");
  EXPECT_TRUE(format_.request.directory.IsZero());
  EXPECT_FALSE(format_.request.initial_voters.has_value());
}

TEST_F(FlagsTest, DumpOfALogNeedsAPartition) {
  DumpConfig dump;
  ASSERT_EQ(Parse({"dump", "log", "--data-dir=d"}), "");
  EXPECT_TRUE(LoadDumpConfig("log", &dump).has_value());
  EXPECT_FALSE(LoadDumpConfig("node", &dump).has_value());
  EXPECT_FALSE(LoadDumpConfig("quorum-state", &dump).has_value());
  EXPECT_TRUE(LoadDumpConfig("snapshot", &dump).has_value());
  ASSERT_EQ(Parse({"dump", "log", "--partition=17:3", "--from-offset=5"}), "");
  ASSERT_FALSE(LoadDumpConfig("log", &dump).has_value());
  EXPECT_EQ(dump.partition, (PartitionId{TopicId(17), 3}));
  EXPECT_EQ(dump.from, Offset(5));
}

TEST_F(FlagsTest, HelpNamesEachFlagWithItsDefault) {
  const std::string help = HelpText();
  EXPECT_TRUE(absl::StrContains(help, "--election-timeout-ms (int64, default 1000)")) << help;
  EXPECT_TRUE(absl::StrContains(help, "Range [20, 600000]."));
  EXPECT_FALSE(absl::StrContains(help, "--logtostderr"));
}

// Every number has a range in its help, and the range is what is checked.
TEST_F(FlagsTest, EachNumberIsCheckedAgainstTheRangeThatItNames) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  int checked = 0;
  for (const auto& flag : flags) {
    if (!absl::EndsWith(flag.filename, "service/server/flags.cc") || flag.type != "int64") continue;
    long long low = 0;
    long long high = 0;
    const size_t range = flag.description.find("Range [");
    ASSERT_NE(range, std::string::npos) << flag.name;
    ASSERT_EQ(sscanf(flag.description.c_str() + range, "Range [%lld, %lld].", &low, &high), 2);
    for (const long long good : {low, high}) {
      EXPECT_EQ(Parse({absl::StrCat("--", flag.name, "=", good)}), "") << flag.name << good;
    }
    for (const long long bad : {low - 1, high + 1}) {
      EXPECT_EQ(Parse({absl::StrCat("--", flag.name, "=", bad)}), kBadFlag) << flag.name << bad;
    }
    EXPECT_EQ(Parse({absl::StrCat("--", flag.name, "=many")}), kBadFlag) << flag.name;
    EXPECT_EQ(Parse({absl::StrCat("--", flag.name, "=")}), kBadFlag) << flag.name;
    ++checked;
  }
  EXPECT_GT(checked, 15);
}

struct TextCase {
  const char* flag;
  const char* value;
};

class BadTextTest : public FlagsTest, public testing::WithParamInterface<TextCase> {};

TEST_P(BadTextTest, IsRefused) {
  EXPECT_EQ(Parse({absl::StrCat("--", GetParam().flag, "=", GetParam().value)}), kBadFlag);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadTextTest,
    testing::Values(TextCase{"listen-address", ""}, TextCase{"listen-address", "7101"},
                    TextCase{"listen-address", ":7101"}, TextCase{"listen-address", "host:0"},
                    TextCase{"listen-address", "host:65536"}, TextCase{"listen-address", "host:+1"},
                    TextCase{"listen-address", "ho st:1"}, TextCase{"listen-address", "::1:7101"},
                    TextCase{"http-address", "host"}, TextCase{"advertised-address", "host:"},
                    TextCase{"bootstrap", "a:1,b"}, TextCase{"bootstrap", "a:1,,b:2"},
                    TextCase{"directory-id", "3f2a41bd"},
                    TextCase{"directory-id", "00000000-0000-0000-0000-000000000000"},
                    TextCase{"initial-voters", "1@h:1"},
                    TextCase{"initial-voters", "0@h:1:3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a01"},
                    TextCase{"initial-voters", "1@0.0.0.0:1:3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a01"},
                    TextCase{"initial-voters",
                             "1@h:1:3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a01,"
                             "1@h:2:3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a02"},
                    TextCase{"partition", "orders:0"}, TextCase{"partition", "0:0"},
                    TextCase{"partition", "1"}, TextCase{"format", "xml"}));

}  // namespace
}  // namespace quorum::server
