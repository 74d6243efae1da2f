#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/table.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {
ExitCode RunVerb(const TopicList& command, Session& session) {
  Result<std::vector<Topic>> result = session.admin.ListTopics(command.internal, session.Call());
  if (!result.ok()) {
    return session.Fail(CallKind::kRead, "list topics", result.error(),
                        "quorumctl cluster describe");
  }
  session.ClearProgress();
  if (session.json) {
    v1::ListTopicsResponse all;
    for (Topic& topic : result.value()) *all.add_topics() = std::move(topic);
    session.streams.out << Line(ToJson(all));
    return ExitCode::kDone;
  }
  using Align = Table::Align;
  Table table({{"TOPIC"},
               {"PARTITIONS", Align::kRight},
               {"REPLICAS", Align::kRight},
               {"ID", Align::kRight}});
  for (const Topic& topic : result.value()) {
    table.AddRow({topic.name(), absl::StrCat(topic.partition_count()),
                  absl::StrCat(topic.replica_count()), absl::StrCat(topic.topic_id())});
  }
  session.streams.out << table.ToString();
  return ExitCode::kDone;
}

}  // namespace quorum::client::quorumctl
