// The command line: one verb, its positional arguments, and flags, which are set as they are met.
// Unlike the parser of gflags this one returns its errors, so that each ends in exit code 2 and one
// line.
//
//   quorumd VERB [ARGUMENT...] [--name=value | --name value | --name | --noname]...
//
// A '-' in a flag's name is the same as '_'. `--flagfile=PATH` reads flags from a file, one a line;
// empty lines and lines that begin with '#' are skipped. The last setting of a flag counts. Without
// a verb, `serve` is meant.
//
// Thread: main's, before any other is started.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/layout/store_error.h"

namespace quorum::server {

struct CommandLine {
  std::string verb = "serve";
  // What follows the verb and is no flag.
  std::vector<std::string> arguments;
  // Nothing else was looked at behind one of these.
  bool help = false;
  bool version = false;
};

// USAGE for a command line that makes no sense, BAD_FLAG for a value that a flag does not take.
std::optional<storage::StoreError> ParseCommandLine(const std::vector<std::string>& arguments,
                                                    CommandLine* result);

}  // namespace quorum::server
