#include <deque>
#include <istream>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "client/producer.h"
#include "client/quorumctl/json.h"
#include "client/quorumctl/verbs.h"
#include "service/base/mutex.h"
#include "service/base/overloaded.h"

namespace quorum::client::quorumctl {
namespace {

// Records between two lines of progress.
constexpr int64_t kProgressStep = 256;

// Appends that are not written yet, at most: what a slow reader of the output holds up.
constexpr size_t kOpenMax = 10'000;

// Writes what became of the appends, in their order, as soon as it is known. A thread of its own
// does it: who reads the output may take his time, and the client's thread must not wait for him.
//
// Thread: Expect, Finish and Summary the verb's; outcomes and retries come on the client's.
class Report {
 public:
  Report(const Append& command, Session& session) : command_(command), session_(session) {
    writer_ = std::thread([this] { Write(); });
  }
  ~Report() { Finish(); }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  // For the next append, of that many records. Waits while too many are not written.
  Producer::Done Expect(int64_t records) {
    MutexLock lock(&mutex_);
    while (open_.size() >= kOpenMax) changed_.Wait(&mutex_);
    const int64_t number = first_ + static_cast<int64_t>(open_.size());
    open_.push_back({records, std::nullopt});
    return [this, number](AppendOutcome outcome) {
      MutexLock inner(&mutex_);
      failed_ |= !std::holds_alternative<Committed>(outcome);
      open_[static_cast<size_t>(number - first_)].outcome = std::move(outcome);
      changed_.NotifyAll();
    };
  }

  void NoteRetry(const RetryNotice& notice, const CallOptions& call) {
    MutexLock lock(&err_mutex_);
    call.on_retry(notice);
  }

  // True once an append was not committed.
  bool failed() {
    MutexLock lock(&mutex_);
    return failed_;
  }

  // After the last outcome: waits until all are written.
  void Finish() {
    {
      MutexLock lock(&mutex_);
      finished_ = true;
      changed_.NotifyAll();
    }
    if (writer_.joinable()) writer_.join();
  }

  // After Finish.
  ExitCode code() const { return code_; }
  std::string Summary() const {
    return absl::StrCat(committed_, " committed, ", refused_, " refused, ", unknown_, " unknown");
  }

 private:
  struct Slot {
    int64_t records = 0;
    std::optional<AppendOutcome> outcome;
  };

  void Write() {
    while (std::optional<Slot> slot = Next()) {
      const int64_t records = slot->records;
      std::visit(Overloaded{[&](const Committed& committed) {
                              committed_ += records;
                              WriteCommitted(committed, records);
                            },
                            [&](const Refused& refused) {
                              refused_ += records;
                              WriteFailed("refused", refused.error, ExitCodeOf(*slot->outcome));
                            },
                            [&](const Unknown& unknown) {
                              unknown_ += records;
                              WriteFailed("unknown", unknown.error, ExitCodeOf(*slot->outcome));
                            }},
                 *slot->outcome);
      ShowProgress();
    }
  }

  // Waits for the next outcome; empty after the last one.
  std::optional<Slot> Next() {
    MutexLock lock(&mutex_);
    while (open_.empty() || !open_.front().outcome.has_value()) {
      if (open_.empty() && finished_) return std::nullopt;
      changed_.Wait(&mutex_);
    }
    std::optional<Slot> slot = std::move(open_.front());
    open_.pop_front();
    ++first_;
    changed_.NotifyAll();
    return slot;
  }

  void WriteCommitted(const Committed& committed, int64_t records) {
    const int64_t first = committed.base_offset.value();
    if (session_.json) {
      Json json = {{"topic", command_.partition.topic},
                   {"partition", command_.partition.index},
                   {"outcome", "committed"},
                   {"baseOffset", absl::StrCat(first)},
                   {"recordCount", records},
                   {"leaderEpoch", absl::StrCat(committed.leader_epoch.value())}};
      if (committed.leader.has_value()) json["leaderId"] = committed.leader->value();
      json["duplicate"] = committed.duplicate;
      session_.streams.out << Line(json) << std::flush;
      return;
    }
    session_.streams.out << "committed " << command_.partition.ToString()
                         << (records == 1 ? " offset " : " offsets ") << first;
    if (records > 1) session_.streams.out << "-" << first + records - 1;
    session_.streams.out << " epoch " << committed.leader_epoch.value() << std::endl;
  }

