#include <istream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/verbs.h"
#include "service/base/overloaded.h"

namespace quorum::client::quorumctl {
namespace {

// What became of the records so far.
struct Counts {
  int64_t committed = 0;
  int64_t refused = 0;
  int64_t unknown = 0;
};

v1::AppendRequest EmptyRequest(const Append& command) {
  v1::AppendRequest request;
  request.set_topic(command.partition.topic);
  request.set_partition(command.partition.index);
  return request;
}

void AddRecord(const Append& command, const std::string* value, v1::AppendRequest* request) {
  v1::Record* record = request->add_records();
  if (command.key.has_value()) record->set_key(*command.key);
  if (value != nullptr) record->set_value(*value);
}

void ReportCommitted(const Append& command, const Committed& committed, int64_t records,
                     Session& session) {
  const int64_t first = committed.base_offset.value();
  if (session.json) {
    Json json = {{"topic", command.partition.topic},
                 {"partition", command.partition.index},
                 {"outcome", "committed"},
                 {"baseOffset", absl::StrCat(first)},
                 {"recordCount", records},
                 {"leaderEpoch", absl::StrCat(committed.leader_epoch.value())}};
    if (committed.leader.has_value()) json["leaderId"] = committed.leader->value();
    json["duplicate"] = committed.duplicate;
    session.streams.out << Line(json) << std::flush;
    return;
  }
  session.streams.out << "committed " << command.partition.ToString()
                      << (records == 1 ? " offset " : " offsets ") << first;
  if (records > 1) session.streams.out << "-" << first + records - 1;
  session.streams.out << " epoch " << committed.leader_epoch.value() << std::endl;
}

ExitCode ReportFailed(const Append& command, const char* outcome, const Error& error,
                      Session& session) {
  if (session.json) {
    session.streams.out << Line({{"topic", command.partition.topic},
                                 {"partition", command.partition.index},
                                 {"outcome", outcome},
                                 {"code", google::rpc::Code_Name(error.code)},
                                 {"reason", error.reason_name},
                                 {"message", error.message}})
                        << std::flush;
  }
  const std::string partition = command.partition.ToString();
  const bool unknown = !ProvesRefusal(error);
  return session.Fail(CallKind::kAppend, absl::StrCat("append to ", partition), error,
                      unknown ? absl::StrCat("quorumctl tail ", partition, " --until-end")
                              : absl::StrCat("quorumctl quorum describe ", partition));
}

// Appends one batch and reports what became of it.
ExitCode AppendBatch(const Append& command, v1::AppendRequest request, Session& session,
                     Counts* counts) {
  const int64_t records = request.records_size();
  const AppendOutcome outcome = session.client.Append(std::move(request), session.Call());
  session.ClearProgress();
  return std::visit(Overloaded{
                        [&](const Committed& committed) {
                          counts->committed += records;
                          ReportCommitted(command, committed, records, session);
                          return ExitCode::kDone;
                        },
                        [&](const Refused& refused) {
                          counts->refused += records;
                          return ReportFailed(command, "refused", refused.error, session);
                        },
                        [&](const Unknown& unknown) {
                          counts->unknown += records;
                          return ReportFailed(command, "unknown", unknown.error, session);
                        },
                    },
                    outcome);
}

ExitCode AppendLines(const Append& command, Session& session, Counts* counts) {
  if (session.streams.in_is_terminal) {
    session.streams.err << "a record a line; Ctrl-D ends\n";
  }
  v1::AppendRequest request = EmptyRequest(command);
  std::string line;
  for (;;) {
    const bool more = static_cast<bool>(std::getline(session.streams.in, line));
    if (more) AddRecord(command, &line, &request);
    const int records = request.records_size();
    if (records > 0 && (!more || records >= static_cast<int>(command.batch))) {
      const ExitCode code = AppendBatch(command, std::move(request), session, counts);
      if (code != ExitCode::kDone) return code;
      request = EmptyRequest(command);
    }
    if (!more) return ExitCode::kDone;
  }
}

}  // namespace

ExitCode RunVerb(const Append& command, Session& session) {
  Counts counts;
  if (command.tombstone || !command.values.empty()) {
    v1::AppendRequest request = EmptyRequest(command);
    for (const std::string& value : command.values) AddRecord(command, &value, &request);
    if (command.tombstone) AddRecord(command, nullptr, &request);
    return AppendBatch(command, std::move(request), session, &counts);
  }
  const ExitCode code = AppendLines(command, session, &counts);
  session.streams.err << counts.committed << " committed, " << counts.refused << " refused, "
                      << counts.unknown << " unknown\n";
  return code;
}

}  // namespace quorum::client::quorumctl
