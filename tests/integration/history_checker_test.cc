// The checker's own test: long histories that keep every promise, and then one that is broken, of
// each kind; and small random ones against a search over all orders.

#include "tests/integration/history_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/prng.h"

namespace quorum::integration {
namespace {

constexpr int kReplicas = 3;
constexpr int kClients = 4;

MonoTime At(int64_t tick) { return MonoTime(Duration(tick)); }

// Plays clients against a log that keeps all promises.
class Player {
 public:
  explicit Player(uint64_t seed) : prng_(seed) { history_.partition = "t:0"; }

  PartitionHistory Play(int appends) {
    for (int count = 0; count < appends; ++count) Append();
    for (int replica = 1; replica <= kReplicas; ++replica) {
      history_.replicas.push_back(ReplicaLog{absl::StrCat("node ", replica), end_, log_});
    }
    // One replica lags, which is no violation.
    ReplicaLog& slow = history_.replicas.back();
    slow.end = log_[log_.size() / 2].offset;
    slow.records.resize(log_.size() / 2);
    AddRead("from the start", 0, log_.size());
    AddRead("a piece", log_.size() / 4, log_.size() / 2);
    history_.leaders = {{1, 1, "a"}, {2, 3, "a"}, {2, 3, "b"}};
    return std::move(history_);
  }

 private:
  void Append() {
    AppendOperation append;
    append.client = static_cast<int>(prng_.Below(kClients));
    // Effects are one tick apart; calls begin up to 40 before and end up to 40 after.
    now_ += 10;
    append.invoked = At(now_ - prng_.Between(1, 40));
    append.returned = At(now_ + prng_.Between(1, 40));
    const int64_t records = prng_.Between(1, 3);
    for (int64_t index = 0; index < records; ++index) {
      append.payloads.push_back(absl::StrCat("p", next_payload_++));
    }
    const uint64_t fate = prng_.Below(10);
    append.outcome = fate < 8   ? Outcome::kCommitted
                     : fate < 9 ? Outcome::kUnknown
                                : Outcome::kRefused;
    const bool logged = fate < 8 || (fate == 8 && prng_.Below(2) == 0);
    // A new epoch begins with a control record, which takes an offset.
    if (prng_.Below(20) == 0) {
      ++epoch_;
      ++end_;
    }
    if (fate < 8) {
      append.base_offset = end_;
      append.leader_epoch = epoch_;
    }
    for (const std::string& payload : append.payloads) {
      if (!logged) break;
      log_.push_back(LoggedRecord{end_++, epoch_, payload});
      seen_.push_back(At(now_ + 50));
    }
    history_.appends.push_back(std::move(append));
  }

  void AddRead(const std::string& reader, size_t from, size_t to) {
    ReadOperation read;
    read.reader = reader;
    read.start = from < log_.size() ? log_[from].offset : end_;
    read.next = to < log_.size() ? log_[to].offset : end_;
    read.records.assign(log_.begin() + static_cast<ptrdiff_t>(from),
                        log_.begin() + static_cast<ptrdiff_t>(to));
    read.seen.assign(seen_.begin() + static_cast<ptrdiff_t>(from),
                     seen_.begin() + static_cast<ptrdiff_t>(to));
    read.high_watermark = end_;
    history_.reads.push_back(std::move(read));
  }

