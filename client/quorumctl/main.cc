// The program quorumctl.

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "client/quorumctl/quorumctl.h"

int main(int argc, char** argv) {
  // gRPC's own log lines say nothing that the errors here do not say better.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  std::ios::sync_with_stdio(false);
  quorum::client::quorumctl::Streams streams{std::cin, std::cout, std::cerr};
  streams.err_is_terminal = isatty(STDERR_FILENO) == 1;
  streams.in_is_terminal = isatty(STDIN_FILENO) == 1;
  winsize size = {};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    streams.out_rows = size.ws_row;
  }
  return quorum::client::quorumctl::RunQuorumctl(std::vector<std::string>(argv + 1, argv + argc),
                                                 streams);
}
