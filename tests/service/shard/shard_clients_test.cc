// Append and Read as clients see them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "service/base/prng.h"
#include "tests/service/shard/shard_harness.h"

namespace quorum::shard {
namespace {

using Outcome = AppendResult::Outcome;
using raft::RaftError;
using testing::IsEmpty;
using testing::SizeIs;

const PartitionId kA = Id(10);

FetchBatch FetchOnce(std::vector<FetchEntry> entries) {
  FetchBatch batch;
  batch.max_bytes = 1 << 20;
  batch.entries = std::move(entries);
  return batch;
}

// Node `from` acknowledges everything below `offset`.
void Acknowledge(ShardHarness& shard, int32_t from, int64_t offset) {
  (void)shard.Request(from, FetchOnce({FetchAt(kA, 1, offset, 1)}));
}

// --- Append

TEST(ShardAppendTest, IsAnsweredOnceAMajorityHasSyncedIt) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  const auto result = shard.Append(kA, DraftOf(3));
  shard.Sync();
  EXPECT_FALSE(result->has_value()) << "only the leader has it";
  Acknowledge(shard, 2, 5);
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((*result)->outcome, Outcome::kCommitted);
  EXPECT_EQ((*result)->base_offset, Offset(2));
  EXPECT_EQ((*result)->epoch, Epoch(1));
  EXPECT_EQ((*result)->hint.leader, Key(1));
  EXPECT_EQ(shard.shard().waiter_count(), 0u);
}

TEST(ShardAppendTest, DoesNotWaitForALeaderThatIsSlowerThanTheOthers) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  const auto result = shard.Append(kA);
  Acknowledge(shard, 2, 3);
  EXPECT_FALSE(result->has_value());
  Acknowledge(shard, 3, 3);
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((*result)->outcome, Outcome::kCommitted);
  EXPECT_EQ(shard.disk().PendingWriteSets(), 1u);
}

TEST(ShardAppendTest, AWholeRoundIsOneWrite) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(1));
  shard.Lead(Id(11), VotersOf(1));
  shard.Sync();
  int committed = 0;
  for (int i = 0; i < 100; ++i) {
    AppendCall call;
    call.partition = i % 2 == 0 ? kA : Id(11);
    call.draft = DraftOf();
    call.done = [&committed](const AppendResult& result) {
      if (result.outcome == Outcome::kCommitted) ++committed;
    };
    ASSERT_TRUE(shard.shard().Post(std::move(call)));
  }
  shard.Run();
  EXPECT_EQ(shard.disk().PendingWriteSets(), 1u);
  EXPECT_EQ(committed, 0);
  shard.Sync();
  EXPECT_EQ(committed, 100);
}

TEST(ShardAppendTest, IsRefusedWhereItCannotGoIntoTheLog) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  (void)shard.Birth(Id(11), VotersOf(3));
  shard.Sync();
  const auto expect = [](const Awaited<AppendResult>& result, RaftError error) {
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ((*result)->outcome, Outcome::kRefused);
    EXPECT_EQ((*result)->error, error);
  };
  expect(shard.Append(Id(99)), RaftError::kUnknownTopicOrPartition);
  expect(shard.Append(Id(11)), RaftError::kNotLeaderOrFollower);
  expect(shard.Append(kA, DraftOf(), kNever, Epoch(0)), RaftError::kFencedLeaderEpoch);
  expect(shard.Append(kA, DraftOf(), kNever, Epoch(2)), RaftError::kUnknownLeaderEpoch);
  EXPECT_EQ(shard.Replica(kA).log().end(), Offset(2));
  EXPECT_EQ(shard.shard().waiter_count(), 0u);
  EXPECT_FALSE(shard.Append(kA, DraftOf(), kNever, Epoch(1))->has_value()) << "taken";
}

