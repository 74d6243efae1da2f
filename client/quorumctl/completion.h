// The scripts by which a shell completes quorumctl's words. They are made from the command line's
// own definition, so that they know every verb and option, and ask no cluster.
//
// Thread: pure functions.

#pragma once

#include <string>
#include <vector>

namespace quorum::client::quorumctl {

// A word that may stand somewhere, with its help.
struct CompletionWord {
  // Of an option: with the dashes, and with "=" behind it when it takes a value.
  std::string text;
  std::string help;
  // The values of an option that takes one of a few.
  std::vector<std::string> choices = {};
};

// A verb, or the program itself.
struct CompletionVerb {
  std::string name;
  std::string help;
  std::vector<CompletionVerb> verbs = {};
  std::vector<CompletionWord> options = {};
};

// For `source <(quorumctl completion bash)`.
std::string BashCompletion(const CompletionVerb& program);

// For `source <(quorumctl completion zsh)`.
std::string ZshCompletion(const CompletionVerb& program);

}  // namespace quorum::client::quorumctl
