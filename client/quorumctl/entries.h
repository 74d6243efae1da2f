// Entries: what verbs do alike with answers of one entry per partition.
//
// Thread: the main thread.

#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "client/quorumctl/command_line.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/session.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {

// The request for a target: its topic, and its partition where one is given.
template <typename Request>
Request RequestFor(const Target& target) {
  Request request;
  auto* topic = request.add_topics();
  topic->set_topic(target.topic);
  if (target.partition.has_value()) topic->add_partitions(*target.partition);
  return request;
}

// The answer's only topic, after checks of its shape and of the errors that leave nothing to show:
// an unknown topic, or an answer without the partition that was asked for. Null, with the exit code
// in `code` and the lines written, when there is none.
template <typename Response>
const typename Response::Topic* TopicOf(const Target& target, const std::string& what,
                                        const Response& response, const Session& session,
                                        ExitCode* code) {
  const auto fail = [&](const Error& error) {
    *code = session.Fail(CallKind::kRead, absl::StrCat(what, " ", target.ToString()), error,
                         "quorumctl topic list");
    return nullptr;
  };
  const bool complete = response.topics_size() == 1 &&
                        (response.topics(0).has_error() || !target.partition.has_value() ||
                         response.topics(0).partitions_size() == 1);
  if (!complete) {
    Error error;
    error.code = google::rpc::INTERNAL;
    error.message = "the answer does not hold what was asked for";
    return fail(error);
  }
  if (response.topics(0).has_error()) return fail(ErrorFromStatus(response.topics(0).error()));
  return &response.topics(0);
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
    if (!partition.has_error()) continue;
    const std::string name = absl::StrCat(topic.topic(), ":", partition.partition());
    return session.Fail(CallKind::kRead, absl::StrCat(what, " ", name),
                        ErrorFromStatus(partition.error()),
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
