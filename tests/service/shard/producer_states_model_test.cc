// ProducerStates against a naive function of the log, which reads all of it again at each question,
// through random appends, bindings, truncations, commits and restarts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/base/prng.h"
#include "service/shard/producer_states.h"

namespace quorum::shard {
namespace {

using Kind = ProducerVerdict::Kind;

constexpr int64_t kExpiryMs = 60;
constexpr size_t kProducersMax = 4;

// What a prefix of the log says, read from its first batch on.
struct Naive {
  struct Producer {
    int32_t epoch = 0;
    int64_t next = 0;
    std::string name;
    Offset newest;
    int64_t time = 0;
    // Epoch, sequence and count, to the offset; all of them, oldest first.
    std::vector<std::pair<std::tuple<int32_t, int64_t, uint32_t>, Offset>> batches;
  };
  std::map<int64_t, Producer> producers;
  Offset data_end;
  Offset end;
  int64_t time = 0;

  void Read(const BatchHeader& batch) {
    end = batch.next_offset;
    time = std::max(time, batch.base_timestamp_ms);
    if (!batch.control) data_end = end;
    if (batch.producer.has_value()) {
      Producer& producer = producers[batch.producer->id];
      producer.epoch = batch.producer->epoch;
      producer.next = batch.producer->base_sequence + batch.record_count();
      producer.newest = batch.base_offset;
      producer.time = time;
      producer.batches.push_back(
          {{batch.producer->epoch, batch.producer->base_sequence, batch.record_count()},
           batch.base_offset});
    }
    for (const auto& [offset, binding] : batch.bindings) {
      Producer& producer = producers[binding.producer_id];
      producer.name = binding.name;
      producer.epoch = binding.producer_epoch;
      producer.next = 0;
      producer.newest = offset;
      producer.time = time;
    }
    for (auto producer = producers.begin(); producer != producers.end();) {
      const bool expired = time - producer->second.time >= kExpiryMs;
      producer = expired ? producers.erase(producer) : std::next(producer);
    }
    while (producers.size() > kProducersMax) {
      producers.erase(std::min_element(
          producers.begin(), producers.end(),
          [](const auto& a, const auto& b) { return a.second.newest < b.second.newest; }));
    }
  }

  Kind Judge(const ProducerStamp& stamp, uint32_t count, Offset* at) const {
    const auto found = producers.find(stamp.id);
    const bool named = stamp.id >= kNamedProducerIds;
    if (found == producers.end()) {
      return stamp.base_sequence == 0 && !named ? Kind::kNew : Kind::kUnknownProducer;
    }
    const Producer& producer = found->second;
    const size_t kept = std::min<size_t>(producer.batches.size(), 5);
    for (size_t i = producer.batches.size() - kept; i < producer.batches.size(); ++i) {
      if (producer.batches[i].first == std::tuple(stamp.epoch, stamp.base_sequence, count)) {
        *at = producer.batches[i].second;
        return Kind::kDuplicate;
      }
    }
    if (stamp.epoch < producer.epoch) return Kind::kFenced;
    if (stamp.epoch > producer.epoch) {
      if (named) return Kind::kUnknownProducer;
      return stamp.base_sequence == 0 ? Kind::kNew : Kind::kOutOfOrder;
    }
    return stamp.base_sequence == producer.next ? Kind::kNew : Kind::kOutOfOrder;
  }
};

class Walk {
 public:
  explicit Walk(uint64_t seed) : prng_(seed), states_(Limits()) {}

  void Step() {
    const uint64_t what = prng_.Below(100);
    if (what < 60) {
      Append();
    } else if (what < 70) {
      Bind();
    } else if (what < 78) {
      Truncate();
    } else if (what < 92) {
      Commit();
    } else if (what < 96) {
      Store();
    } else {
      Restart();
    }
    Check();
  }

  std::map<Kind, int> judged;

 private:
  static ProducerLimits Limits() {
    ProducerLimits limits;
    limits.producers_max = kProducersMax;
    limits.expiry = std::chrono::milliseconds(kExpiryMs);
    return limits;
  }

  Naive ReadUpTo(Offset end) const {
    Naive naive;
    for (const BatchHeader& batch : log_) {
      if (batch.next_offset <= end) naive.Read(batch);
    }
    return naive;
  }

  BatchHeader Next(uint32_t records) {
    // Mostly forward; the log's own time never goes back.
    now_ms_ += prng_.Between(int64_t{-5}, int64_t{12});
    BatchHeader batch;
    batch.base_offset = states_.end();
    batch.next_offset = batch.base_offset + records;
    batch.base_timestamp_ms = now_ms_;
    return batch;
  }

  void Add(const BatchHeader& batch) {
    states_.Note(batch);
    log_.push_back(batch);
  }

