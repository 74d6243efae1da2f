#include "tests/integration/history_checker.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"

namespace quorum::integration {
namespace {

// Of each kind; more of the same help nobody.
constexpr int kListedMax = 5;

std::string Shown(const LoggedRecord& record) {
  return absl::StrCat(record.payload, " at ", record.offset, " epoch ", record.leader_epoch);
}

class Checker {
 public:
  explicit Checker(const PartitionHistory& history) : history_(history) {}

  std::vector<Violation> Run() {
    CHECK(!history_.replicas.empty()) << "no log to compare with";
    ChooseLog();
    IndexAppends();
    for (const ReplicaLog& replica : history_.replicas) CheckOrder(replica);
    CheckReplicasAgree();
    CheckEachRecord();
    for (const AppendOperation& append : history_.appends) CheckAppend(append);
    for (const ReadOperation& read : history_.reads) CheckRead(read);
    CheckMajority();
    CheckLeaders();
    CheckRealTime();
    return std::move(violations_);
  }

 private:
  void Report(ViolationKind kind, const std::string& what) {
    if (++counts_[kind] > kListedMax) return;
    violations_.push_back(Violation{kind, absl::StrCat(history_.partition, ": ", what)});
  }

  // The longest log; that the others are prefixes of it is checked.
  void ChooseLog() {
    for (const ReplicaLog& replica : history_.replicas) {
      if (log_ == nullptr || replica.end > log_->end) log_ = &replica;
    }
    for (const LoggedRecord& record : log_->records) {
      at_.emplace(record.offset, &record);
      places_[record.payload].push_back(&record);
    }
  }

  void IndexAppends() {
    for (const AppendOperation& append : history_.appends) {
      for (const std::string& payload : append.payloads) {
        const bool fresh = sender_.emplace(payload, &append).second;
        CHECK(fresh) << "the test sent " << payload << " twice";
      }
    }
  }

  void CheckOrder(const ReplicaLog& replica) {
    const LoggedRecord* before = nullptr;
    for (const LoggedRecord& record : replica.records) {
      if (before != nullptr &&
          (record.offset <= before->offset || record.leader_epoch < before->leader_epoch)) {
        Report(ViolationKind::kOrder,
               absl::StrCat(replica.replica, " has ", Shown(record), " behind ", Shown(*before)));
      }
      if (record.offset >= replica.end) {
        Report(ViolationKind::kOrder,
               absl::StrCat(replica.replica, " ends at ", replica.end, " and has ", Shown(record)));
      }
      before = &record;
    }
  }

  void CheckReplicasAgree() {
    for (const ReplicaLog& replica : history_.replicas) {
      CompareWithLog(ViolationKind::kReplicasDiffer, replica.replica, 0, replica.end,
                     replica.records);
    }
  }

  // What somebody has of [start, end) must be what the log has there.
  void CompareWithLog(ViolationKind kind, const std::string& who, int64_t start, int64_t end,
                      const std::vector<LoggedRecord>& records) {
    auto expected = at_.lower_bound(start);
    for (const LoggedRecord& record : records) {
      if (expected == at_.end() || expected->first >= end) {
        Report(kind, absl::StrCat(who, " has ", Shown(record), ", the log has nothing there"));
        return;
      }
      if (*expected->second != record) {
        Report(kind, absl::StrCat(who, " has ", Shown(record), " where the log has ",
                                  Shown(*expected->second)));
        return;
      }
      ++expected;
    }
    if (expected != at_.end() && expected->first < end) {
      Report(kind, absl::StrCat(who, " lacks ", Shown(*expected->second)));
    }
  }

  void CheckEachRecord() {
    for (const auto& [payload, places] : places_) {
      if (sender_.count(payload) == 0) {
        Report(ViolationKind::kPhantom, absl::StrCat("nobody sent ", Shown(*places.front())));
      }
      if (places.size() > 1) {
        Report(ViolationKind::kDuplicate,
               absl::StrCat(Shown(*places[0]), " and again ", Shown(*places[1])));
      }
    }
  }

  // Where the first copy of a payload is; null when it is not in the log.
  const LoggedRecord* Find(const std::string& payload) const {
    const auto found = places_.find(payload);
    return found == places_.end() ? nullptr : found->second.front();
  }

  void CheckAppend(const AppendOperation& append) {
    switch (append.outcome) {
      case Outcome::kCommitted:
        CheckCommitted(append);
        return;
      case Outcome::kRefused:
        for (const std::string& payload : append.payloads) {
          if (const LoggedRecord* record = Find(payload)) {
            Report(ViolationKind::kRefusedButLogged, Shown(*record));
          }
        }
        return;
      case Outcome::kUnknown:
        CheckWhole(append);
        return;
    }
  }

  void CheckCommitted(const AppendOperation& append) {
    for (size_t index = 0; index < append.payloads.size(); ++index) {
      const LoggedRecord wanted{append.base_offset + static_cast<int64_t>(index),
                                append.leader_epoch, append.payloads[index]};
      const LoggedRecord* record = Find(wanted.payload);
      if (record == nullptr) {
        Report(ViolationKind::kLost, absl::StrCat(Shown(wanted), " is nowhere"));
      } else if (*record != wanted) {
        Report(ViolationKind::kLost,
               absl::StrCat(Shown(wanted), " was acknowledged, the log has ", Shown(*record)));
      }
    }
  }