TEST(ShardAppendTest, ThatIsNotCommittedInTimeIsUnknownForEver) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  const auto result = shard.Append(kA, DraftOf(), shard.now() + Ms(100));
  shard.Sync();
  shard.Advance(Ms(90));
  EXPECT_FALSE(result->has_value());
  shard.Advance(Ms(20));
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((*result)->outcome, Outcome::kUnknown);
  EXPECT_EQ(shard.shard().waiter_count(), 0u);
  // That it is committed later changes nothing of the answer; the harness checks that there is one.
  Acknowledge(shard, 2, 3);
  EXPECT_EQ(shard.Replica(kA).high_watermark(), Offset(3));
  EXPECT_EQ((*result)->outcome, Outcome::kUnknown);
}

TEST(ShardAppendTest, ThatComesTooLateIsNotInTheLog) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  const auto result = shard.Append(kA, DraftOf(), shard.now());
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((*result)->outcome, Outcome::kRefused);
  EXPECT_EQ((*result)->error, RaftError::kRequestTimedOut);
  EXPECT_EQ(shard.Replica(kA).log().end(), Offset(2));
  EXPECT_FALSE(shard.Append(kA, DraftOf(), shard.now() + Ms(1))->has_value()) << "taken";
}

TEST(ShardAppendTest, OfALeaderThatLosesItsEpochIsUnknownOnceThatIsSynced) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  const auto result = shard.Append(kA);
  shard.Sync();
  (void)shard.Request(3, VoteBatch{{VoteFor(kA, 5, 9, 4)}});
  EXPECT_FALSE(result->has_value());
  const auto refused = shard.Append(kA);
  EXPECT_FALSE(refused->has_value()) << "it would tell of an epoch that is not on disk";
  shard.Sync();
  ASSERT_TRUE(result->has_value());
  EXPECT_EQ((*result)->outcome, Outcome::kUnknown);
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((*refused)->outcome, Outcome::kRefused);
  EXPECT_EQ((*refused)->hint.epoch, Epoch(5));
}

TEST(ShardAppendTest, IsRefusedWhileTooMuchIsUnsynced) {
  ShardConfig config;
  config.unsynced_bytes_max = 1000;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  const auto first = shard.Append(kA, DraftOf(1, 600));
  EXPECT_GT(shard.shard().unsynced_bytes(), 600u);
  const auto second = shard.Append(kA, DraftOf(1, 600));
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->error, RaftError::kThrottled);
  EXPECT_EQ((*second)->outcome, Outcome::kRefused);
  shard.Sync();
  EXPECT_EQ(shard.shard().unsynced_bytes(), 0u);
  EXPECT_EQ((*first)->outcome, Outcome::kCommitted);
  const auto third = shard.Append(kA, DraftOf(1, 600));
  shard.Sync();
  EXPECT_EQ((*third)->outcome, Outcome::kCommitted);
  EXPECT_EQ((*third)->base_offset, Offset(3)) << "what was refused took no offset";
}

// What one shard may hold may be less than a batch.
TEST(ShardAppendTest, IsTakenHoweverLargeWhenNothingIsUnsynced) {
  ShardConfig config;
  config.unsynced_bytes_max = 1000;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  const auto first = shard.Append(kA, DraftOf(1, 2000));
  EXPECT_FALSE(first->has_value());
  const auto second = shard.Append(kA, DraftOf(1, 2000));
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->error, RaftError::kThrottled);
  shard.Sync();
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->outcome, Outcome::kCommitted);
}

