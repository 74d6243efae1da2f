// Entries: what verbs do alike with answers of one entry per partition.
//
// Thread: the main thread.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/quorumctl/command_line.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/session.h"

namespace quorum::client::quorumctl {

// The partitions of a target as Admin's calls take them: empty for all of the topic.
inline std::vector<uint32_t> PartitionsOf(const Target& target) {
  if (!target.partition.has_value()) return {};
  return {*target.partition};
}

// Writes JSON: of one partition its entry, with what names it first; else the topic.
template <typename Topic>
void WriteJson(const Target& target, const Topic& topic, const Session& session) {
  if (!target.partition.has_value()) {
    session.streams.out << Line(ToJson(topic));
  } else {
    session.streams.out << Line(
        Merged(Json{{"topic", topic.topic()}, {"partition", topic.partitions(0).partition()}},
               ToJson(topic.partitions(0))));
  }
}

// Reports the first entry that failed, after the data was written. Done when there is none.
template <typename Topic>
ExitCode EntriesCode(const std::string& what, const Topic& topic, const Session& session) {
  for (const auto& partition : topic.partitions()) {
    const std::optional<Error> error = EntryErrorOf(partition);
    if (!error.has_value()) continue;
    const std::string name = absl::StrCat(topic.topic(), ":", partition.partition());
    return session.Fail(CallKind::kRead, absl::StrCat(what, " ", name), *error,
                        absl::StrCat("quorumctl quorum describe ", name, " --stale-ok"));
  }
  return ExitCode::kDone;
}

// An optional number as a cell.
template <typename Number>
std::string Cell(bool present, Number value) {
  return present ? absl::StrCat(value) : "";
}

}  // namespace quorum::client::quorumctl
