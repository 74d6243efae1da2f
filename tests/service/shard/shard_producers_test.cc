// Exactly-once appends, fencing and conditions, on a whole shard: the order of the checks, and that
// nothing is told before what it rests on is committed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/service/shard/producer_calls.h"
#include "tests/service/shard/shard_producers_fixture.h"

namespace quorum::shard {
namespace {

using Outcome = AppendResult::Outcome;
using raft::RaftError;
using testing::ElementsAre;
using testing::SizeIs;

const PartitionId kA = kJudged;

// --- duplicates

TEST_F(ShardProducersTest, ARetryOfACommittedBatchIsToldWhereItIs) {
  const auto first = Add(Stamp(1, 0, 0), 3);
  Commit();
  ExpectCommitted(first, 2, false);
  ExpectCommitted(Add(Stamp(1, 0, 0), 3), 2, true);
  EXPECT_EQ(End(), Offset(5));
  ExpectCommitted(Add(Stamp(1, 0, 0), 3), 2, true);
  EXPECT_EQ(shard_.shard().waiter_count(), 0u);
}

TEST_F(ShardProducersTest, ARetryOfAnUncommittedBatchWaitsForIt) {
  const auto first = Add(Stamp(1, 0, 0));
  const auto retry = Add(Stamp(1, 0, 0));
  shard_.Sync();
  EXPECT_FALSE(retry->has_value());
  EXPECT_EQ(End(), Offset(3));
  Commit();
  ExpectCommitted(first, 2, false);
  ExpectCommitted(retry, 2, true);
  EXPECT_EQ(shard_.shard().waiter_count(), 0u);
}

TEST_F(ShardProducersTest, ARetryOfAnUncommittedBatchSharesItsFate) {
  const auto first = Add(Stamp(1, 0, 0));
  const auto retry = Add(Stamp(1, 0, 0));
  LoseLeadership();
  for (const auto& result : {first, retry}) {
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ((*result)->outcome, Outcome::kUnknown);
    EXPECT_EQ((*result)->hint.epoch, Epoch(5));
  }
}

TEST_F(ShardProducersTest, ARetryThatIsNotSettledInTimeIsUnknown) {
  (void)Add(Stamp(1, 0, 0));
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 0);
  wanted.deadline = shard_.now() + Ms(50);
  const auto retry = Add(wanted);
  shard_.Advance(Ms(60));
  ASSERT_TRUE(retry->has_value());
  EXPECT_EQ((*retry)->outcome, Outcome::kUnknown);
  Commit();
}

// The client's own success must not refuse its retry.
TEST_F(ShardProducersTest, ADuplicateIsFoundBeforeEverythingElseIsChecked) {
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 0);
  wanted.expected_offset = 2;
  (void)Add(wanted);
  (void)Add(Stamp(1, 1, 0));
  Commit();
  ExpectCommitted(Add(wanted), 2, true);
  wanted.leader_epoch = 7;
  ExpectCommitted(Add(wanted), 2, true);
}

TEST_F(ShardProducersTest, PipelinedBatchesAndTheirRetriesKeepTheirOrder) {
  std::vector<Awaited<AppendResult>> results;
  for (int round = 0; round < 2; ++round) {
    for (int64_t sequence = 0; sequence < 5; ++sequence)
      results.push_back(Add(Stamp(1, 0, sequence)));
  }
  Commit();
  ASSERT_THAT(results, SizeIs(10));
  for (size_t i = 0; i < 10; ++i) {
    ExpectCommitted(results[i], 2 + static_cast<int64_t>(i % 5), i >= 5);
  }
  EXPECT_EQ(End(), Offset(7));
}

// --- fencing and sequences

TEST_F(ShardProducersTest, ARefusalThatRestsOnNothingUncommittedIsToldOnceLeadershipIsProven) {
  ExpectRefused(Add(Stamp(1, 0, 4)), AppendRefusal::kUnknownProducer);
  (void)Add(Stamp(1, 3, 0), 2);
  Commit();
  const auto gap = Add(Stamp(1, 3, 5));
  ExpectRefused(gap, AppendRefusal::kOutOfOrderSequence);
  EXPECT_EQ((*gap)->expected_sequence, 2);
  const auto fenced = Add(Stamp(1, 2, 2));
  ExpectRefused(fenced, AppendRefusal::kProducerFenced);
  EXPECT_EQ((*fenced)->producer_epoch, 3);
  EXPECT_EQ(End(), Offset(4));
  EXPECT_EQ(shard_.shard().waiter_count(), 1u) << "the Fetch that waits";
}

