#include "client/quorumctl/quorumctl.h"

#include <variant>

#include "client/quorum_client.h"
#include "client/quorumctl/command_line.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {

int RunQuorumctl(const std::vector<std::string>& words, Streams& streams) {
  const std::variant<CommandLine, ExitCode> parsed =
      ParseCommandLine(words, streams.out, streams.err);
  if (const ExitCode* ended = std::get_if<ExitCode>(&parsed)) return static_cast<int>(*ended);
  const CommandLine& line = *std::get_if<CommandLine>(&parsed);
  ClientOptions options;
  options.bootstrap = line.bootstrap;
  // The list's order is the user's.
  options.spread = false;
  QuorumClient client(options);
  Session session{client, Admin(client), streams, line.timeout, line.json};
  const ExitCode code = std::visit(
      [&session](const auto& command) { return RunVerb(command, session); }, line.command);
  streams.out.flush();
  return static_cast<int>(code);
}

}  // namespace quorum::client::quorumctl
