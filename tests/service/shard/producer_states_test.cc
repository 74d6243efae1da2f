// What each kind of append is told, and what a log makes of its producers, rule by rule.

#include "service/shard/producer_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace quorum::shard {
namespace {

using Kind = ProducerVerdict::Kind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int32_t kLastEpoch = std::numeric_limits<int32_t>::max();

ProducerStamp Stamp(int64_t id, int32_t epoch, int64_t sequence) {
  return ProducerStamp{id, epoch, sequence};
}

// A log that grows by what the test says, and what it makes of its producers.
class Log {
 public:
  explicit Log(ProducerLimits limits = {}) : states(limits) {}

  // Appends a batch at `time_ms`; its offset.
  Offset Add(std::optional<ProducerStamp> stamp, uint32_t records = 1, int64_t time_ms = 0) {
    BatchHeader header = Header(records, time_ms);
    header.producer = stamp;
    states.Note(header);
    return header.base_offset;
  }
  Offset AddControl(int64_t time_ms = 0) {
    BatchHeader header = Header(1, time_ms);
    header.control = true;
    states.Note(header);
    return header.base_offset;
  }
  ProducerBinding Bind(const std::string& name, int64_t time_ms = 0) {
    BatchHeader header = Header(1, time_ms);
    header.control = true;
    const ProducerBinding binding = states.NextBinding(name, header.base_offset);
    header.bindings.emplace_back(header.base_offset, binding);
    states.Note(header);
    return binding;
  }

  ProducerVerdict Judge(const ProducerStamp& stamp, uint32_t records = 1) const {
    return states.Judge(stamp, records);
  }
  Kind KindOf(const ProducerStamp& stamp, uint32_t records = 1) const {
    return Judge(stamp, records).kind;
  }

  ProducerStates states;

 private:
  BatchHeader Header(uint32_t records, int64_t time_ms) const {
    BatchHeader header;
    header.base_offset = states.end();
    header.next_offset = states.end() + records;
    header.base_timestamp_ms = time_ms;
    return header;
  }
};

TEST(ProducerStates, OfAnEmptyLog_KnowNobody) {
  Log log;
  EXPECT_EQ(log.states.size(), 0u);
  EXPECT_EQ(log.states.data_end(), Offset(0));
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 0)), Kind::kNew);
}

TEST(ProducerStates, AnUnknownProducer_BeginsAtSequence0InAnyEpoch) {
  Log log;
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 0)), Kind::kNew);
  EXPECT_EQ(log.KindOf(Stamp(1, 7, 0)), Kind::kNew);
  const ProducerVerdict verdict = log.Judge(Stamp(1, 0, 1));
  EXPECT_EQ(verdict.kind, Kind::kUnknownProducer);
  EXPECT_EQ(verdict.rests_on, Offset(0));
}

TEST(ProducerStates, SequencesFollowByRecordCount) {
  Log log;
  log.Add(Stamp(1, 0, 0), 3);
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 3), 2), Kind::kNew);
  log.Add(Stamp(1, 0, 3), 2);
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 5)), Kind::kNew);
  for (const int64_t gap : {4, 6, 7, 1000}) {
    const ProducerVerdict verdict = log.Judge(Stamp(1, 0, gap));
    EXPECT_EQ(verdict.kind, Kind::kOutOfOrder) << gap;
    EXPECT_EQ(verdict.expected_sequence, 5) << gap;
  }
}

TEST(ProducerStates, ARetry_FindsItsBatchAmongTheLastFive) {
  Log log;
  for (int64_t sequence = 0; sequence < 7; ++sequence) log.Add(Stamp(1, 0, sequence));
  for (int64_t sequence = 2; sequence < 7; ++sequence) {
    const ProducerVerdict verdict = log.Judge(Stamp(1, 0, sequence));
    EXPECT_EQ(verdict.kind, Kind::kDuplicate) << sequence;
    EXPECT_EQ(verdict.base_offset, Offset(sequence));
    EXPECT_EQ(verdict.rests_on, Offset(sequence + 1));
  }
  const ProducerVerdict forgotten = log.Judge(Stamp(1, 0, 1));
  EXPECT_EQ(forgotten.kind, Kind::kOutOfOrder);
  EXPECT_EQ(forgotten.expected_sequence, 7) << "above its own: it was in the log";
}

