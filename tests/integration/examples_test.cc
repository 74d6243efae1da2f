// The example programs of the client library, as a user would run them: a topic is made, events are
// appended while the leader is killed, one reader follows them, and another begins in the middle.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/integration/cluster.h"
#include "tests/integration/process.h"

namespace quorum::integration {
namespace {

using testing::HasSubstr;

std::string ExamplePath(const std::string& name) {
  return ProgramPath(absl::StrCat("client/examples/cpp/", name));
}

std::string BootstrapOf(Cluster* cluster) {
  std::vector<std::string> addresses;
  for (const int32_t id : cluster->ids()) addresses.push_back(cluster->node(id).address());
  return absl::StrJoin(addresses, ",");
}

TEST(ExamplesTest, DoWhatTheySay) {
  Cluster cluster{ClusterOptions()};
  ASSERT_TRUE(cluster.Start());
  const std::string bootstrap = BootstrapOf(&cluster);

  ProgramResult admin = RunProgram({ExamplePath("admin"), bootstrap, "orders"});
  EXPECT_THAT(admin.output, HasSubstr("created orders\n")) << admin.error;
  ASSERT_TRUE(cluster.AwaitAllLed("orders"));
  // Now that all are led, and a second time, which finds the topic.
  admin = RunProgram({ExamplePath("admin"), bootstrap, "orders"});
  EXPECT_EQ(admin.exit_code, 0) << admin.output << admin.error;
  EXPECT_THAT(admin.output, HasSubstr("orders:2 is led by node "));

  Leadership before;
  ASSERT_TRUE(cluster.AwaitLeader("orders", 0, &before));
  const std::string followed = absl::StrCat(MakeScratchFolder("consumer"), "/log");
  Process follower({ExamplePath("consumer"), bootstrap, "orders:0", "20000"}, followed);
  ASSERT_TRUE(Await("a reader that is up to date", [&]() -> std::string {
    return ReadFile(followed).empty() ? "nothing read" : "";
  }));
  const std::string log = absl::StrCat(MakeScratchFolder("producer"), "/log");
  Process producer({ExamplePath("producer"), bootstrap, "orders:0", "20000"}, log);
  // Somewhere within its run.
  ASSERT_TRUE(Await("events in the log", [&]() -> std::string {
    PartitionQuorum quorum;
    if (!cluster.AwaitQuorum("orders", 0, &quorum)) return "no quorum";
    return quorum.high_watermark() > 500 ? "" : "too few events";
  }));
  cluster.node(before.leader).Kill();
  int code = -1;
  ASSERT_TRUE(producer.AwaitExit(&code)) << ReadFile(log);
  EXPECT_EQ(code, 0) << ReadFile(log);
  EXPECT_THAT(ReadFile(log), HasSubstr("20000 committed, 0 refused, 0 unknown\n"));

  ASSERT_TRUE(follower.AwaitExit(&code)) << ReadFile(followed);
  EXPECT_EQ(code, 0);
  EXPECT_THAT(ReadFile(followed), HasSubstr("up to date: 0 records"));
  EXPECT_THAT(ReadFile(followed), HasSubstr("at the end: 20000 records"));

  const ProgramResult late =
      RunProgram({ExamplePath("consumer"), bootstrap, "orders:0", "1", "10000"});
  EXPECT_EQ(late.exit_code, 0) << late.error;
  EXPECT_THAT(late.output, HasSubstr("up to date: "));
}

TEST(ExamplesTest, WrongArguments_ShowTheUsage) {
  for (const char* name : {"admin", "consumer", "producer"}) {
    const ProgramResult result = RunProgram({ExamplePath(name), "nonsense"});
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_THAT(result.error, HasSubstr("usage: ")) << name;
  }
}

}  // namespace
}  // namespace quorum::integration
