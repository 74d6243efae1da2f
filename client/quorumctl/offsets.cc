#include "client/quorumctl/entries.h"
#include "client/quorumctl/table.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {

ExitCode RunVerb(const Offsets& command, Session& session) {
  const Target& target = command.target;
  const Result<TopicOffsets> result =
      session.admin.ListOffsets(target.topic, PartitionsOf(target), session.Call());
  if (!result.ok()) {
    return session.Fail(CallKind::kRead, absl::StrCat("offsets of ", target.ToString()),
                        result.error(), "quorumctl topic list");
  }
  session.ClearProgress();
  const TopicOffsets& topic = result.value();
  if (session.json) {
    WriteJson(target, topic, session);
    return EntriesCode("offsets of", topic, session);
  }
  using Align = Table::Align;
  Table table({{"PARTITION"},
               {"EARLIEST", Align::kRight},
               {"LATEST", Align::kRight},
               {"EPOCH", Align::kRight},
               {"LEADER", Align::kRight}});
  for (const auto& entry : topic.partitions()) {
    table.AddRow({absl::StrCat(topic.topic(), ":", entry.partition()),
                  Cell(entry.has_earliest_offset(), entry.earliest_offset()),
                  Cell(entry.has_latest_offset(), entry.latest_offset()),
                  Cell(entry.has_leader_epoch(), entry.leader_epoch()),
                  Cell(entry.has_leader_id(), entry.leader_id())});
  }
  session.streams.out << table.ToString();
  return EntriesCode("offsets of", topic, session);
}

}  // namespace quorum::client::quorumctl
