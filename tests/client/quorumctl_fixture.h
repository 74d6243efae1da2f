// Runs quorumctl against a scripted node, and keeps what it writes.

#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "client/quorumctl/exit_code.h"
#include "client/quorumctl/quorumctl.h"
#include "client/quorumctl/session.h"
#include "tests/client/fake_node.h"

namespace quorum::client::quorumctl {

struct Output {
  ExitCode code = ExitCode::kDone;
  std::string out;
  std::string err;
};

class QuorumctlTest : public ::testing::Test {
 protected:
  // Runs the words against the node, with `in` as standard input.
  Output Run(std::vector<std::string> words, const std::string& in = "") {
    words.push_back("--bootstrap=" + node_.address());
    std::istringstream input(in);
    std::ostringstream out;
    std::ostringstream err;
    Streams streams{input, out, err};
    const int code = RunQuorumctl(words, streams);
    return {static_cast<ExitCode>(code), out.str(), err.str()};
  }

  // Sets the answer of a call.
  template <typename Request, typename Answer, typename Message>
  static void SetAnswer(Script<Request, Answer>& script, const Message& message) {
    script.Always([message](grpc::ServerContext*, const Request&, Answer answer) {
      *answer = message;
      return grpc::Status::OK;
    });
  }

  template <typename Request, typename Answer>
  static void Fail(Script<Request, Answer>& script, const FakeError& error) {
    script.Always([error](auto...) { return ToStatus(error); });
  }

  FakeNode node_;
};

}  // namespace quorum::client::quorumctl