  void CheckWhole(const AppendOperation& append) {
    const LoggedRecord* first = Find(append.payloads.front());
    for (size_t index = 1; index < append.payloads.size(); ++index) {
      const LoggedRecord* record = Find(append.payloads[index]);
      const bool whole = first == nullptr
                             ? record == nullptr
                             : record != nullptr && record->leader_epoch == first->leader_epoch &&
                                   record->offset == first->offset + static_cast<int64_t>(index);
      if (whole) continue;
      Report(ViolationKind::kTornBatch,
             absl::StrCat("of one batch, ", append.payloads.front(), " and ",
                          append.payloads[index], " are not side by side"));
      return;
    }
  }

  void CheckRead(const ReadOperation& read) {
    CompareWithLog(ViolationKind::kRead, read.reader, read.start, read.next, read.records);
    CHECK_EQ(read.seen.size(), read.records.size());
    for (size_t index = 0; index < read.records.size(); ++index) {
      const LoggedRecord& record = read.records[index];
      const auto sender = sender_.find(record.payload);
      if (sender != sender_.end() && read.seen[index] < sender->second->invoked) {
        Report(ViolationKind::kPhantom,
               absl::StrCat(read.reader, " saw ", Shown(record), " before it was sent"));
      }
    }
    if (read.next > std::max(read.start, read.high_watermark.value_or(read.start))) {
      Report(ViolationKind::kRead, absl::StrCat(read.reader, " was given what lies below ",
                                                read.next, " without a watermark above it"));
    }
  }

  void CheckMajority() {
    int64_t shown = 0;
    for (const ReadOperation& read : history_.reads) {
      shown = std::max(shown, read.high_watermark.value_or(0));
    }
    for (const AppendOperation& append : history_.appends) {
      if (append.outcome != Outcome::kCommitted) continue;
      shown = std::max(shown, append.base_offset + static_cast<int64_t>(append.payloads.size()));
    }
    size_t holders = 0;
    for (const ReplicaLog& replica : history_.replicas) holders += replica.end >= shown ? 1 : 0;
    if (holders * 2 <= history_.replicas.size()) {
      Report(ViolationKind::kNotOnMajority,
             absl::StrCat(shown, " was shown as committed; only ", holders, " of ",
                          history_.replicas.size(), " replicas reach it"));
    }
  }

  void CheckLeaders() {
    std::map<int64_t, const LeaderSighting*> first;
    for (const LeaderSighting& sighting : history_.leaders) {
      const LeaderSighting* other = first.emplace(sighting.epoch, &sighting).first->second;
      if (other->leader == sighting.leader) continue;
      Report(ViolationKind::kTwoLeaders,
             absl::StrCat("epoch ", sighting.epoch, ": ", other->leader, " by ", other->witness,
                          ", ", sighting.leader, " by ", sighting.witness));
    }
  }

  // Walks the log upwards. The order of the log is the order in which the appends took effect, so
  // none may have returned before one below it was even begun.
  void CheckRealTime() {
    std::map<int64_t, const AppendOperation*> order;
    for (const AppendOperation& append : history_.appends) {
      const LoggedRecord* record = Find(append.payloads.front());
      if (record != nullptr) order.emplace(record->offset, &append);
    }
    const AppendOperation* latest = nullptr;
    for (const auto& [offset, append] : order) {
      const bool returned = append->outcome == Outcome::kCommitted && append->returned.has_value();
      if (returned && latest != nullptr && *append->returned < latest->invoked) {
        Report(ViolationKind::kRealTime,
               absl::StrCat(append->payloads.front(), " at ", offset, " had returned before ",
                            latest->payloads.front(), ", below it, was sent"));
      }
      if (latest == nullptr || append->invoked > latest->invoked) latest = append;
    }
  }

  const PartitionHistory& history_;
  const ReplicaLog* log_ = nullptr;
  std::map<int64_t, const LoggedRecord*> at_;
  std::map<std::string, std::vector<const LoggedRecord*>> places_;
  std::map<std::string, const AppendOperation*> sender_;
  std::map<ViolationKind, int> counts_;
  std::vector<Violation> violations_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, ViolationKind kind) {
  switch (kind) {
    case ViolationKind::kLost:
      return out << "lost";
    case ViolationKind::kDuplicate:
      return out << "duplicate";
    case ViolationKind::kRefusedButLogged:
      return out << "refused but in the log";
    case ViolationKind::kPhantom:
      return out << "phantom";
    case ViolationKind::kTornBatch:
      return out << "torn batch";
    case ViolationKind::kOrder:
      return out << "order";
    case ViolationKind::kRead:
      return out << "read";
    case ViolationKind::kReplicasDiffer:
      return out << "replicas differ";
    case ViolationKind::kNotOnMajority:
      return out << "not on a majority";
    case ViolationKind::kTwoLeaders:
      return out << "two leaders";
    case ViolationKind::kRealTime:
      return out << "real time";
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const Violation& violation) {
  return out << violation.kind << ": " << violation.what;
}

std::vector<Violation> CheckHistory(const PartitionHistory& history) {
  return Checker(history).Run();
}

}  // namespace quorum::integration
