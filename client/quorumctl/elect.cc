#include <string>

#include "client/quorumctl/entries.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {

ExitCode RunVerb(const Elect& command, Session& session) {
  const std::string name = command.partition.ToString();
  v1::ElectLeaderRequest request;
  auto* topic = request.add_topics();
  topic->set_topic(command.partition.topic);
  auto* partition = topic->add_partitions();
  partition->set_partition(command.partition.index);
  if (command.node.has_value()) partition->set_node_id(command.node->value());

  const auto fail = [&](const Error& error) {
    return session.Fail(CallKind::kChange, absl::StrCat("elect a leader of ", name), error,
                        absl::StrCat("quorumctl quorum describe ", name));
  };
  const auto result = session.client.ElectLeader(std::move(request), session.Call());
  if (!result.ok()) return fail(result.error());
  session.ClearProgress();
  const v1::ElectLeaderResponse& response = result.value();
  if (response.topics_size() != 1 || response.topics(0).partitions_size() != 1) {
    Error error;
    error.code = google::rpc::INTERNAL;
    error.message = "the answer does not hold what was asked for";
    return fail(error);
  }
  const auto& entry = response.topics(0).partitions(0);
  if (session.json) {
    session.streams.out << Line(
        Merged(Json{{"topic", command.partition.topic}, {"partition", command.partition.index}},
               ToJson(entry)));
  }
  if (entry.has_error()) return fail(ErrorFromStatus(entry.error()));
  if (!session.json) {
    session.streams.out << name << " is led by node " << entry.leader_id() << " in epoch "
                        << entry.leader_epoch() << "\n";
  }
  return ExitCode::kDone;
}

}  // namespace quorum::client::quorumctl
