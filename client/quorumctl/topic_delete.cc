#include "absl/strings/str_cat.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {

ExitCode RunVerb(const TopicDelete& command, Session& session) {
  const Result<uint64_t> result =
      session.admin.DeleteTopic(command.name, command.topic_id, session.Call());
  if (!result.ok()) {
    return session.Fail(CallKind::kChange, absl::StrCat("delete topic ", command.name),
                        result.error(), "quorumctl topic list");
  }
  session.ClearProgress();
  if (session.json) {
    session.streams.out << Line({{"topicId", absl::StrCat(result.value())}});
  } else {
    session.streams.out << "deleted " << command.name << " (topic id " << result.value() << ")\n";
  }
  return ExitCode::kDone;
}

}  // namespace quorum::client::quorumctl
