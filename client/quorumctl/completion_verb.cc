#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {

ExitCode RunVerb(const Completion& command, Session& session) {
  session.streams.out << command.script;
  return ExitCode::kDone;
}

}  // namespace quorum::client::quorumctl