  Prng prng_;
  PartitionHistory history_;
  int64_t now_ = 100;
  int64_t next_payload_ = 0;
  int64_t epoch_ = 1;
  int64_t end_ = 1;
  std::vector<LoggedRecord> log_;
  std::vector<MonoTime> seen_;
};

// The first append of a kind and size at or behind the middle of the history.
AppendOperation& Pick(PartitionHistory& history, Outcome outcome, size_t records = 1) {
  const size_t count = history.appends.size();
  for (size_t step = 0; step < count; ++step) {
    AppendOperation& append = history.appends[(count / 2 + step) % count];
    if (append.outcome == outcome && append.payloads.size() >= records) return append;
  }
  LOG(FATAL) << "the history has none such";
}

size_t PlaceOf(const std::vector<LoggedRecord>& log, const std::string& payload) {
  const auto found = std::find_if(log.begin(), log.end(), [&](const LoggedRecord& record) {
    return record.payload == payload;
  });
  CHECK(found != log.end());
  return static_cast<size_t>(found - log.begin());
}

// Applies a change to the log of every replica and to what readers saw, as if it had always been
// so.
void ChangeLog(PartitionHistory& history,
               const std::function<void(std::vector<LoggedRecord>&)>& change) {
  for (ReplicaLog& replica : history.replicas) change(replica.records);
  history.reads.clear();
}

// The lagging replica is in the way of some mutations.
void DropLaggard(PartitionHistory& history) { history.replicas.pop_back(); }

struct Mutation {
  std::string name;
  ViolationKind expected;
  std::function<void(PartitionHistory&)> apply;
};

std::ostream& operator<<(std::ostream& out, const Mutation& mutation) {
  return out << mutation.name;
}

std::vector<Mutation> MutationsOfLogs() {
  return {
      {"an acknowledged record is dropped", ViolationKind::kLost,
       [](PartitionHistory& history) {
         DropLaggard(history);
         const std::string gone = Pick(history, Outcome::kCommitted).payloads.front();
         ChangeLog(history, [&](std::vector<LoggedRecord>& log) {
           log.erase(log.begin() + static_cast<ptrdiff_t>(PlaceOf(log, gone)));
         });
       }},
      {"two records swap places", ViolationKind::kLost,
       [](PartitionHistory& history) {
         DropLaggard(history);
         const std::string moved = Pick(history, Outcome::kCommitted).payloads.front();
         ChangeLog(history, [&](std::vector<LoggedRecord>& log) {
           const size_t place = PlaceOf(log, moved);
           std::swap(log[place].payload, log[place == 0 ? 1 : place - 1].payload);
         });
       }},
      {"an acknowledgement names the wrong offset", ViolationKind::kLost,
       [](PartitionHistory& history) { ++Pick(history, Outcome::kCommitted).base_offset; }},
      {"an acknowledgement names the wrong epoch", ViolationKind::kLost,
       [](PartitionHistory& history) { ++Pick(history, Outcome::kCommitted).leader_epoch; }},
      {"a record is there twice", ViolationKind::kDuplicate,
       [](PartitionHistory& history) {
         DropLaggard(history);
         const std::string twice = Pick(history, Outcome::kCommitted).payloads.front();
         ChangeLog(history, [&](std::vector<LoggedRecord>& log) {
           log.push_back(LoggedRecord{log.back().offset + 1, log.back().leader_epoch, twice});
         });
         for (ReplicaLog& replica : history.replicas) ++replica.end;
       }},
      {"a refused append is in the log", ViolationKind::kRefusedButLogged,
       [](PartitionHistory& history) {
         AppendOperation& append = Pick(history, Outcome::kCommitted);
         append.outcome = Outcome::kRefused;
       }},
      {"a record was sent by nobody", ViolationKind::kPhantom,
       [](PartitionHistory& history) {
         DropLaggard(history);
         ChangeLog(history, [](std::vector<LoggedRecord>& log) {
           log.push_back(LoggedRecord{log.back().offset + 1, log.back().leader_epoch, "ghost"});
         });
         for (ReplicaLog& replica : history.replicas) ++replica.end;
       }},
      {"half a batch of unknown outcome is there", ViolationKind::kTornBatch,
       [](PartitionHistory& history) {
         DropLaggard(history);
         AppendOperation& append = Pick(history, Outcome::kCommitted, 2);
         append.outcome = Outcome::kUnknown;
         const std::string gone = append.payloads.back();
         ChangeLog(history, [&](std::vector<LoggedRecord>& log) {
           log.erase(log.begin() + static_cast<ptrdiff_t>(PlaceOf(log, gone)));
         });
       }},
      {"an offset repeats", ViolationKind::kOrder,
       [](PartitionHistory& history) {
         std::vector<LoggedRecord>& log = history.replicas[0].records;
         log[log.size() / 2].offset = log[log.size() / 2 - 1].offset;
       }},
      {"epochs fall", ViolationKind::kOrder,
       [](PartitionHistory& history) {
         std::vector<LoggedRecord>& log = history.replicas[0].records;
         log.back().leader_epoch = 0;
       }},
  };
}

std::vector<Mutation> MutationsOfViews() {
  return {
      {"a reader misses a record", ViolationKind::kRead,
       [](PartitionHistory& history) {
         ReadOperation& read = history.reads[0];
         const auto middle = static_cast<ptrdiff_t>(read.records.size() / 2);
         read.records.erase(read.records.begin() + middle);
         read.seen.erase(read.seen.begin() + middle);
       }},
      {"a reader misses the last record", ViolationKind::kRead,
       [](PartitionHistory& history) {
         history.reads[1].records.pop_back();
         history.reads[1].seen.pop_back();
       }},
      {"a reader sees a record twice", ViolationKind::kRead,
       [](PartitionHistory& history) {
         ReadOperation& read = history.reads[0];
         const auto middle = static_cast<ptrdiff_t>(read.records.size() / 2);
         read.records.insert(read.records.begin() + middle, read.records[read.records.size() / 2]);
         read.seen.insert(read.seen.begin() + middle, read.seen[read.seen.size() / 2]);
       }},
      {"a reader sees what later is another record", ViolationKind::kRead,
       [](PartitionHistory& history) { history.reads[0].records[3].payload += "x"; }},
      {"a reader gets what is above the high watermark", ViolationKind::kRead,
       [](PartitionHistory& history) { history.reads[0].high_watermark = 3; }},
      {"a record is seen before it is sent", ViolationKind::kPhantom,
       [](PartitionHistory& history) { history.reads[0].seen[7] = At(0); }},
      {"a replica has another record", ViolationKind::kReplicasDiffer,
       [](PartitionHistory& history) { history.replicas[2].records[5].payload += "x"; }},
      {"a replica has another epoch", ViolationKind::kReplicasDiffer,
       [](PartitionHistory& history) { history.replicas[1].records.back().leader_epoch += 1; }},
      {"a replica lacks a record", ViolationKind::kReplicasDiffer,
       [](PartitionHistory& history) { history.replicas[2].records.pop_back(); }},
      {"only one replica has what is committed", ViolationKind::kNotOnMajority,
       [](PartitionHistory& history) {
         ReplicaLog& replica = history.replicas[1];
         replica.end = replica.records[5].offset;
         replica.records.resize(5);
       }},
      {"two lead one epoch", ViolationKind::kTwoLeaders,
       [](PartitionHistory& history) {
         history.leaders.push_back({1, 2, "c"});
       }},
      {"an append returned before one below it was sent", ViolationKind::kRealTime,
       [](PartitionHistory& history) {
         AppendOperation& late = Pick(history, Outcome::kCommitted);
         AppendOperation* above = nullptr;
         for (AppendOperation& append : history.appends) {
           if (append.outcome == Outcome::kCommitted && append.base_offset > late.base_offset) {
             above = &append;
             break;
           }
         }
         CHECK(above != nullptr);
         late.returned = *above->returned + Duration(100);
         late.invoked = *above->returned + Duration(1);
         history.reads.clear();
       }},
  };
}

bool Has(const std::vector<Violation>& violations, ViolationKind kind) {
  return std::any_of(violations.begin(), violations.end(),
                     [kind](const Violation& violation) { return violation.kind == kind; });
}

TEST(HistoryCheckerTest, FindsNothingWhereNothingIsWrong) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    EXPECT_THAT(CheckHistory(Player(seed).Play(400)), testing::IsEmpty()) << "seed " << seed;
  }
}

