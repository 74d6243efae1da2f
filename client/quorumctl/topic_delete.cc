#include <utility>

#include "absl/strings/str_cat.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {

ExitCode RunVerb(const TopicDelete& command, Session& session) {
  v1::DeleteTopicRequest request;
  request.set_name(command.name);
  if (command.topic_id.has_value()) request.set_topic_id(*command.topic_id);
  const auto result = session.client.DeleteTopic(std::move(request), session.Call());
  if (!result.ok()) {
    return session.Fail(CallKind::kChange, absl::StrCat("delete topic ", command.name),
                        result.error(), "quorumctl topic list");
  }
  session.ClearProgress();
  if (session.json) {
    session.streams.out << Line(ToJson(result.value()));
  } else {
    session.streams.out << "deleted " << command.name << " (topic id " << result.value().topic_id()
                        << ")\n";
  }
  return ExitCode::kDone;
}

}  // namespace quorum::client::quorumctl