TEST_F(ShardProducersTest, ARefusalWaitsForTheCommitOfWhatItRestsOn) {
  (void)Add(Stamp(1, 0, 0));
  Commit();
  (void)Add(Stamp(1, 1, 0));
  const auto fenced = Add(Stamp(1, 0, 1));
  const auto gap = Add(Stamp(1, 1, 9));
  shard_.Sync();
  EXPECT_FALSE(fenced->has_value());
  EXPECT_FALSE(gap->has_value());
  Commit();
  ExpectRefused(fenced, AppendRefusal::kProducerFenced);
  ExpectRefused(gap, AppendRefusal::kOutOfOrderSequence);
  EXPECT_EQ(End(), Offset(4));
}

TEST_F(ShardProducersTest, ARefusalWhoseReasonIsLostIsARefusalAllTheSame) {
  (void)Add(Stamp(1, 0, 0));
  (void)Add(Stamp(1, 1, 0));
  const auto fenced = Add(Stamp(1, 0, 1));
  const auto mismatch = AddIf(2);
  LoseLeadership();
  ExpectNotLeader(fenced);
  ExpectNotLeader(mismatch);
  EXPECT_EQ((*fenced)->hint.epoch, Epoch(5));
}

TEST_F(ShardProducersTest, ARefusalWhoseReasonIsNotCommittedInTimeIsARefusalAllTheSame) {
  (void)Add(Stamp(1, 1, 0));
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 1);
  wanted.deadline = shard_.now() + Ms(50);
  const auto fenced = Add(wanted);
  shard_.Advance(Ms(60));
  ExpectNotLeader(fenced);
  Commit();
}

TEST_F(ShardProducersTest, AReplicaThatGoesAnswersWhatWaits) {
  (void)Add(Stamp(1, 1, 0));
  const auto retry = Add(Stamp(1, 1, 0));
  const auto fenced = Add(Stamp(1, 0, 1));
  (void)shard_.Bury(kA);
  ExpectNotLeader(fenced);
  ASSERT_TRUE(retry->has_value());
  EXPECT_EQ((*retry)->outcome, Outcome::kUnknown);
}

TEST_F(ShardProducersTest, WhoDoesNotLeadJudgesNothing) {
  (void)Add(Stamp(1, 0, 0));
  Commit();
  LoseLeadership();
  ExpectNotLeader(Add(Stamp(1, 0, 0)));
  ExpectNotLeader(Add(Stamp(1, 0, 7)));
  ExpectNotLeader(AddIf(0));
}

TEST_F(ShardProducersTest, ThatManyJudgementsMayWait) {
  ShardConfig config = ShardHarness::OneLane();
  config.raft.appends_in_flight_max = 3;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(3));
  std::vector<Awaited<AppendResult>> results;
  for (int i = 0; i < 5; ++i) {
    Wanted wanted;
    wanted.producer = Stamp(1, 0, 0);
    results.push_back(Append(shard, kA, wanted));
  }
  ASSERT_TRUE(results[4]->has_value());
  EXPECT_EQ((*results[4])->error, RaftError::kThrottled);
  EXPECT_EQ((*results[4])->outcome, Outcome::kRefused);
  CommitAll(shard, kA);
  for (size_t i = 0; i < 4; ++i) ExpectCommitted(results[i], 2, i > 0);
}

// --- conditions

TEST_F(ShardProducersTest, AConditionIsJudgedAgainstEverythingInTheLog) {
  const auto first = AddIf(2);
  const auto second = AddIf(2);
  const auto third = AddIf(3);
  EXPECT_EQ(End(), Offset(4)) << "the first and the third";
  shard_.Sync();
  EXPECT_FALSE(second->has_value()) << "its reason is not committed";
  Commit();
  ExpectCommitted(first, 2, false);
  ExpectRefused(second, AppendRefusal::kOffsetMismatch);
  EXPECT_EQ((*second)->committed_end, Offset(4));
  ExpectCommitted(third, 3, false);
}

TEST_F(ShardProducersTest, ControlRecordsDoNotBreakACondition) {
  const auto at_start = AddIf(0);
  Commit();
  ExpectCommitted(at_start, 2, false);
}