// Each keeps its client's request in memory, whatever its leader's own disk says.
TEST(ShardAppendTest, IsRefusedWhileTooMuchIsUncommitted) {
  ShardConfig config;
  config.unsynced_bytes_max = 1000;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(3));
  std::vector<Awaited<AppendResult>> appends;
  const auto append = [&](MonoTime deadline = kNever) {
    appends.push_back(shard.Append(kA, DraftOf(1, 600), deadline));
    shard.Sync();
    return !appends.back()->has_value();
  };
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(append(i == 0 ? shard.now() + Ms(100) : kNever));
  EXPECT_EQ(shard.shard().unsynced_bytes(), 0u);
  EXPECT_FALSE(append()) << "4,000 bytes may wait";
  EXPECT_EQ((*appends.back())->outcome, Outcome::kRefused);
  EXPECT_EQ((*appends.back())->error, RaftError::kThrottled);
  shard.Advance(Ms(100));
  EXPECT_TRUE(append()) << "nobody waits for the first any more";
  EXPECT_FALSE(append());
  Acknowledge(shard, 2, shard.Replica(kA).log().end().value());
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(append());
  EXPECT_FALSE(append());
  (void)shard.Request(3, VoteBatch{{VoteFor(kA, 5, 100, 4)}});
  shard.Sync();
  for (const auto& result : appends) EXPECT_TRUE(result->has_value());
  EXPECT_EQ(shard.shard().waiter_count(), 0u);
}

// --- Read

TEST(ShardReadTest, ShowsWhatIsCommittedAndSyncedHere) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  const auto first = shard.ReadFrom(kA, 1, kNever);
  ASSERT_TRUE(first->has_value());
  ASSERT_THAT((*first)->batches, SizeIs(1)) << "the batch that holds the offset";
  EXPECT_EQ((*first)->batches[0].base_offset(), Offset(0));
  EXPECT_EQ((*first)->next, Offset(2));
  EXPECT_EQ((*first)->exposed, Offset(2));
  EXPECT_EQ((*first)->hint.leader, Key(1));
  const auto waiting = shard.ReadFrom(kA, 2, kNever, 2, 1);
  (void)shard.Append(kA);
  Acknowledge(shard, 2, 3);
  Acknowledge(shard, 3, 3);
  EXPECT_EQ(shard.Replica(kA).high_watermark(), Offset(3));
  EXPECT_FALSE(waiting->has_value()) << "committed, but not synced here";
  shard.Sync();
  ASSERT_TRUE(waiting->has_value());
  ASSERT_THAT((*waiting)->batches, SizeIs(1));
  EXPECT_EQ((*waiting)->batches[0].base_offset(), Offset(2));
  EXPECT_EQ((*waiting)->next, Offset(3));
}

TEST(ShardReadTest, WaitsForRecordsNoLongerThanItsDeadline) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  const auto at_end = shard.ReadFrom(kA, 2, shard.now() + Ms(100), 2, 1);
  const auto beyond = shard.ReadFrom(kA, 50, shard.now() + Ms(200), 2, 1);
  shard.Advance(Ms(90));
  EXPECT_FALSE(at_end->has_value());
  shard.Advance(Ms(20));
  ASSERT_TRUE(at_end->has_value());
  EXPECT_THAT((*at_end)->batches, IsEmpty());
  EXPECT_EQ((*at_end)->next, Offset(2));
  EXPECT_EQ((*at_end)->error, RaftError::kNone);
  EXPECT_FALSE(beyond->has_value()) << "somebody else may have shown that offset already";
  shard.Advance(Ms(100));
  ASSERT_TRUE(beyond->has_value());
  EXPECT_EQ((*beyond)->next, Offset(50));
  EXPECT_FALSE((*beyond)->below_log_start);
}

// The sooner deadline comes second, and a write of the role lies between them and its end.
TEST(ShardReadTest, DeadlinesHoldInWhateverOrderTheyCome) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  const auto late = shard.ReadFrom(kA, 2, shard.now() + Ms(300), 2, 1);
  const auto soon = shard.ReadFrom(kA, 2, shard.now() + Ms(100), 2, 1);
  const auto middle = shard.ReadFrom(kA, 2, shard.now() + Ms(200), 2, 1);
  shard.Advance(Ms(110));
  EXPECT_TRUE(soon->has_value());
  EXPECT_FALSE(middle->has_value());
  (void)shard.Request(3, VoteBatch{{VoteFor(kA, 5, 9, 4)}});
  shard.Advance(Ms(100));
  EXPECT_FALSE(middle->has_value()) << "its time is over, but what it would tell is not on disk";
  shard.Sync();
  EXPECT_TRUE(middle->has_value());
  EXPECT_TRUE(late->has_value()) << "there are news";
  const auto again = shard.ReadFrom(kA, 2, shard.now() + Ms(50), 2, 5);
  EXPECT_FALSE(again->has_value());
  shard.Advance(Ms(60));
  EXPECT_TRUE(again->has_value());
}