class MutationTest : public testing::TestWithParam<Mutation> {};

TEST_P(MutationTest, IsFoundInEveryHistory) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    PartitionHistory history = Player(seed).Play(400);
    GetParam().apply(history);
    const std::vector<Violation> found = CheckHistory(history);
    EXPECT_TRUE(Has(found, GetParam().expected))
        << "seed " << seed << ", found: " << testing::PrintToString(found);
  }
}

INSTANTIATE_TEST_SUITE_P(Logs, MutationTest, testing::ValuesIn(MutationsOfLogs()));
INSTANTIATE_TEST_SUITE_P(Views, MutationTest, testing::ValuesIn(MutationsOfViews()));

// Whether the calls can be put in an order in which each one takes effect between its invocation
// and its return, and a plain log gives the very offsets: by trying all orders.
bool SomeOrderExplains(const std::vector<AppendOperation>& appends, std::vector<bool>& done,
                       int64_t end) {
  MonoTime earliest_return = kNever;
  bool all_done = true;
  for (size_t index = 0; index < appends.size(); ++index) {
    if (done[index]) continue;
    all_done = false;
    earliest_return = std::min(earliest_return, *appends[index].returned);
  }
  if (all_done) return true;
  for (size_t index = 0; index < appends.size(); ++index) {
    const AppendOperation& next = appends[index];
    // Something that had returned before this began cannot come after it.
    if (done[index] || next.invoked > earliest_return || next.base_offset != end) continue;
    done[index] = true;
    const auto size = static_cast<int64_t>(next.payloads.size());
    if (SomeOrderExplains(appends, done, end + size)) return true;
    done[index] = false;
  }
  return false;
}

TEST(HistoryCheckerTest, AgreesWithASearchOverAllOrders) {
  Prng prng(20'230'911);
  int explained = 0;
  constexpr int kHistories = 100'000;
  for (int round = 0; round < kHistories; ++round) {
    PartitionHistory history;
    ReplicaLog log;
    const int64_t count = prng.Between(1, 8);
    for (int64_t index = 0; index < count; ++index) {
      AppendOperation append;
      append.outcome = Outcome::kCommitted;
      append.base_offset = log.end;
      append.leader_epoch = 1;
      append.invoked = At(prng.Between(0, 12) + index * 4);
      append.returned = append.invoked + Duration(prng.Between(0, 12));
      for (int64_t record = prng.Between(1, 2); record > 0; --record) {
        append.payloads.push_back(absl::StrCat("p", log.end));
        log.records.push_back(LoggedRecord{log.end, 1, append.payloads.back()});
        ++log.end;
      }
      history.appends.push_back(std::move(append));
    }
    history.replicas.push_back(std::move(log));
    std::vector<bool> done(history.appends.size(), false);
    const bool expected = SomeOrderExplains(history.appends, done, 0);
    explained += expected ? 1 : 0;
    ASSERT_EQ(CheckHistory(history).empty(), expected) << "round " << round;
  }
  // Both answers occur often, or the comparison says little.
  EXPECT_GT(explained, kHistories / 10);
  EXPECT_LT(explained, kHistories * 9 / 10);
}

}  // namespace
}  // namespace quorum::integration
