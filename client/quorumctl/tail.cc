#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/consumer.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/table.h"
#include "client/quorumctl/verbs.h"
#include "service/base/overloaded.h"

namespace quorum::client::quorumctl {
namespace {

// How often the wait for an event is renewed; nothing depends on it.
constexpr Duration kWait = std::chrono::seconds(60);

std::string JsonLine(const PartitionName& partition, const TailRecord& record) {
  Json json = {{"topic", partition.topic},
               {"partition", partition.index},
               {"offset", absl::StrCat(record.offset.value())},
               {"leaderEpoch", absl::StrCat(record.leader_epoch.value())},
               {"timestampMs", absl::StrCat(record.timestamp_ms)}};
  const Json fields = ToJson(record.record);
  for (const char* name : {"key", "value", "headers"}) {
    if (fields.contains(name)) json[name] = fields[name];
  }
  return Line(json);
}

// Offset, epoch if wanted, key and value, each record on its line as soon as it is there.
std::string TextLine(const TailRecord& record, bool print_epoch) {
  const std::string key = record.record.has_key() ? Printable(record.record.key()) : "-";
  const std::string value =
      record.record.has_value() ? Printable(record.record.value()) : "(tombstone)";
  const std::string epoch =
      print_epoch ? absl::StrFormat("  %5d", record.leader_epoch.value()) : "";
  std::string line = absl::StrFormat("%10d%s  %-12s  %s", record.offset.value(), epoch, key, value);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

void Write(const Tail& command, const TailRecords& event, Session& session) {
  session.ClearProgress();
  for (const TailRecord& record : event.records) {
    session.streams.out << (session.json ? JsonLine(command.partition, record)
                                         : TextLine(record, command.print_epoch));
  }
  session.streams.out << std::flush;
}

void Note(const TailProgress& event, Session& session) {
  if (!session.streams.err_is_terminal || !event.next_offset.has_value()) return;
  session.ClearProgress();
  session.streams.err << (event.caught_up ? "waiting at offset " : "at offset ")
                      << event.next_offset->value();
  if (!event.stalled.empty()) session.streams.err << " (" << event.stalled << ")";
  session.streams.err << std::flush;
}

void Note(const TailReset& event, Session& session) {
  session.ClearProgress();
  session.streams.err << (event.snapshot
                              ? "the log was compacted: a snapshot follows, up to offset "
                              : "records were removed: the log goes on at offset ")
                      << event.offset.value() << "\n";
}

}  // namespace

ExitCode RunVerb(const Tail& command, Session& session) {
  TailSpec spec;
  spec.partition = command.partition;
  spec.start = command.from;
  spec.max_records = command.max_records;
  spec.until_high_watermark = command.until_end;
  const std::string name = command.partition.ToString();
  spec.tell_replayed = false;
  const CallOptions call = session.Call();
  ConsumerOptions options;
  options.timeout = call.timeout;
  options.on_retry = call.on_retry;
  Consumer consumer(session.client, options);
  consumer.Add(spec);
  // Not among the data: a pipe shall see records only.
  if (!session.json && session.streams.err_is_terminal)
    session.streams.err << "    OFFSET  " << (command.print_epoch ? "EPOCH  " : "")
                        << "KEY           VALUE\n";
  for (;;) {
    const std::optional<ConsumerEvent> next = consumer.Next(kWait);
    if (!next.has_value()) continue;
    const std::optional<ExitCode> ended = std::visit(
        Overloaded{
            [&](const TailRecords& records) -> std::optional<ExitCode> {
              Write(command, records, session);
              // The reader of a pipe has gone.
              if (!session.streams.out) return ExitCode::kDone;
              return std::nullopt;
            },
            [&](const TailProgress& progress) -> std::optional<ExitCode> {
              Note(progress, session);
              return std::nullopt;
            },
            [&](const TailReplayed&) -> std::optional<ExitCode> { return std::nullopt; },
            [&](const TailReset& reset) -> std::optional<ExitCode> {
              Note(reset, session);
              return std::nullopt;
            },
            [&](const TailEnd&) -> std::optional<ExitCode> {
              session.ClearProgress();
              return ExitCode::kDone;
            },
            [&](const TailFailure& failure) -> std::optional<ExitCode> {
              return session.Fail(CallKind::kRead, absl::StrCat("tail ", name), failure.error,
                                  absl::StrCat("quorumctl offsets ", name));
            },
        },
        next->event);
    if (ended.has_value()) return *ended;
  }
}

}  // namespace quorum::client::quorumctl
