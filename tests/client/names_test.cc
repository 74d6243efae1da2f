// The bootstrap list and partition names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/bootstrap.h"
#include "client/partition_name.h"

namespace quorum::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BootstrapTest, Entries_AreTrimmedAndKeepTheirOrder) {
  const auto list = ParseBootstrap(" b:2 ,a:1,[::1]:7101,b:2,");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(*list, ElementsAre("b:2", "a:1", "[::1]:7101"));
}

TEST(BootstrapTest, Default_NamesThreeNodes) {
  const auto list = ParseBootstrap(kBootstrapDefault);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(*list, ElementsAre("127.0.0.1:7101", "127.0.0.1:7102", "127.0.0.1:7103"));
}

TEST(BootstrapTest, Malformed_NamesTheEntry) {
  for (const std::string bad : {"node", "node:", ":7101", "node:0", "node:65536", "node:+1",
                                "::1:7101", "http://node:7101", "a b:1", "node: 1"}) {
    const auto list = ParseBootstrap("good:1," + bad);
    ASSERT_FALSE(list.ok()) << bad;
    EXPECT_THAT(std::string(list.status().message()), HasSubstr("\"" + bad + "\""));
  }
  EXPECT_FALSE(ParseBootstrap("").ok());
  EXPECT_FALSE(ParseBootstrap(" , ").ok());
}

TEST(BootstrapTest, TooMany_AreRefused) {
  std::string text;
  for (size_t i = 1; i <= kBootstrapMax; ++i) text += "node:" + std::to_string(i) + ",";
  EXPECT_TRUE(ParseBootstrap(text).ok());
  EXPECT_FALSE(ParseBootstrap(text + "node:9999").ok());
}

TEST(PartitionNameTest, RoundTrip_KeepsBothParts) {
  for (const std::string text : {"orders:0", "a.b-c_d:4294967295", "__metadata:0"}) {
    const auto name = PartitionName::Parse(text);
    ASSERT_TRUE(name.has_value()) << text;
    EXPECT_EQ(name->ToString(), text);
  }
}

TEST(PartitionNameTest, Malformed_IsEmpty) {
  for (const std::string text : {"", "orders", ":0", "orders:", "orders:-1", "orders:+1",
                                 "orders: 1", "orders:1x", "orders:4294967296"}) {
    EXPECT_FALSE(PartitionName::Parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace quorum::client