TEST(ShardReadTest, TellsNewsAtOnce) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  EXPECT_TRUE(shard.ReadFrom(kA, 50, kNever)->has_value()) << "told nothing yet";
  EXPECT_TRUE(shard.ReadFrom(kA, 50, kNever, 2, 0)->has_value()) << "another epoch";
  EXPECT_TRUE(shard.ReadFrom(kA, 50, kNever, 1, 1)->has_value()) << "the watermark has moved";
  const auto waiting = shard.ReadFrom(kA, 50, kNever, 2, 1);
  EXPECT_FALSE(waiting->has_value());
  (void)shard.Append(kA);
  shard.Sync();
  ASSERT_TRUE(waiting->has_value());
  EXPECT_THAT((*waiting)->batches, IsEmpty());
  EXPECT_EQ((*waiting)->exposed, Offset(3));
}

TEST(ShardReadTest, WhoWasToldNoWatermarkIsToldAtOnceThatThereIsNone) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(3));
  shard.Sync();
  const auto read = shard.ReadFrom(kA, 0, kNever, std::nullopt, 0);
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->exposed, Offset(0));
  EXPECT_FALSE(shard.ReadFrom(kA, 0, kNever, 0, 0)->has_value()) << "that one knows";
}

TEST(ShardReadTest, TellsAChangeOfLeaderOnceThatIsSynced) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  const auto parked = shard.ReadFrom(kA, 2, kNever, 2, 1);
  (void)shard.Request(3, VoteBatch{{VoteFor(kA, 5, 9, 4)}});
  const auto late = shard.ReadFrom(kA, 0, kNever);
  EXPECT_FALSE(parked->has_value());
  EXPECT_FALSE(late->has_value());
  shard.Sync();
  ASSERT_TRUE(parked->has_value());
  EXPECT_EQ((*parked)->hint.epoch, Epoch(5));
  EXPECT_EQ((*parked)->hint.leader, std::nullopt);
  EXPECT_TRUE(late->has_value());
}

// A vote is no news, but the reads that came while it was written must not be forgotten.
TEST(ShardReadTest, IsLookedAtAgainAfterAWriteThatBringsNoNews) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(3));
  shard.Sync();
  (void)shard.Request(2, VoteBatch{{VoteFor(kA, 0, 0, 0, true)}});
  shard.Sync();
  (void)shard.Request(3, VoteBatch{{VoteFor(kA, 5)}});
  shard.Run();
  const auto read = shard.ReadFrom(kA, 0, kNever);
  shard.disk().CompleteWrites(1);
  shard.Sync();
  EXPECT_TRUE(read->has_value());
}

TEST(ShardReadTest, BelowTheStartOfTheLogIsSaidSo) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  const auto below = shard.ReadFrom(kA, -1, kNever);
  ASSERT_TRUE(below->has_value());
  EXPECT_TRUE((*below)->below_log_start);
  EXPECT_EQ((*below)->next, Offset(0));
  EXPECT_THAT((*below)->batches, IsEmpty());
}

