#include "service/server/address.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quorum::server {
namespace {

TEST(AddressTest, HostAndPortAreTakenApart) {
  const auto address = ParseAddress("node-1.example:7101");
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->host, "node-1.example");
  EXPECT_EQ(address->port, 7101);
  EXPECT_EQ(address->ToString(), "node-1.example:7101");
}

TEST(AddressTest, AnIpv6HostStandsInBrackets) {
  const auto address = ParseAddress("[2001:db8::1]:80");
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->host, "2001:db8::1");
  EXPECT_EQ(address->ToString(), "[2001:db8::1]:80");
  EXPECT_FALSE(ParseAddress("[]:80").has_value());
  EXPECT_FALSE(ParseAddress("[::1]80").has_value());
}

TEST(AddressTest, ItHasALength) {
  const std::string host(249, 'a');
  EXPECT_TRUE(ParseAddress(host + ":65535").has_value());
  EXPECT_FALSE(ParseAddress(host + "a:65535").has_value());
}

TEST(AddressTest, WildcardsReachNobody) {
  EXPECT_TRUE(ParseAddress("0.0.0.0:1")->IsWildcard());
  EXPECT_TRUE(ParseAddress("[::]:1")->IsWildcard());
  EXPECT_FALSE(ParseAddress("127.0.0.1:1")->IsWildcard());
}

TEST(AddressTest, AListIsSeparatedByCommas) {
  EXPECT_TRUE(ParseAddresses("")->empty());
  EXPECT_EQ(*ParseAddresses("a:1, b:2"), (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_FALSE(ParseAddresses("a:1,").has_value());
}

}  // namespace
}  // namespace quorum::server