  // Stamps near what is known, so that every verdict comes up.
  ProducerStamp RandomStamp() {
    ProducerStamp stamp;
    const auto& known = states_.producers();
    if (known.empty() || prng_.Chance(200'000)) {
      stamp.id = prng_.Between(int64_t{0}, int64_t{7});
      if (prng_.Chance(200'000)) stamp.id += kNamedProducerIds;
      return stamp;
    }
    const ProducerState& producer =
        std::next(known.begin(), static_cast<int64_t>(prng_.Below(known.size())))->second;
    stamp = ProducerStamp{producer.id, producer.epoch, producer.next_sequence};
    if (prng_.Chance(300'000) && !producer.batches.empty()) {
      const ProducerBatch& batch = producer.batches[prng_.Below(producer.batches.size())];
      stamp.epoch = batch.epoch;
      stamp.base_sequence = batch.base_sequence;
    } else if (prng_.Chance(200'000)) {
      stamp.epoch = static_cast<int32_t>(prng_.Below(4));
      stamp.base_sequence = static_cast<int64_t>(prng_.Below(6));
    }
    return stamp;
  }

  void Append() {
    const auto records = static_cast<uint32_t>(1 + prng_.Below(3));
    BatchHeader batch = Next(records);
    if (prng_.Chance(200'000)) {
      batch.control = prng_.Chance(500'000);
      Add(batch);
      return;
    }
    batch.producer = RandomStamp();
    const ProducerVerdict verdict = states_.Judge(*batch.producer, records);
    CheckVerdict(*batch.producer, records, verdict);
    ++judged[verdict.kind];
    if (verdict.kind == Kind::kNew) Add(batch);
  }

  void CheckVerdict(const ProducerStamp& stamp, uint32_t records, const ProducerVerdict& verdict) {
    Offset at;
    ASSERT_EQ(verdict.kind, ReadUpTo(states_.end()).Judge(stamp, records, &at));
    if (verdict.kind == Kind::kNew) return;
    if (verdict.kind == Kind::kDuplicate) ASSERT_EQ(verdict.base_offset, at);
    // What is committed, together with what the verdict rests on, says the same.
    const Offset rest = std::max(verdict.rests_on, committed_);
    ASSERT_EQ(verdict.kind, ReadUpTo(rest).Judge(stamp, records, &at));
  }

  void Bind() {
    BatchHeader batch = Next(1);
    batch.control = true;
    const std::string name(1, static_cast<char>('a' + prng_.Below(3)));
    batch.bindings.emplace_back(batch.base_offset, states_.NextBinding(name, batch.base_offset));
    Add(batch);
  }

  void Truncate() {
    while (!log_.empty() && log_.back().base_offset >= committed_ && prng_.Chance(600'000)) {
      log_.pop_back();
    }
    states_.TruncateTo(log_.empty() ? Offset(0) : log_.back().next_offset);
  }

  void Commit() {
    for (const BatchHeader& batch : log_) {
      if (batch.next_offset <= committed_) continue;
      if (prng_.Chance(300'000)) break;
      committed_ = batch.next_offset;
    }
    states_.Commit(committed_);
  }

  void Store() {
    ProducerStates::Unwritten unwritten = states_.TakeUnwritten();
    for (ProducerState& state : unwritten.changed) disk_[state.id] = std::move(state);
    for (const int64_t id : unwritten.removed) disk_.erase(id);
    disk_summary_ = unwritten.summary;
    // The committed state, nothing of what lies above.
    const Naive naive = ReadUpTo(disk_summary_.offset);
    ASSERT_EQ(disk_.size(), naive.producers.size());
    for (const auto& [id, producer] : naive.producers) {
      ASSERT_EQ(disk_.count(id), 1u);
      ASSERT_EQ(disk_.at(id).next_sequence, producer.next);
    }
  }

  void Restart() {
    StoredProducers stored;
    stored.summary = disk_summary_;
    for (const auto& [id, state] : disk_) stored.producers.push_back(state);
    const auto before = states_.producers();
    states_ = ProducerStates(Limits(), stored);
    for (const BatchHeader& batch : log_) {
      if (batch.base_offset >= stored.summary.offset) states_.Note(batch);
    }
    ASSERT_EQ(states_.producers(), before);
    states_.Commit(committed_);
  }

  void Check() {
    const Naive naive = ReadUpTo(states_.end());
    ASSERT_EQ(states_.data_end(), naive.data_end);
    ASSERT_EQ(states_.timestamp_ms(), naive.time);
    ASSERT_EQ(states_.end(), naive.end);
    ASSERT_EQ(states_.size(), naive.producers.size());
    for (const auto& [id, producer] : naive.producers) {
      const ProducerState* state = states_.Find(id);
      ASSERT_NE(state, nullptr);
      ASSERT_EQ(state->epoch, producer.epoch);
      ASSERT_EQ(state->next_sequence, producer.next);
      ASSERT_EQ(state->name, producer.name);
    }
    const Offset expected(
        static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(naive.end.value()) + 2)));
    const std::optional<Offset> why = states_.WhyNotExpected(expected);
    ASSERT_EQ(why.has_value(), expected > naive.end || naive.data_end > expected);
    if (why.has_value() && expected <= naive.end) {
      ASSERT_GT(ReadUpTo(std::max(*why, committed_)).data_end, expected);
    }
  }

  Prng prng_;
  ProducerStates states_;
  std::vector<BatchHeader> log_;
  Offset committed_;
  int64_t now_ms_ = 0;
  std::map<int64_t, ProducerState> disk_;
  ProducerSummary disk_summary_;
};

TEST(ProducerStatesModel, AgreesWithANaiveReadingOfTheLog) {
  std::map<Kind, int> judged;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Walk walk(seed);
    for (int step = 0; step < 150; ++step) {
      walk.Step();
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << " step " << step;
    }
    for (const auto& [kind, count] : walk.judged) judged[kind] += count;
  }
  for (const Kind kind :
       {Kind::kNew, Kind::kDuplicate, Kind::kFenced, Kind::kOutOfOrder, Kind::kUnknownProducer}) {
    EXPECT_GT(judged[kind], 100) << static_cast<int>(kind);
  }
}

}  // namespace
}  // namespace quorum::shard
