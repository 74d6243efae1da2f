// Pages over a real socket: a few lines of HTTP by hand are less than a client library.

#include "service/server/http_pages.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/server/exit.h"

namespace quorum::server {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port that was free just now.
uint16_t FreePort() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  PCHECK(bind(file, reinterpret_cast<sockaddr*>(&address), size) == 0);
  PCHECK(getsockname(file, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(file);
  return ntohs(address.sin_port);
}

// Everything that the server answers to `request`.
std::string Ask(uint16_t port, const std::string& request) {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = Loopback(port);
  PCHECK(connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  PCHECK(write(file, request.data(), request.size()) == static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t size = read(file, buffer, sizeof(buffer)); size > 0;
       size = read(file, buffer, sizeof(buffer))) {
    answer.append(buffer, static_cast<size_t>(size));
  }
  close(file);
  return answer;
}

class HttpPagesTest : public testing::Test {
 protected:
  HttpPagesTest() {
    HttpPages::Pages pages;
    pages["/count"] = [this] { return HttpAnswer{200, absl::StrCat("count ", ++count_, "\n")}; };
    pages["/sick"] = [] { return HttpAnswer{503, "not now\n"}; };
    const auto error = HttpPages::Start(absl::StrCat("127.0.0.1:", port_), pages, &pages_);
    CHECK(!error.has_value()) << *error;
  }

  const uint16_t port_ = FreePort();
  int count_ = 0;
  std::unique_ptr<HttpPages> pages_;
};

TEST_F(HttpPagesTest, APageIsMadeAnewForEachRequest) {
  EXPECT_TRUE(absl::EndsWith(Ask(port_, "GET /count HTTP/1.0\r\n\r\n"), "\r\n\r\ncount 1\n"));
  const std::string second = Ask(port_, "GET /count HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(absl::StartsWith(second, "HTTP/1.1 200 OK\r\n")) << second;
  EXPECT_TRUE(absl::EndsWith(second, "\r\n\r\ncount 2\n")) << second;
}

TEST_F(HttpPagesTest, HeadHasNoBody) {
  const std::string answer = Ask(port_, "HEAD /count HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(absl::StrContains(answer, "Content-Length: 8\r\n")) << answer;
  EXPECT_TRUE(absl::EndsWith(answer, "\r\n\r\n")) << answer;
}

TEST_F(HttpPagesTest, WhatIsNotServedHasItsStatus) {
  EXPECT_TRUE(absl::StrContains(Ask(port_, "GET /sick HTTP/1.0\r\n\r\n"), " 503 "));
  EXPECT_TRUE(absl::StrContains(Ask(port_, "GET /other HTTP/1.0\r\n\r\n"), " 404 "));
  EXPECT_TRUE(absl::StrContains(Ask(port_, "GET /count/more HTTP/1.0\r\n\r\n"), " 404 "));
  EXPECT_TRUE(
      absl::StrContains(Ask(port_, "POST /count HTTP/1.0\r\nContent-Length: 0\r\n\r\n"), " 405 "));
}

TEST_F(HttpPagesTest, APortInUseIsBadConfiguration) {
  std::unique_ptr<HttpPages> second;
  const auto error = HttpPages::Start(absl::StrCat("127.0.0.1:", port_), {}, &second);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->exit_code, storage::kExitBadConfig);
  EXPECT_EQ(error->reason, kPortInUse);
}

}  // namespace
}  // namespace quorum::server