TEST(ProducerStates, ABatchOfAnotherSize_IsNoRetry) {
  Log log;
  log.Add(Stamp(1, 0, 0), 3);
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 0), 3), Kind::kDuplicate);
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 0), 2), Kind::kOutOfOrder);
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 0), 4), Kind::kOutOfOrder);
}

TEST(ProducerStates, AHigherEpoch_BeginsAt0AndFencesTheLower) {
  Log log;
  log.Add(Stamp(1, 0, 0), 3);
  EXPECT_EQ(log.KindOf(Stamp(1, 1, 3)), Kind::kOutOfOrder);
  EXPECT_EQ(log.Judge(Stamp(1, 1, 3)).expected_sequence, 0);
  EXPECT_EQ(log.KindOf(Stamp(1, 5, 0)), Kind::kNew);
  log.Add(Stamp(1, 5, 0), 2);
  for (const int32_t epoch : {0, 1, 4}) {
    const ProducerVerdict verdict = log.Judge(Stamp(1, epoch, 3));
    EXPECT_EQ(verdict.kind, Kind::kFenced) << epoch;
    EXPECT_EQ(verdict.epoch, 5);
  }
  EXPECT_EQ(log.KindOf(Stamp(1, 5, 2)), Kind::kNew);
}

TEST(ProducerStates, ARetryOfAFencedEpoch_IsStillADuplicate) {
  Log log;
  log.Add(Stamp(1, 0, 0), 3);
  log.Add(Stamp(1, 1, 0), 3);
  const ProducerVerdict verdict = log.Judge(Stamp(1, 0, 0), 3);
  EXPECT_EQ(verdict.kind, Kind::kDuplicate);
  EXPECT_EQ(verdict.base_offset, Offset(0));
  EXPECT_EQ(log.Judge(Stamp(1, 1, 0), 3).base_offset, Offset(3));
}

TEST(ProducerStates, SequencesEndAtTheLimit_ThenOnlyAnEpochGoesOn) {
  StoredProducers stored;
  ProducerState producer;
  producer.id = 1;
  producer.next_sequence = kSequenceLimit;
  stored.producers.push_back(producer);
  const ProducerStates states({}, stored);
  EXPECT_EQ(states.Judge(Stamp(1, 0, kSequenceLimit - 1), 1).kind, Kind::kOutOfOrder);
  EXPECT_EQ(states.Judge(Stamp(1, 0, 0), 1).kind, Kind::kOutOfOrder) << "never wraps";
  EXPECT_EQ(states.Judge(Stamp(1, 1, 0), 1).kind, Kind::kNew);
}

TEST(ProducerStates, AnonymousEpochsEnd_AndTheIdWithThem) {
  Log log;
  log.Add(Stamp(1, kLastEpoch, 0));
  EXPECT_EQ(log.KindOf(Stamp(1, kLastEpoch, 1)), Kind::kNew);
  EXPECT_EQ(log.KindOf(Stamp(1, kLastEpoch - 1, 0)), Kind::kFenced);
  EXPECT_EQ(log.KindOf(Stamp(2, 0, 0)), Kind::kNew) << "a new id";
}

// --- names

TEST(ProducerStates, AName_KeepsItsIdAndRaisesTheEpoch) {
  Log log;
  log.AddControl();
  const ProducerBinding first = log.Bind("a");
  EXPECT_EQ(first.producer_id, kNamedProducerIds + 1);
  EXPECT_EQ(first.producer_epoch, 0);
  EXPECT_EQ(log.Bind("b").producer_id, kNamedProducerIds + 2);
  const ProducerBinding second = log.Bind("a");
  EXPECT_EQ(second.producer_id, first.producer_id);
  EXPECT_EQ(second.producer_epoch, 1);
}

