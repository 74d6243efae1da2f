#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/quorumctl/entries.h"
#include "client/quorumctl/status_rows.h"
#include "client/quorumctl/table.h"
#include "client/quorumctl/verbs.h"
#include "service/base/mutex.h"

namespace quorum::client::quorumctl {
namespace {

// Moves to the top left corner and erases what is there.
constexpr char kClearScreen[] = "\033[H\033[2J";
// Lines around the rows: the summary, two empty ones, the titles, the remainder, the prompt.
constexpr size_t kOtherLines = 6;

// So many are described in one answer, well below what a message may hold.
constexpr size_t kPartitionsTogether = 2'000;

// What one look at the cluster found.
struct Look {
  ClusterDescription cluster;
  std::vector<StatusRow> rows;
};

// Names of topics that are asked for together.
Result<std::vector<std::vector<std::string>>> Questions(const Status& command,
                                                        const Session& session) {
  std::vector<std::vector<std::string>> questions;
  if (command.topic.has_value()) {
    questions.push_back({*command.topic});
    return questions;
  }
  const auto listed = session.admin.ListTopics(/*internal=*/true, session.Call());
  if (!listed.ok()) return listed.error();
  size_t room = 0;
  for (const Topic& topic : listed.value()) {
    if (questions.empty() || topic.partition_count() > room) {
      questions.emplace_back();
      room = kPartitionsTogether;
    }
    questions.back().push_back(topic.name());
    room -= std::min<size_t>(room, topic.partition_count());
  }
  return questions;
}

Result<Look> LookAt(const Status& command, const Session& session) {
  Result<ClusterDescription> cluster = session.admin.DescribeCluster(session.Call());
  if (!cluster.ok()) return cluster.error();
  Look look;
  look.cluster = std::move(cluster.value());
  const auto questions = Questions(command, session);
  if (!questions.ok()) return questions.error();
  for (const std::vector<std::string>& topics : questions.value()) {
    auto quorums = session.admin.DescribeQuorums(topics, View::kLeader, session.Call());
    if (!quorums.ok()) return quorums.error();
    for (TopicQuorums& topic : quorums.value()) {
      const std::optional<Error> error = EntryErrorOf(topic);
      // A topic that was deleted meanwhile is no fault.
      const bool gone = !command.topic.has_value() && error.has_value() &&
                        error->reason == v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION;
      if (error.has_value() && !gone) return *error;
      AddRows(std::move(topic), &look.rows);
    }
  }
  SortRows(&look.rows);
  return look;
}

std::string Summary(const Look& look) {
  const ClusterDescription& cluster = look.cluster;
  // Only a controller knows who lives.
  const bool known = std::any_of(cluster.nodes().begin(), cluster.nodes().end(),
                                 [](const auto& node) { return node.has_live(); });
  const auto live = std::count_if(cluster.nodes().begin(), cluster.nodes().end(),
                                  [](const auto& node) { return node.live(); });
  const std::string controller = Cell(cluster.has_controller_id(), cluster.controller_id());
  const auto count = [&look](StatusRow::State state) {
    return std::count_if(look.rows.begin(), look.rows.end(),
                         [state](const StatusRow& row) { return row.state == state; });
  };
  return absl::StrCat("cluster ", cluster.cluster_id(), "  nodes ",
                      known ? absl::StrCat(live) : "?", " of ", cluster.nodes_size(),
                      " live  controller ", controller.empty() ? "-" : controller, "  partitions ",
                      look.rows.size(), ": ", count(StatusRow::State::kLeaderless), " leaderless, ",
                      count(StatusRow::State::kBehind), " behind, ", count(StatusRow::State::kWell),
                      " well\n");
}

std::string RowsTable(const Look& look, size_t rows_max) {
  using Align = Table::Align;
  Table table({{"PARTITION"},
               {"STATE"},
               {"LEADER", Align::kRight},
               {"EPOCH", Align::kRight},
               {"HIGH WATERMARK", Align::kRight},
               {"LAG", Align::kRight},
               {"VOTERS"},
               {"OBSERVERS"}});
  for (size_t i = 0; i < std::min(rows_max, look.rows.size()); ++i) {
    const StatusRow& row = look.rows[i];
    const PartitionQuorum& quorum = row.quorum;
    table.AddRow({row.partition.ToString(), StateName(row),
                  Cell(quorum.has_leader_id(), quorum.leader_id()),
                  Cell(quorum.has_leader_epoch(), quorum.leader_epoch()),
                  Cell(quorum.has_high_watermark(), quorum.high_watermark()),
                  Cell(row.lag.has_value(), row.lag.value_or(0)), NodesOf(quorum.current_voters()),
                  NodesOf(quorum.observers())});
  }
  std::string text = table.ToString();
  if (look.rows.size() > rows_max) {
    absl::StrAppend(&text, "and ", look.rows.size() - rows_max, " more\n");
  }
  return text;
}

std::string JsonOf(const Look& look) {
  Json partitions = Json::array();
  for (const StatusRow& row : look.rows) {
    Json entry = {{"topic", row.partition.topic},
                  {"partition", row.partition.index},
                  {"state", StateName(row)}};
    if (row.lag.has_value()) entry["lag"] = absl::StrCat(*row.lag);
    partitions.push_back(Merged(std::move(entry), ToJson(row.quorum)));
  }
  Json json;
  json["cluster"] = ToJson(look.cluster);
  json["partitions"] = std::move(partitions);
  return Line(json);
}

ExitCode ShowOnce(const Status& command, Session& session) {
  const Result<Look> look = LookAt(command, session);
  session.ClearProgress();
  const bool redraw = command.watch.has_value() && session.streams.out_rows > 0 && !session.json;
  if (redraw) session.streams.out << kClearScreen;
  if (!look.ok()) {
    return session.Fail(CallKind::kRead, "status", look.error(), "quorumctl cluster describe");
  }
  const size_t screen = session.streams.out_rows;
  const size_t rows_max = screen == 0 ? SIZE_MAX : screen - std::min(screen - 1, kOtherLines);
  session.streams.out << (session.json ? JsonOf(look.value())
                                       : absl::StrCat(Summary(look.value()), "\n",
                                                      RowsTable(look.value(), rows_max)))
                      << std::flush;
  const auto& rows = look.value().rows;
  const bool leaderless = !rows.empty() && rows.front().state == StatusRow::State::kLeaderless;
  return leaderless ? ExitCode::kUnhealthy : ExitCode::kDone;
}

}  // namespace

ExitCode RunVerb(const Status& command, Session& session) {
  if (!command.watch.has_value()) return ShowOnce(command, session);
  Mutex mutex;
  CondVar never;
  for (;;) {
    const ExitCode code = ShowOnce(command, session);
    // The reader of a pipe has gone.
    if (!session.streams.out) return code;
    if (code == ExitCode::kNotFound) return code;
    MutexLock lock(&mutex);
    never.WaitFor(&mutex, *command.watch);
    if (!session.json && session.streams.out_rows == 0) session.streams.out << "\n";
  }
}

}  // namespace quorum::client::quorumctl
