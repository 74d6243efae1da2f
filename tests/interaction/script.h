// The language of the interaction scripts. A file is a sequence of paragraphs:
//
//   # Comments, and empty lines, stay as they are.
//   cluster voters=3
//   campaign 1
//   ----
//   ... what the commands of this paragraph have put out, up to the next empty line.
//
// Commands (README.md says more): cluster, tick, run, campaign, deliver, stabilize, cut, isolate,
// heal, append, resign, shutdown, hint, crash, restart, hold, sync, status, log, pending, quiet,
// loud. What quiet commands do is not put out; status, log and pending always are.
//
// Thread: the test's.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/interaction/cluster.h"

namespace quorum::interaction {

struct Paragraph {
  // Comments and empty lines before the commands.
  std::string preamble;
  std::vector<std::string> commands;
  std::string expected;
  // Of the first command, from 1.
  int line = 0;
};

std::vector<Paragraph> ParseScript(const std::string& text);
// The inverse of ParseScript.
std::string FormatScript(const std::vector<Paragraph>& paragraphs);

// Runs the commands of one script. A command that makes no sense puts out a line with "error:".
class Interpreter {
 public:
  std::string Run(const std::vector<std::string>& commands);

 private:
  struct Command {
    std::string name;
    std::vector<std::string> words;
    std::map<std::string, std::string> options;
  };

  static Command Parse(const std::string& line);
  // Empty when the command was carried out, else what is wrong with it.
  std::string Execute(const Command& command);
  std::string MakeCluster(const Command& command);
  std::string OnTime(const Command& command);
  std::string OnNetwork(const Command& command);
  std::string OnNode(const Command& command);
  std::string Look(const Command& command);

  std::optional<Cluster> cluster_;
  std::string output_;
  bool quiet_ = false;
};

}  // namespace quorum::interaction