TEST_F(ShardProducersTest, AConditionAboveTheLogDoesNotHold) {
  const auto beyond = AddIf(3);
  ExpectRefused(beyond, AppendRefusal::kOffsetMismatch);
  EXPECT_EQ((*beyond)->committed_end, Offset(2));
  (void)Add(Wanted{});
  const auto above = AddIf(4);
  EXPECT_FALSE(above->has_value()) << "the end is not committed";
  Commit();
  ExpectRefused(above, AppendRefusal::kOffsetMismatch);
  EXPECT_EQ((*above)->committed_end, Offset(3));
}

TEST_F(ShardProducersTest, AMismatchWithCommittedRecordsWaitsForNoCommit) {
  (void)Add(Wanted{});
  Commit();
  (void)Add(Wanted{});
  const auto mismatch = AddIf(2);
  ExpectRefused(mismatch, AppendRefusal::kOffsetMismatch);
  EXPECT_EQ((*mismatch)->committed_end, Offset(3));
}

// Its client would take a refusal for proof that the batch is not in the log.
TEST_F(ShardProducersTest, AMismatchWaitsForTheCommitOfWhatHasForgottenItsProducer) {
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 0);
  wanted.expected_offset = 2;
  (void)Add(wanted);
  Commit();
  shard_.MoveWall(int64_t{25} * 3600 * 1000);
  (void)Add(Stamp(2, 0, 0));
  const auto retry = Add(wanted);
  shard_.Sync();
  EXPECT_FALSE(retry->has_value()) << "if the second batch is cut, this one is a duplicate";
  Commit();
  ExpectRefused(retry, AppendRefusal::kOffsetMismatch);
}

TEST_F(ShardProducersTest, FencingIsCheckedBeforeTheCondition) {
  (void)Add(Stamp(1, 1, 0));
  Commit();
  Wanted wanted;
  wanted.producer = Stamp(1, 0, 1);
  wanted.expected_offset = 0;
  ExpectRefused(Add(wanted), AppendRefusal::kProducerFenced);
  wanted.leader_epoch = 7;
  const auto result = Add(wanted);
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((*result)->error, RaftError::kUnknownLeaderEpoch) << "and the leader epoch before that";
}

TEST_F(ShardProducersTest, WhatIsToldIsCounted) {
  (void)Add(Stamp(1, 1, 0));
  Commit();
  (void)Add(Stamp(1, 1, 0));
  (void)Add(Stamp(1, 0, 0));
  (void)Add(Stamp(1, 1, 7));
  (void)Add(Stamp(2, 0, 7));
  (void)AddIf(0);
  ProveLeadership(shard_, kA, 1);
  EXPECT_THAT(shard_.judged(),
              ElementsAre(AppendRefusal::kNone, AppendRefusal::kProducerFenced,
                          AppendRefusal::kOutOfOrderSequence, AppendRefusal::kUnknownProducer,
                          AppendRefusal::kOffsetMismatch));
}

// --- names

TEST_F(ShardProducersTest, AnInitOfANameIsToldAfterCommitAndFencesItsPredecessor) {
  const auto first = Bind(shard_, kA, "writer");
  shard_.Sync();
  EXPECT_FALSE(first->has_value());
  Commit();
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->outcome, Outcome::kCommitted);
  EXPECT_EQ((*first)->producer_id, kNamedProducerIds + 2);
  EXPECT_EQ((*first)->producer_epoch, 0);
  const int64_t id = (*first)->producer_id;
  (void)Add(Stamp(id, 0, 0));
  const auto second = Bind(shard_, kA, "writer");
  const auto fenced = Add(Stamp(id, 0, 1));
  Commit();
  EXPECT_EQ((*second)->producer_id, id);
  EXPECT_EQ((*second)->producer_epoch, 1);
  ExpectRefused(fenced, AppendRefusal::kProducerFenced);
  ExpectCommitted(Add(Stamp(id, 0, 0)), 3, true);
  const auto next = Add(Stamp(id, 1, 0));
  Commit();
  ExpectCommitted(next, 5, false);
}

TEST_F(ShardProducersTest, AnInitOfANameIsNoDataRecord) {
  (void)Bind(shard_, kA, "writer");
  const auto conditional = AddIf(2);
  Commit();
  ExpectCommitted(conditional, 3, false);
}

TEST_F(ShardProducersTest, AnInitOfANameThatLosesItsLeaderIsUnknown) {
  const auto init = Bind(shard_, kA, "writer");
  LoseLeadership();
  ASSERT_TRUE(init->has_value());
  EXPECT_EQ((*init)->outcome, Outcome::kUnknown);
  const auto refused = Bind(shard_, kA, "writer");
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((*refused)->outcome, Outcome::kRefused);
  EXPECT_EQ((*refused)->error, RaftError::kNotLeaderOrFollower);
  EXPECT_EQ((*Bind(shard_, Id(99), "writer"))->error, RaftError::kUnknownTopicOrPartition);
}

