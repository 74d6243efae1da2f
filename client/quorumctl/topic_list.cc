#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/table.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {
namespace {

constexpr int kPageSize = 1000;
// Far more than a cluster holds: a server whose pages never end must not be followed for ever.
constexpr int kPagesMax = 10000;

}  // namespace

ExitCode RunVerb(const TopicList& command, Session& session) {
  v1::ListTopicsResponse all;
  v1::ListTopicsRequest request;
  request.set_page_size(kPageSize);
  request.set_include_internal(command.internal);
  for (int page = 0; page < kPagesMax; ++page) {
    auto result = session.client.ListTopics(request, session.Call());
    if (!result.ok()) {
      return session.Fail(CallKind::kRead, "list topics", result.error(),
                          "quorumctl cluster describe");
    }
    for (auto& topic : *result.value().mutable_topics()) *all.add_topics() = std::move(topic);
    request.set_page_token(result.value().next_page_token());
    if (request.page_token().empty()) break;
  }
  session.ClearProgress();
  if (session.json) {
    session.streams.out << Line(ToJson(all));
    return ExitCode::kDone;
  }
  using Align = Table::Align;
  Table table({{"TOPIC"},
               {"PARTITIONS", Align::kRight},
               {"REPLICAS", Align::kRight},
               {"ID", Align::kRight}});
  for (const v1::TopicDescription& topic : all.topics()) {
    table.AddRow({topic.name(), absl::StrCat(topic.partition_count()),
                  absl::StrCat(topic.replica_count()), absl::StrCat(topic.topic_id())});
  }
  session.streams.out << table.ToString();
  return ExitCode::kDone;
}

}  // namespace quorum::client::quorumctl