TEST(ShardReadTest, GivesNoMoreThanAskedButOneBatch) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(1));
  for (int i = 0; i < 3; ++i) (void)shard.Append(kA, DraftOf(1, 100));
  shard.Sync();
  EXPECT_THAT((*shard.ReadFrom(kA, 2, kNever, {}, {}, 0))->batches, SizeIs(1));
  EXPECT_THAT((*shard.ReadFrom(kA, 2, kNever, {}, {}, 350))->batches, SizeIs(2));
  EXPECT_EQ((*shard.ReadFrom(kA, 2, kNever, {}, {}, 350))->next, Offset(4));
}

TEST(ShardReadTest, TooManyThatWaitAreRefusedAndOthersServed) {
  ShardConfig config;
  config.parked_reads_max = 2;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  const auto first = shard.ReadFrom(kA, 2, kNever, 2, 1);
  const auto second = shard.ReadFrom(kA, 2, kNever, 2, 1);
  const auto third = shard.ReadFrom(kA, 2, kNever, 2, 1);
  ASSERT_TRUE(third->has_value());
  EXPECT_EQ((*third)->error, RaftError::kThrottled);
  EXPECT_EQ((*third)->next, Offset(2));
  const auto records = shard.ReadFrom(kA, 0, kNever);
  ASSERT_TRUE(records->has_value()) << "it need not wait";
  EXPECT_THAT((*records)->batches, SizeIs(1));
  (void)shard.Append(kA);
  shard.Sync();
  EXPECT_TRUE(first->has_value());
  EXPECT_TRUE(second->has_value());
}

TEST(ShardReadTest, GoesToTheDiskForWhatLeftTheCache) {
  ShardConfig config;
  config.cache_bytes_max = 0;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(1));
  (void)shard.Append(kA);
  shard.Sync();
  const auto read = shard.ReadFrom(kA, 0, kNever);
  EXPECT_FALSE(read->has_value());
  shard.Read();
  ASSERT_TRUE(read->has_value());
  EXPECT_THAT((*read)->batches, SizeIs(2));
  EXPECT_EQ((*read)->next, Offset(3));
}

TEST(ShardReadTest, ThatFindsDamageQuarantinesThePartition) {
  ShardConfig config;
  config.cache_bytes_max = 0;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  Prng prng(1);
  ASSERT_TRUE(shard.disk().FlipBitOfLog(kA, &prng));
  const auto read = shard.ReadFrom(kA, 0, kNever);
  shard.Read();
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->error, RaftError::kBrokerNotAvailable);
  EXPECT_TRUE(shard.Replica(kA).quarantine().has_value());
  EXPECT_EQ((*shard.ReadFrom(kA, 0, kNever))->error, RaftError::kBrokerNotAvailable);
  EXPECT_EQ((*shard.Append(kA))->error, RaftError::kBrokerNotAvailable);
  EXPECT_TRUE((*shard.Describe(kA))->quarantine.has_value());
}

// Nobody reads from a quarantined replica, so nothing of it needs to be at hand.
TEST(ShardReadTest, ThatQuarantinesLeavesNothingInTheCache) {
  ShardConfig config;
  config.cache_bytes_max = 0;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  EXPECT_EQ(shard.shard().cached_bytes(), 0u);
  (void)shard.Append(kA);
  EXPECT_GT(shard.shard().cached_bytes(), 0u) << "it is not synced";
  shard.FailReads(absl::DataLossError("damaged"));
  (void)shard.ReadFrom(kA, 0, kNever);
  ASSERT_TRUE(shard.Replica(kA).quarantine().has_value());
  shard.Sync();
  EXPECT_EQ(shard.shard().cached_bytes(), 0u);
}

TEST(ShardReadTest, ThatTheDiskDoesNotHoldQuarantinesThePartition) {
  ShardConfig config;
  config.cache_bytes_max = 0;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  storage::MemoryImage image = shard.disk().SaveDatabase();
  for (const auto& [key, value] : shard.disk().image().family(storage::ColumnFamily::kLog)) {
    image.Delete(storage::ColumnFamily::kLog, key);
  }
  shard.disk().RestoreDatabase(std::move(image));
  const auto read = shard.ReadFrom(kA, 0, kNever);
  shard.Read();
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->error, RaftError::kBrokerNotAvailable);
  EXPECT_TRUE(shard.Replica(kA).quarantine().has_value());
}