TEST(ProducerStates, ABinding_FencesWhoWasBoundBefore) {
  Log log;
  const ProducerBinding first = log.Bind("a");
  log.Add(Stamp(first.producer_id, 0, 0));
  log.Bind("a");
  const ProducerVerdict fenced = log.Judge(Stamp(first.producer_id, 0, 1));
  EXPECT_EQ(fenced.kind, Kind::kFenced);
  EXPECT_EQ(fenced.epoch, 1);
  EXPECT_EQ(log.KindOf(Stamp(first.producer_id, 0, 0)), Kind::kDuplicate) << "it is in the log";
  EXPECT_EQ(log.KindOf(Stamp(first.producer_id, 1, 0)), Kind::kNew);
  EXPECT_EQ(log.KindOf(Stamp(first.producer_id, 1, 1)), Kind::kOutOfOrder);
}

TEST(ProducerStates, OnlyABinding_RaisesTheEpochOfAName) {
  Log log;
  const ProducerBinding bound = log.Bind("a");
  EXPECT_EQ(log.KindOf(Stamp(bound.producer_id, 0, 0)), Kind::kNew);
  EXPECT_EQ(log.KindOf(Stamp(bound.producer_id, 1, 0)), Kind::kUnknownProducer);
}

TEST(ProducerStates, AnIdOfANameThatIsNotBound_IsNeverTaken) {
  Log log;
  EXPECT_EQ(log.KindOf(Stamp(kNamedProducerIds, 0, 0)), Kind::kUnknownProducer);
  EXPECT_EQ(log.KindOf(Stamp(std::numeric_limits<int64_t>::max(), 5, 0)), Kind::kUnknownProducer);
}

TEST(ProducerStates, AtTheLastEpoch_ANameGetsANewIdAndTheOldOneIsFencedForEver) {
  StoredProducers stored;
  stored.summary.offset = Offset(100);
  ProducerState producer;
  producer.id = kNamedProducerIds + 5;
  producer.epoch = kLastEpoch;
  producer.name = "a";
  stored.producers.push_back(producer);
  Log log;
  log.states = ProducerStates({}, stored);
  EXPECT_EQ(log.KindOf(Stamp(producer.id, kLastEpoch, 0)), Kind::kNew);
  const ProducerBinding bound = log.Bind("a");
  EXPECT_EQ(bound.producer_id, kNamedProducerIds + 100);
  EXPECT_EQ(bound.producer_epoch, 0);
  EXPECT_EQ(log.KindOf(Stamp(producer.id, kLastEpoch, 0)), Kind::kUnknownProducer);
  EXPECT_EQ(log.Judge(Stamp(producer.id, kLastEpoch, 0)).rests_on, Offset(101));
  EXPECT_EQ(log.states.size(), 1u);
  log.states.TruncateTo(Offset(100));
  EXPECT_EQ(log.KindOf(Stamp(producer.id, kLastEpoch, 0)), Kind::kNew) << "the binding is gone";
  EXPECT_EQ(log.Bind("a").producer_id, kNamedProducerIds + 100);
}

TEST(ProducerStates, ANameThatIsForgotten_GetsAnotherId) {
  ProducerLimits limits;
  limits.expiry = std::chrono::milliseconds(100);
  Log log(limits);
  const ProducerBinding first = log.Bind("a", 1000);
  log.Add(std::nullopt, 1, 1100);
  EXPECT_EQ(log.KindOf(Stamp(first.producer_id, 0, 0)), Kind::kUnknownProducer);
  const ProducerBinding second = log.Bind("a", 1100);
  EXPECT_NE(second.producer_id, first.producer_id);
  EXPECT_EQ(log.KindOf(Stamp(first.producer_id, 0, 0)), Kind::kUnknownProducer);
}

// --- time and bound

TEST(ProducerStates, ExpireByTheTimeOfTheLogAlone) {
  ProducerLimits limits;
  limits.expiry = std::chrono::milliseconds(100);
  Log log(limits);
  log.Add(Stamp(1, 0, 0), 1, 1000);
  log.Add(Stamp(2, 0, 0), 1, 1050);
  log.Add(std::nullopt, 1, 1099);
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 1)), Kind::kNew);
  log.AddControl(1100);
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 1)), Kind::kUnknownProducer);
  EXPECT_EQ(log.Judge(Stamp(1, 0, 1)).rests_on, log.states.end());
  EXPECT_EQ(log.KindOf(Stamp(2, 0, 1)), Kind::kNew);
}

