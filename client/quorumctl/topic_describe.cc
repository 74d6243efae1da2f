#include <string>

#include "absl/strings/str_cat.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/table.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {
namespace {

std::string StateOf(const Topic::Partition& partition) {
  switch (partition.state()) {
    case v1::PARTITION_STATE_CREATING:
      return "creating";
    case v1::PARTITION_STATE_CREATED:
      return "created";
    default:
      return "";
  }
}

std::string NodesOf(const Topic::Partition& partition) {
  std::string nodes;
  for (const v1::ReplicaName& replica : partition.replicas()) {
    absl::StrAppend(&nodes, nodes.empty() ? "" : ",", replica.node_id());
  }
  return nodes;
}

}  // namespace

ExitCode RunVerb(const TopicDescribe& command, Session& session) {
  const Result<Topic> result = session.admin.DescribeTopic(command.name, session.Call());
  if (!result.ok()) {
    return session.Fail(CallKind::kRead, absl::StrCat("describe topic ", command.name),
                        result.error(), "quorumctl topic list");
  }
  session.ClearProgress();
  const Topic& topic = result.value();
  if (session.json) {
    session.streams.out << Line(ToJson(topic));
    return ExitCode::kDone;
  }
  using Align = Table::Align;
  Table table({{"PARTITION"},
               {"STATE"},
               {"LEADER", Align::kRight},
               {"EPOCH", Align::kRight},
               {"REPLICAS"}});
  for (const auto& partition : topic.partitions()) {
    table.AddRow({absl::StrCat(topic.name(), ":", partition.partition()), StateOf(partition),
                  partition.has_leader_id() ? absl::StrCat(partition.leader_id()) : "",
                  partition.has_leader_epoch() ? absl::StrCat(partition.leader_epoch()) : "",
                  NodesOf(partition)});
  }
  session.streams.out << topic.name() << " (topic id " << topic.topic_id() << ")\n\n"
                      << table.ToString();
  return ExitCode::kDone;
}

}  // namespace quorum::client::quorumctl
