#include "absl/strings/str_cat.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {

ExitCode RunVerb(const TopicCreate& command, Session& session) {
  const Result<Topic> result = session.admin.CreateTopic(
      {command.name, command.partitions, command.replicas}, session.Call());
  if (!result.ok()) {
    return session.Fail(CallKind::kChange, absl::StrCat("create topic ", command.name),
                        result.error(), absl::StrCat("quorumctl topic describe ", command.name));
  }
  session.ClearProgress();
  const Topic& topic = result.value();
  if (session.json) {
    session.streams.out << Line(ToJson(topic));
  } else {
    session.streams.out << "created " << topic.name() << " (topic id " << topic.topic_id()
                        << "): partitions " << topic.partition_count() << ", replicas "
                        << topic.replica_count() << "\n";
  }
  return ExitCode::kDone;
}

}  // namespace quorum::client::quorumctl