TEST(ProducerStates, AProducerThatComesInTime_IsNotExpiredByItsOwnBatch) {
  ProducerLimits limits;
  limits.expiry = std::chrono::milliseconds(100);
  Log log(limits);
  log.Add(Stamp(1, 0, 0), 1, 1000);
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 1)), Kind::kNew) << "nothing came in between";
  log.Add(Stamp(1, 0, 1), 1, 9000);
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 2)), Kind::kNew);
}

TEST(ProducerStates, TimeNeverGoesBack) {
  ProducerLimits limits;
  limits.expiry = std::chrono::milliseconds(100);
  Log log(limits);
  log.Add(std::nullopt, 1, 5000);
  log.Add(Stamp(1, 0, 0), 1, 1000);
  EXPECT_EQ(log.states.timestamp_ms(), 5000);
  log.Add(std::nullopt, 1, 5099);
  EXPECT_EQ(log.states.size(), 1u);
  log.Add(std::nullopt, 1, -1);
  EXPECT_EQ(log.states.size(), 1u);
  log.Add(std::nullopt, 1, 5100);
  EXPECT_EQ(log.states.size(), 0u);
}

TEST(ProducerStates, AtTheBound_TheOneSilentForLongestGoes) {
  ProducerLimits limits;
  limits.producers_max = 3;
  Log log(limits);
  for (const int64_t id : {1, 2, 3}) log.Add(Stamp(id, 0, 0));
  log.Add(Stamp(1, 0, 1));
  log.Add(Stamp(4, 0, 0));
  EXPECT_EQ(log.states.size(), 3u);
  EXPECT_EQ(log.KindOf(Stamp(2, 0, 1)), Kind::kUnknownProducer);
  EXPECT_EQ(log.KindOf(Stamp(1, 0, 2)), Kind::kNew);
  log.Bind("a");
  EXPECT_EQ(log.KindOf(Stamp(3, 0, 1)), Kind::kUnknownProducer);
}

// --- conditions

TEST(ProducerStates, ACondition_HoldsUnlessDataLiesAtOrAboveIt) {
  Log log;
  log.AddControl();
  EXPECT_EQ(log.states.WhyNotExpected(Offset(0)), std::nullopt) << "control records do not count";
  EXPECT_EQ(log.states.WhyNotExpected(Offset(1)), std::nullopt);
  EXPECT_EQ(log.states.WhyNotExpected(Offset(2)), Offset(1)) << "the log does not reach it";
  log.Add(std::nullopt, 3);
  log.AddControl();
  for (const int64_t expected : {0, 1, 3}) {
    EXPECT_EQ(log.states.WhyNotExpected(Offset(expected)), Offset(4)) << expected;
  }
  EXPECT_EQ(log.states.WhyNotExpected(Offset(4)), std::nullopt);
  EXPECT_EQ(log.states.WhyNotExpected(Offset(5)), std::nullopt);
  EXPECT_EQ(log.states.WhyNotExpected(Offset(6)), Offset(5));
}

TEST(ProducerStates, ACondition_RestsOnTheFirstRecordInItsWay) {
  Log log;
  log.Add(std::nullopt, 2);
  log.Add(std::nullopt, 2);
  log.Add(std::nullopt, 2);
  EXPECT_EQ(log.states.WhyNotExpected(Offset(1)), Offset(2));
  EXPECT_EQ(log.states.WhyNotExpected(Offset(2)), Offset(4));
  log.states.Commit(Offset(4));
  EXPECT_EQ(log.states.WhyNotExpected(Offset(2)), Offset(4)) << "committed already";
  EXPECT_EQ(log.states.WhyNotExpected(Offset(5)), Offset(6));
  log.states.TruncateTo(Offset(4));
  EXPECT_EQ(log.states.data_end(), Offset(4));
  EXPECT_EQ(log.states.WhyNotExpected(Offset(4)), std::nullopt);
}