// --- followers, truncation, restart

RecordBatch BatchOf(int64_t offset, const ProducerStamp& stamp, int64_t epoch = 1) {
  BatchDraft draft = DraftOf();
  // The time of the test, so that it is not expired before the next leader's first record.
  draft.base_timestamp_ms = 1'700'000'000'000;
  draft.max_timestamp_ms = draft.base_timestamp_ms;
  draft.producer = stamp;
  return RecordBatch::Seal(kA, Offset(offset), Epoch(epoch), draft);
}

// A shard whose replica of kA follows node 2, in one of three voters.
class ShardFollowerProducersTest : public testing::Test {
 protected:
  ShardFollowerProducersTest() { shard_.Follow({kA}); }

  void Take(FetchAnswerEntry entry) {
    SentRequest request = std::move(shard_.sent().back());
    shard_.Forget();
    shard_.Answer(&request, SessionAnswer(request, ++answers_, {std::move(entry)}));
    shard_.Sync();
  }
  // The others vote for this replica; node 2 then has its epoch's first record. All of the log is
  // committed.
  void TakeLeadership() {
    shard_.Forget();
    for (int i = 0; i < 1000 && shard_.Replica(kA).role() != raft::RoleKind::kLeader; ++i) {
      shard_.Advance(Ms(10));
      shard_.GrantVotes();
      shard_.Sync();
    }
    ASSERT_EQ(shard_.Replica(kA).role(), raft::RoleKind::kLeader);
    CommitAll(shard_, kA);
  }
  Awaited<AppendResult> Add(const ProducerStamp& stamp) {
    Wanted wanted;
    wanted.producer = stamp;
    return Append(shard_, kA, wanted);
  }

  ShardHarness shard_;
  uint64_t answers_ = 0;
};

TEST_F(ShardFollowerProducersTest, ANewLeaderJudgesAtOnce) {
  Take(Fetched(kA, 2, 1, {BatchOf(0, Stamp(1, 0, 0)), BatchOf(1, Stamp(1, 0, 1))}, 1));
  TakeLeadership();
  const auto retry = Add(Stamp(1, 0, 1));
  ASSERT_TRUE(retry->has_value());
  EXPECT_EQ((*retry)->outcome, Outcome::kCommitted)
      << (*retry)->error << ' ' << static_cast<int>((*retry)->refusal);
  EXPECT_TRUE((*retry)->duplicate);
  EXPECT_EQ((*retry)->base_offset, Offset(1));
  EXPECT_EQ((*retry)->epoch, Epoch(1)) << "the epoch that it was appended in";
}

TEST_F(ShardFollowerProducersTest, ARetryAfterTruncationIsNew) {
  Take(Fetched(kA, 2, 1, {BatchOf(0, Stamp(1, 0, 0)), BatchOf(1, Stamp(1, 0, 1))}, 1));
  (void)shard_.Request(3, BeginBatch{{BeginEntry{kA, Epoch(2)}}});
  shard_.Sync();
  FetchAnswerEntry cut = Fetched(kA, 3, 2, {}, 1);
  cut.diverging = OffsetAndEpoch{Offset(1), Epoch(1)};
  answers_ = 0;
  ASSERT_EQ(shard_.sent().back().to(), Key(3));
  Take(cut);
  ASSERT_EQ(shard_.Replica(kA).log().end(), Offset(1));
  TakeLeadership();
  const auto retry = Add(Stamp(1, 0, 1));
  CommitAll(shard_, kA);
  ASSERT_TRUE(retry->has_value());
  EXPECT_EQ((*retry)->outcome, Outcome::kCommitted);
  EXPECT_FALSE((*retry)->duplicate);
}

// A sole voter, which leads again after each restart.
class ShardRestartProducersTest : public testing::Test {
 protected:
  ShardRestartProducersTest() : shard_(1) {
    shard_.Lead(kA, VotersOf(1));
    shard_.Sync();
  }

  AppendResult Add(const ProducerStamp& stamp) {
    Wanted wanted;
    wanted.producer = stamp;
    const auto result = Append(shard_, kA, wanted);
    shard_.Sync();
    EXPECT_TRUE(result->has_value());
    return result->value_or(AppendResult{});
  }
  void Restart() {
    shard_.Restart();
    for (int i = 0; i < 1000 && shard_.Replica(kA).role() != raft::RoleKind::kLeader; ++i) {
      shard_.Advance(Ms(10));
      shard_.Sync();
    }
    shard_.Sync();
  }

