// The verbs of quorumctl, each in the file of its name. A verb makes its calls, writes its data and
// returns the exit code.
//
// Thread: the main thread.

#pragma once

#include "client/quorumctl/command_line.h"
#include "client/quorumctl/exit_code.h"
#include "client/quorumctl/session.h"

namespace quorum::client::quorumctl {

ExitCode RunVerb(const TopicCreate& command, Session& session);
ExitCode RunVerb(const TopicDelete& command, Session& session);
ExitCode RunVerb(const TopicList& command, Session& session);
ExitCode RunVerb(const TopicDescribe& command, Session& session);
ExitCode RunVerb(const Append& command, Session& session);
ExitCode RunVerb(const Tail& command, Session& session);
ExitCode RunVerb(const Offsets& command, Session& session);
ExitCode RunVerb(const QuorumDescribe& command, Session& session);
ExitCode RunVerb(const ClusterDescribe& command, Session& session);
ExitCode RunVerb(const Elect& command, Session& session);
ExitCode RunVerb(const Status& command, Session& session);
ExitCode RunVerb(const Completion& command, Session& session);

}  // namespace quorum::client::quorumctl
