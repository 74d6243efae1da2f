#include <string>

#include "absl/strings/str_cat.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {

ExitCode RunVerb(const Elect& command, Session& session) {
  const std::string name = command.partition.ToString();
  const Result<Leadership> result =
      session.admin.ElectLeader(command.partition, command.node, session.Call());
  if (!result.ok()) {
    return session.Fail(CallKind::kChange, absl::StrCat("elect a leader of ", name), result.error(),
                        absl::StrCat("quorumctl quorum describe ", name));
  }
  session.ClearProgress();
  const Leadership& leadership = result.value();
  if (session.json) {
    session.streams.out << Line({{"topic", command.partition.topic},
                                 {"partition", command.partition.index},
                                 {"leaderId", leadership.leader.value()},
                                 {"leaderEpoch", absl::StrCat(leadership.epoch.value())}});
  } else {
    session.streams.out << name << " is led by node " << leadership.leader.value() << " in epoch "
                        << leadership.epoch.value() << "\n";
  }
  if (!command.node.has_value() || *command.node == leadership.leader) return ExitCode::kDone;
  session.streams.err << "quorumctl: node " << command.node->value() << " does not lead " << name
                      << ", another one was faster\n";
  return ExitCode::kFailed;
}

}  // namespace quorum::client::quorumctl