TEST(ProducerStates, ABinding_IsNoDataRecord) {
  Log log;
  log.Add(std::nullopt, 2);
  log.Bind("a");
  EXPECT_EQ(log.states.WhyNotExpected(Offset(2)), std::nullopt);
}

// --- truncation, commit, disk

TEST(ProducerStates, Truncation_TakesBackWhatTheCutBatchesDid) {
  ProducerLimits limits;
  limits.producers_max = 2;
  Log log(limits);
  log.Add(Stamp(1, 0, 0));
  log.Add(Stamp(2, 0, 0));
  const auto before = log.states.producers();
  log.Add(Stamp(2, 1, 0), 4, 77);
  log.Bind("a");
  log.Add(Stamp(3, 0, 0));
  log.states.TruncateTo(Offset(2));
  EXPECT_EQ(log.states.producers(), before);
  EXPECT_EQ(log.states.end(), Offset(2));
  EXPECT_EQ(log.states.timestamp_ms(), 0);
  EXPECT_EQ(log.KindOf(Stamp(2, 1, 0), 4), Kind::kNew) << "the retry must not pass for a duplicate";
  EXPECT_EQ(log.Bind("a").producer_epoch, 0);
}

TEST(ProducerStates, WhatATellingRestsOn_IsTheNewestUncommittedBatchOfTheProducer) {
  Log log;
  log.Add(Stamp(1, 0, 0));
  log.states.Commit(Offset(1));
  EXPECT_EQ(log.Judge(Stamp(1, 0, 7)).rests_on, Offset(0)) << "all of it is committed";
  log.Add(Stamp(1, 0, 1));
  log.Add(Stamp(2, 0, 0));
  EXPECT_EQ(log.Judge(Stamp(1, 0, 7)).rests_on, Offset(2));
  log.Add(Stamp(1, 1, 0));
  EXPECT_EQ(log.Judge(Stamp(1, 0, 2)).rests_on, Offset(4));
  EXPECT_EQ(log.Judge(Stamp(1, 0, 1)).rests_on, Offset(2)) << "a duplicate, on its own batch";
}

TEST(ProducerStates, WhatIsWritten_IsTheCommittedStateAndOnlyWhatChanged) {
  ProducerLimits limits;
  limits.producers_max = 2;
  Log log(limits);
  log.Add(Stamp(1, 0, 0));
  log.Add(Stamp(2, 0, 0), 2, 9);
  log.Add(Stamp(1, 0, 1));
  log.AddControl();
  log.states.Commit(Offset(3));
  const auto first = log.states.TakeUnwritten();
  EXPECT_EQ(first.summary, (ProducerSummary{Offset(3), Offset(3), 9}));
  ASSERT_THAT(first.changed, SizeIs(2));
  EXPECT_EQ(first.changed[0].next_sequence, 1) << "sequence 1 is not committed";
  EXPECT_THAT(first.removed, IsEmpty());
  log.Add(Stamp(3, 0, 0));
  log.states.Commit(log.states.end());
  const auto second = log.states.TakeUnwritten();
  EXPECT_EQ(second.summary, (ProducerSummary{Offset(6), Offset(6), 9}));
  ASSERT_THAT(second.changed, SizeIs(2));
  EXPECT_EQ(second.changed[0].id, 1);
  EXPECT_EQ(second.changed[1].id, 3);
  EXPECT_THAT(second.removed, ElementsAre(2));
  EXPECT_THAT(log.states.TakeUnwritten().changed, IsEmpty());
}

TEST(ProducerStates, ABatchThatIsCommittedInPart_StaysInTheOverlay) {
  Log log;
  log.Add(Stamp(1, 0, 0), 4);
  log.states.Commit(Offset(3));
  EXPECT_EQ(log.states.committed(), Offset(0));
  log.states.Commit(Offset(4));
  EXPECT_EQ(log.states.committed(), Offset(4));
}

}  // namespace
}  // namespace quorum::shard
