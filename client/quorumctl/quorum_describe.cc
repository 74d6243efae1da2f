#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "client/quorumctl/entries.h"
#include "client/quorumctl/table.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {
namespace {

using ReplicaState = v1::DescribeQuorumResponse::ReplicaState;

std::string RoleOf(const ReplicaState& replica) {
  // REPLICA_ROLE_LEADER -> leader.
  constexpr char kPrefix[] = "REPLICA_ROLE_";
  if (replica.role() == v1::REPLICA_ROLE_UNSPECIFIED) return "";
  const std::string name = v1::ReplicaRole_Name(replica.role());
  return name.empty() ? "" : absl::AsciiStrToLower(name.substr(sizeof(kPrefix) - 1));
}

std::string Age(bool present, const google::protobuf::Duration& age) {
  if (!present) return "";
  return absl::StrFormat(
      "%.2fs", static_cast<double>(age.seconds()) + static_cast<double>(age.nanos()) / 1e9);
}

void AddReplica(const PartitionQuorum& partition, const ReplicaState& replica, const char* kind,
                Table* table) {
  const bool lag_known = partition.has_log_end_offset() && replica.has_log_end_offset();
  table->AddRow({absl::StrCat(replica.node_id()), kind, RoleOf(replica),
                 Cell(replica.has_log_end_offset(), replica.log_end_offset()),
                 Cell(lag_known, partition.log_end_offset() - replica.log_end_offset()),
                 Age(replica.has_last_fetch_age(), replica.last_fetch_age()),
                 Age(replica.has_last_caught_up_age(), replica.last_caught_up_age()),
                 replica.directory_id()});
}

// One line of facts and a table of replicas.
std::string OnePartition(const std::string& topic, const PartitionQuorum& partition) {
  using Align = Table::Align;
  const auto fact = [](bool present, int64_t value) {
    return present ? absl::StrCat(value) : std::string("-");
  };
  std::string text = absl::StrCat(
      topic, ":", partition.partition(), "  leader ",
      fact(partition.has_leader_id(), partition.leader_id()), "  epoch ",
      fact(partition.has_leader_epoch(), partition.leader_epoch()), "  high watermark ",
      fact(partition.has_high_watermark(), partition.high_watermark()), "  log ",
      fact(partition.has_log_start_offset(), partition.log_start_offset()), " to ",
      fact(partition.has_log_end_offset(), partition.log_end_offset()),
      partition.stale() ? "  (stale: not the leader's view)" : "", "\n\n");
  Table table({{"NODE", Align::kRight},
               {"KIND"},
               {"ROLE"},
               {"LOG END", Align::kRight},
               {"LAG", Align::kRight},
               {"FETCHED", Align::kRight},
               {"CAUGHT UP", Align::kRight},
               {"DIRECTORY"}});
  for (const auto& replica : partition.current_voters()) {
    AddReplica(partition, replica, "voter", &table);
  }
  for (const auto& replica : partition.observers()) {
    AddReplica(partition, replica, "observer", &table);
  }
  return text + table.ToString();
}

// A line per partition.
std::string ManyPartitions(const TopicQuorums& topic) {
  using Align = Table::Align;
  Table table({{"PARTITION"},
               {"LEADER", Align::kRight},
               {"EPOCH", Align::kRight},
               {"HIGH WATERMARK", Align::kRight},
               {"LOG END", Align::kRight},
               {"VOTERS"},
               {"OBSERVERS"},
               {"ERROR"}});
  const auto nodes_of = [](const auto& replicas) {
    std::string nodes;
    for (const ReplicaState& replica : replicas) {
      absl::StrAppend(&nodes, nodes.empty() ? "" : ",", replica.node_id());
    }
    return nodes;
  };
  for (const PartitionQuorum& partition : topic.partitions()) {
    table.AddRow({absl::StrCat(topic.topic(), ":", partition.partition()),
                  Cell(partition.has_leader_id(), partition.leader_id()),
                  Cell(partition.has_leader_epoch(), partition.leader_epoch()),
                  Cell(partition.has_high_watermark(), partition.high_watermark()),
                  Cell(partition.has_log_end_offset(), partition.log_end_offset()),
                  nodes_of(partition.current_voters()), nodes_of(partition.observers()),
                  partition.has_error() ? ErrorFromStatus(partition.error()).ReasonName() : ""});
  }
  return table.ToString();
}

}  // namespace

ExitCode RunVerb(const QuorumDescribe& command, Session& session) {
  const Target& target = command.target;
  const Result<TopicQuorums> result = session.admin.DescribeTopicQuorums(
      target.topic, PartitionsOf(target), command.stale_ok ? View::kAnyNode : View::kLeader,
      session.Call());
  if (!result.ok()) {
    return session.Fail(CallKind::kRead, absl::StrCat("describe quorum ", target.ToString()),
                        result.error(), "quorumctl topic list");
  }
  session.ClearProgress();
  const TopicQuorums& topic = result.value();
  if (session.json) {
    WriteJson(target, topic, session);
  } else if (!target.partition.has_value()) {
    session.streams.out << ManyPartitions(topic);
  } else if (!topic.partitions(0).has_error()) {
    session.streams.out << OnePartition(topic.topic(), topic.partitions(0));
  }
  return EntriesCode("describe quorum", topic, session);
}

}  // namespace quorum::client::quorumctl
