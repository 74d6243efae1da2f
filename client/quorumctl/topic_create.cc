#include <utility>

#include "absl/strings/str_cat.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {

ExitCode RunVerb(const TopicCreate& command, Session& session) {
  v1::CreateTopicRequest request;
  request.set_name(command.name);
  if (command.partitions.has_value()) request.set_partitions(*command.partitions);
  if (command.replicas.has_value()) request.set_replicas(*command.replicas);
  const auto result = session.client.CreateTopic(std::move(request), session.Call());
  if (!result.ok()) {
    return session.Fail(CallKind::kChange, absl::StrCat("create topic ", command.name),
                        result.error(), absl::StrCat("quorumctl topic describe ", command.name));
  }
  session.ClearProgress();
  const v1::TopicDescription& topic = result.value().topic();
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