// Too few file descriptors are no damage, and pass.
TEST(ShardReadTest, ThatFailsNowAndThenIsNoDamage) {
  ShardConfig config;
  config.cache_bytes_max = 0;
  config.failed_reads_max = 3;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(1));
  shard.Sync();
  for (int i = 0; i < 5; ++i) {
    shard.FailReads(absl::UnavailableError("too many open files"));
    for (int failed = 0; failed < 2; ++failed) {
      const auto read = shard.ReadFrom(kA, 0, kNever);
      ASSERT_TRUE(read->has_value());
      EXPECT_EQ((*read)->error, RaftError::kBrokerNotAvailable);
      EXPECT_FALSE(shard.Replica(kA).quarantine().has_value());
    }
    shard.FailReads(absl::OkStatus());
    const auto read = shard.ReadFrom(kA, 0, kNever);
    shard.Read();
    EXPECT_THAT((*read)->batches, SizeIs(1));
  }
  shard.FailReads(absl::UnavailableError("the disk is gone"));
  for (int failed = 0; failed < 3; ++failed) (void)shard.ReadFrom(kA, 0, kNever);
  EXPECT_TRUE(shard.Replica(kA).quarantine().has_value()) << "three in a row";
}

TEST(ShardReadTest, ThatTheDiskIsTooBusyForIsToBeTriedAgain) {
  ShardConfig config;
  config.cache_bytes_max = 0;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(3));
  shard.FailReads(absl::ResourceExhaustedError("busy"));
  const auto read = shard.ReadFrom(kA, 0, kNever);
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->error, RaftError::kThrottled);
  (void)shard.Request(3, FetchOnce({FetchAt(kA, 1, 0, 0)}));
  EXPECT_FALSE(shard.Replica(kA).quarantine().has_value()) << "nothing is damaged";
  shard.FailReads(absl::OkStatus());
  const auto again = shard.ReadFrom(kA, 0, kNever);
  shard.Read();
  ASSERT_TRUE(again->has_value());
  EXPECT_THAT((*again)->batches, SizeIs(1));
}

// A disk answers a read of a replica that was buried meanwhile, and born again.
TEST(ShardReadTest, OfAnEarlierLifeOfThePartitionSaysNothingOfThisOne) {
  for (const bool damaged : {false, true}) {
    ShardConfig config;
    config.cache_bytes_max = 0;
    ShardHarness shard(1, config);
    shard.Lead(kA, VotersOf(1));
    (void)shard.Append(kA);
    shard.Sync();
    Prng prng(1);
    if (damaged) ASSERT_TRUE(shard.disk().FlipBitOfLog(kA, &prng));
    const auto read = shard.ReadFrom(kA, 0, kNever);
    // The burial is not on disk yet, so what the disk answers is what the old replica held.
    (void)shard.Bury(kA);
    (void)shard.Birth(kA, VotersOf(1), 0);
    EXPECT_FALSE(read->has_value());
    shard.Read();
    ASSERT_TRUE(read->has_value());
    EXPECT_EQ((*read)->error, RaftError::kUnknownTopicOrPartition);
    EXPECT_THAT((*read)->batches, IsEmpty());
    EXPECT_FALSE(shard.Replica(kA).quarantine().has_value());
    shard.Sync();
    EXPECT_TRUE(shard.Replica(kA).is_ready_leader());
  }
}

TEST(ShardReadTest, OfAPartitionThatIsNotHereIsRefused) {
  ShardHarness shard;
  const auto read = shard.ReadFrom(kA, 7, kNever);
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->error, RaftError::kUnknownTopicOrPartition);
  EXPECT_EQ((*read)->next, Offset(7));
}

}  // namespace
}  // namespace quorum::shard