  // The data says every failure, the lines for people only the first: the others follow from it.
  void WriteFailed(const char* outcome, const Error& error, ExitCode code) {
    if (session_.json) {
      session_.streams.out << Line({{"topic", command_.partition.topic},
                                    {"partition", command_.partition.index},
                                    {"outcome", outcome},
                                    {"code", google::rpc::Code_Name(error.code)},
                                    {"reason", error.reason_name},
                                    {"message", error.message}})
                           << std::flush;
    }
    const bool first = code_ == ExitCode::kDone;
    if (first || code == ExitCode::kUnknown) code_ = code;
    if (!first) return;
    const std::string partition = command_.partition.ToString();
    const bool read_back = code == ExitCode::kUnknown ||
                           error.reason == v1::ERROR_REASON_OFFSET_MISMATCH ||
                           error.reason == v1::ERROR_REASON_PRODUCER_FENCED;
    MutexLock lock(&err_mutex_);
    session_.Report(absl::StrCat("append to ", partition), error, code,
                    read_back ? absl::StrCat("quorumctl tail ", partition, " --until-end")
                              : absl::StrCat("quorumctl quorum describe ", partition));
  }

  void ShowProgress() {
    // Where the data itself is on a terminal, it is the progress.
    if (!session_.streams.err_is_terminal || session_.streams.out_rows > 0) return;
    if (committed_ - shown_ < kProgressStep) return;
    shown_ = committed_;
    MutexLock lock(&err_mutex_);
    session_.ClearProgress();
    session_.streams.err << committed_ << " committed" << std::flush;
  }

  const Append& command_;
  Session& session_;

  Mutex mutex_;
  CondVar changed_;
  // Appends without an outcome, or not written.
  std::deque<Slot> open_ ABSL_GUARDED_BY(mutex_);
  // The number of the first of them.
  int64_t first_ ABSL_GUARDED_BY(mutex_) = 0;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // Held while standard error is written to.
  Mutex err_mutex_;

  // The writer's, until it has ended. Records.
  int64_t committed_ = 0;
  int64_t refused_ = 0;
  int64_t unknown_ = 0;
  int64_t shown_ = 0;
  ExitCode code_ = ExitCode::kDone;
  std::thread writer_;
};

void AddRecord(const Append& command, const std::string* value, AppendSpec* spec) {
  v1::Record& record = spec->records.emplace_back();
  if (command.key.has_value()) record.set_key(*command.key);
  if (value != nullptr) record.set_value(*value);
}

void AppendWords(const Append& command, Producer* producer, Report* report) {
  AppendSpec spec{command.partition, {}, command.expected_offset};
  for (const std::string& value : command.values) AddRecord(command, &value, &spec);
  if (command.tombstone) AddRecord(command, nullptr, &spec);
  const auto records = static_cast<int64_t>(spec.records.size());
  producer->Append(std::move(spec), report->Expect(records));
}

void AppendLines(const Append& command, Session& session, Producer* producer, Report* report) {
  if (session.streams.in_is_terminal) {
    session.streams.err << "a record a line; Ctrl-D ends\n";
  }
  AppendSpec spec{command.partition, {}};
  std::string line;
  for (bool more = true; more && !report->failed();) {
    more = static_cast<bool>(std::getline(session.streams.in, line));
    if (more) AddRecord(command, &line, &spec);
    const size_t records = spec.records.size();
    if (records == 0 || (more && records < command.batch)) continue;
    producer->Append(std::move(spec), report->Expect(static_cast<int64_t>(records)));
    spec = AppendSpec{command.partition, {}};
  }
}

}  // namespace

ExitCode RunVerb(const Append& command, Session& session) {
  const CallOptions call = session.Call();
  Report report(command, session);
  ProducerOptions options;
  options.name = command.producer;
  options.timeout = call.timeout;
  if (call.on_retry) {
    options.on_retry = [&](const RetryNotice& notice) { report.NoteRetry(notice, call); };
  }
  Producer producer(session.client, options);
  if (command.values.empty() && !command.tombstone) {
    AppendLines(command, session, &producer, &report);
  } else {
    AppendWords(command, &producer, &report);
  }
  // Each append is decided at its deadline.
  while (!producer.Flush(call.timeout)) {
  }
  report.Finish();
  session.ClearProgress();
  session.streams.err << report.Summary() << "\n";
  return report.code();
}

}  // namespace quorum::client::quorumctl