  ShardHarness shard_;
};

TEST_F(ShardRestartProducersTest, StatesComeBackFromTheDiskAndTheLogAboveIt) {
  EXPECT_FALSE(Add(Stamp(1, 0, 0)).duplicate);
  shard_.Advance(Ms(2000));
  // This write carries what is committed, and is itself read from the log again.
  EXPECT_FALSE(Add(Stamp(1, 0, 1)).duplicate);
  EXPECT_FALSE(Add(Stamp(2, 0, 0)).duplicate);
  Restart();
  const auto& stored = shard_.recovered().replicas.at(0);
  EXPECT_GT(stored.producers.summary.offset, Offset(2)) << "else this tests nothing";
  EXPECT_FALSE(stored.batches_above.empty());
  for (const ProducerStamp& stamp : {Stamp(1, 0, 0), Stamp(1, 0, 1), Stamp(2, 0, 0)}) {
    EXPECT_TRUE(Add(stamp).duplicate);
  }
  EXPECT_EQ(Add(Stamp(1, 0, 1)).epoch, Epoch(1));
  EXPECT_EQ(Add(Stamp(1, 0, 7)).refusal, AppendRefusal::kOutOfOrderSequence);
  EXPECT_FALSE(Add(Stamp(1, 0, 2)).duplicate);
}

TEST_F(ShardRestartProducersTest, NamesAndConditionsComeBack) {
  const auto first = Bind(shard_, kA, "writer");
  shard_.Sync();
  const int64_t id = (*first)->producer_id;
  (void)Add(Stamp(id, 0, 0));
  Restart();
  EXPECT_EQ(Add(Stamp(id, 1, 0)).refusal, AppendRefusal::kUnknownProducer);
  const auto second = Bind(shard_, kA, "writer");
  shard_.Sync();
  EXPECT_EQ((*second)->producer_epoch, 1);
  Restart();
  EXPECT_EQ(Add(Stamp(id, 0, 1)).refusal, AppendRefusal::kProducerFenced);
  Wanted wanted;
  wanted.expected_offset = 3;
  const auto mismatch = Append(shard_, kA, wanted);
  shard_.Sync();
  EXPECT_EQ((*mismatch)->refusal, AppendRefusal::kOffsetMismatch) << "data lies at 3";
  wanted.expected_offset = 4;
  const auto holds = Append(shard_, kA, wanted);
  shard_.Sync();
  EXPECT_EQ((*holds)->outcome, Outcome::kCommitted) << "only control records lie above";
}

TEST_F(ShardRestartProducersTest, ExpiryIsByTheTimeOfTheLogAndNotOfTheClock) {
  const int64_t day_ms = int64_t{24} * 3600 * 1000;
  (void)Add(Stamp(1, 0, 0));
  shard_.MoveWall(2 * day_ms);
  EXPECT_TRUE(Add(Stamp(1, 0, 0)).duplicate) << "no batch says that time has passed";
  EXPECT_EQ(Add(Stamp(1, 0, 1)).outcome, Outcome::kCommitted);
  shard_.MoveWall(day_ms);
  (void)Add(Stamp(2, 0, 0));
  EXPECT_EQ(Add(Stamp(1, 0, 2)).refusal, AppendRefusal::kUnknownProducer);
  shard_.MoveWall(-2 * day_ms);
  EXPECT_EQ(Add(Stamp(1, 0, 2)).refusal, AppendRefusal::kUnknownProducer);
  EXPECT_TRUE(Add(Stamp(2, 0, 0)).duplicate) << "a clock that went back changes nothing";
}

// A record may carry any time; that must not make others expire.
TEST_F(ShardRestartProducersTest, TheTimeOfARecordLetsNobodyExpire) {
  (void)Add(Stamp(1, 0, 0));
  AppendCall call;
  call.partition = kA;
  call.draft = DraftOf();
  call.draft.max_timestamp_ms = int64_t{1} << 60;
  call.done = [](const AppendResult&) {};
  shard_.Call(std::move(call));
  shard_.Sync();
  (void)Add(Stamp(2, 0, 0));
  EXPECT_TRUE(Add(Stamp(1, 0, 0)).duplicate);
  EXPECT_EQ(Add(Stamp(1, 0, 1)).outcome, Outcome::kCommitted);
}

}  // namespace
}  // namespace quorum::shard
