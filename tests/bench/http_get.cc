#include "tests/bench/http_get.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace quorum::bench {
namespace {

bool FillAddress(const std::string& address, sockaddr_in* filled) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port)) {
    return false;
  }
  filled->sin_family = AF_INET;
  filled->sin_port = htons(static_cast<uint16_t>(port));
  return inet_pton(AF_INET, address.substr(0, colon).c_str(), &filled->sin_addr) == 1;
}

std::string Exchange(int socket_fd, const sockaddr_in& server, const std::string& request) {
  const timeval time_max = {5, 0};
  setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &time_max, sizeof(time_max));
  setsockopt(socket_fd, SOL_SOCKET, SO_SNDTIMEO, &time_max, sizeof(time_max));
  std::string answer;
  if (connect(socket_fd, reinterpret_cast<const sockaddr*>(&server), sizeof(server)) != 0) {
    return answer;
  }
  if (send(socket_fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) return answer;
  char piece[65536];
  ssize_t size = 0;
  while ((size = recv(socket_fd, piece, sizeof(piece), 0)) > 0) {
    answer.append(piece, static_cast<size_t>(size));
  }
  return answer;
}

}  // namespace

std::optional<std::string> HttpGet(const std::string& address, const std::string& path) {
  sockaddr_in server = {};
  if (!FillAddress(address, &server)) return std::nullopt;
  const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_fd < 0) return std::nullopt;
  // Version 1.0: the server neither keeps the connection nor cuts the body into chunks.
  const std::string answer = Exchange(
      socket_fd, server, absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: ", address, "\r\n\r\n"));
  close(socket_fd);
  const size_t body = answer.find("\r\n\r\n");
  const bool is_ok =
      absl::StartsWith(answer, "HTTP/1.0 200") || absl::StartsWith(answer, "HTTP/1.1 200");
  if (!is_ok || body == std::string::npos) return std::nullopt;
  return answer.substr(body + 4);
}

}  // namespace quorum::bench
