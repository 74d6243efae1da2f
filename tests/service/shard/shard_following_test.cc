// What a replica does with what its leader sends: batches, and where their logs part.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/service/shard/shard_harness.h"

namespace quorum::shard {
namespace {

using raft::RoleKind;
using testing::IsEmpty;
using testing::SizeIs;

const PartitionId kA = Id(10);
const PartitionId kB = Id(11);
const PartitionId kLed = Id(12);

ShardConfig Uncached() {
  ShardConfig config;
  config.cache_bytes_max = 0;
  return config;
}

// Follows node 2 in epoch 1 and holds `sizes` records in one batch each, all synced. The Fetch at
// their end is the only request in sent().
void FollowWith(ShardHarness& shard, const std::vector<uint32_t>& sizes) {
  shard.Follow({kA});
  std::vector<RecordBatch> batches;
  int64_t end = 0;
  for (const uint32_t size : sizes) {
    batches.push_back(BatchAt(kA, end, 1, size));
    end += size;
  }
  SentRequest fetch = std::move(shard.sent().at(0));
  shard.Forget();
  shard.Answer(&fetch, SessionAnswer(fetch, 1, {Fetched(kA, 2, 1, batches, 0)}));
  shard.Sync();
  ASSERT_THAT(shard.sent(), SizeIs(1));
  ASSERT_EQ(shard.sent()[0].As<FetchBatch>()->entries.at(0).fetch_offset, Offset(end));
}

// The leader says that its log parts from this one at `offset`.
void Diverge(ShardHarness& shard, int64_t offset, uint64_t answer = 2) {
  SentRequest fetch = std::move(shard.sent().at(0));
  shard.Forget();
  FetchAnswerEntry entry = Fetched(kA, 2, 1);
  entry.diverging = OffsetAndEpoch{Offset(offset), Epoch(1)};
  shard.Answer(&fetch, SessionAnswer(fetch, answer, {entry}));
}

TEST(ShardFollowingTest, BatchesThatCannotBeReadAreAskedForAgainAfterABackOff) {
  ShardHarness shard;
  shard.Follow({kA});
  BatchDraft draft;
  draft.record_count = 1;
  draft.control = true;
  draft.records = std::string("\x62\x02\x08\x01", 4);  // A control record of no kind.
  const RecordBatch odd = RecordBatch::Seal(kA, Offset(0), Epoch(1), draft);
  for (uint64_t answer = 1; answer <= 3; ++answer) {
    SentRequest fetch = shard.AwaitFetch(Key(2));
    shard.Answer(&fetch, SessionAnswer(fetch, answer, {Fetched(kA, 2, 1, {odd}, 0)}));
    EXPECT_THAT(shard.sent(), IsEmpty()) << "it is not asked for again at once";
    EXPECT_EQ(shard.Replica(kA).log().end(), Offset(0));
  }
  (void)shard.AwaitFetch(Key(2));
  EXPECT_FALSE(shard.Replica(kA).quarantine().has_value());
}

TEST(ShardFollowingTest, BatchesThatAreDamagedOnTheirWayAreAskedForAgainAfterABackOff) {
  ShardHarness shard;
  shard.Follow({kA});
  for (uint64_t answer = 1; answer <= 3; ++answer) {
    SentRequest fetch = shard.AwaitFetch(Key(2));
    FetchAnswerEntry entry = Fetched(kA, 2, 1, {}, 0);
    entry.damaged = true;
    shard.Answer(&fetch, SessionAnswer(fetch, answer, {entry}));
    EXPECT_THAT(shard.sent(), IsEmpty()) << "it is not asked for again at once";
  }
  SentRequest fetch = shard.AwaitFetch(Key(2));
  FetchAnswerEntry entry = Fetched(kA, 2, 1, {BatchAt(kA, 0)}, 0);
  entry.damaged = true;
  shard.Answer(&fetch, SessionAnswer(fetch, 4, {entry}));
  shard.Sync();
  EXPECT_EQ(shard.Replica(kA).log().end(), Offset(1)) << "what came before it is taken";
  EXPECT_THAT(shard.SentOf<FetchBatch>(Key(2)), SizeIs(1));
  EXPECT_EQ(shard.damaged_fetches(), 4);
  EXPECT_FALSE(shard.Replica(kA).quarantine().has_value());
}

// A follower that catches up must not throttle the clients of what is led here.
TEST(ShardFollowingTest, WhatIsFetchedHasABoundOfItsOwn) {
  ShardConfig config;
  config.unsynced_bytes_max = 1000;
  config.fetched_unsynced_bytes_max = 1500;
  ShardHarness shard(1, config);
  shard.Lead(kLed, VotersOf(1));
  shard.Sync();
  shard.Follow({kA, kB});
  EXPECT_EQ(shard.sent()[0].As<FetchBatch>()->max_bytes, 1500u);
  SentRequest fetch = std::move(shard.sent().at(0));
  shard.Forget();
  const RecordBatch large = BatchAt(kA, 0, 1, 1, 2000);
  shard.Answer(&fetch,
               SessionAnswer(fetch, 1, {Fetched(kA, 2, 1, {large}, 0), Fetched(kB, 2, 1, {}, 0)}));
  EXPECT_EQ(shard.shard().unsynced_bytes(), large.size());
  ASSERT_THAT(shard.SentOf<FetchBatch>(Key(2)), SizeIs(1)) << "kB waits for no sync";
  EXPECT_EQ(shard.sent()[0].As<FetchBatch>()->max_bytes, 0u) << "one batch";
  const auto append = shard.Append(kLed, DraftOf(1, 600));
  EXPECT_FALSE(append->has_value()) << "taken";
  shard.Forget();
  shard.Sync();
  EXPECT_EQ(shard.shard().unsynced_bytes(), 0u);
  EXPECT_EQ((*append)->outcome, AppendResult::Outcome::kCommitted);
  ASSERT_THAT(shard.SentOf<FetchBatch>(Key(2)), SizeIs(1));
  EXPECT_EQ(shard.sent()[0].As<FetchBatch>()->max_bytes, 1500u);
}

TEST(ShardFollowingTest, ACutBetweenBatchesIsMadeOnceTheDiskHasShownTheBorder) {
  ShardHarness shard(1, Uncached());
  FollowWith(shard, {2, 3});
  Diverge(shard, 2);
  EXPECT_EQ(shard.Replica(kA).log().end(), Offset(5)) << "nothing is cut before the border is seen";
  shard.Read();
  EXPECT_EQ(shard.Replica(kA).log().end(), Offset(2));
  EXPECT_FALSE(shard.Replica(kA).quarantine().has_value());
  shard.Sync();
  ASSERT_THAT(shard.SentOf<FetchBatch>(Key(2)), SizeIs(1));
  EXPECT_EQ(shard.SentOf<FetchBatch>(Key(2))[0]->As<FetchBatch>()->entries.at(0).fetch_offset,
            Offset(2));
}

TEST(ShardFollowingTest, ACutBetweenCachedBatchesNeedsNoDisk) {
  ShardHarness shard;
  FollowWith(shard, {2, 3});
  Diverge(shard, 2);
  EXPECT_EQ(shard.Replica(kA).log().end(), Offset(2));
  EXPECT_FALSE(shard.disk().HasPendingReads());
}

// What is left of a cut batch would come back whole at the next start.
TEST(ShardFollowingTest, ACutInsideABatchQuarantinesWhereverTheBatchIs) {
  for (const bool cached : {true, false}) {
    ShardHarness shard(1, cached ? ShardConfig() : Uncached());
    FollowWith(shard, {2, 3});
    Diverge(shard, 4);
    shard.Read();
    EXPECT_TRUE(shard.Replica(kA).quarantine().has_value()) << cached;
    shard.Sync();
    for (const SentRequest* fetch : shard.SentOf<FetchBatch>()) {
      for (const FetchEntry& entry : fetch->As<FetchBatch>()->entries) {
        EXPECT_TRUE(entry.withdraw) << "it acknowledges nothing";
      }
    }
    shard.Restart();
    EXPECT_EQ(shard.Replica(kA).log().end(), Offset(5)) << "the disk was left as it was";
  }
}

TEST(ShardFollowingTest, ACutIsForgottenWhenTheRoleChangesBeforeTheDiskAnswers) {
  for (const int64_t offset : {2, 4}) {
    ShardHarness shard(1, Uncached());
    FollowWith(shard, {2, 3});
    Diverge(shard, offset);
    (void)shard.Request(3, BeginBatch{{BeginEntry{kA, Epoch(2)}}});
    shard.Read();
    EXPECT_EQ(shard.Replica(kA).log().end(), Offset(5));
    EXPECT_FALSE(shard.Replica(kA).quarantine().has_value());
  }
}

TEST(ShardFollowingTest, ADiskThatIsTooBusyForTheBorderIsAskedAgain) {
  ShardHarness shard(1, Uncached());
  FollowWith(shard, {2, 3});
  shard.FailReads(absl::ResourceExhaustedError("busy"));
  Diverge(shard, 2);
  EXPECT_FALSE(shard.Replica(kA).quarantine().has_value());
  EXPECT_EQ(shard.Replica(kA).log().end(), Offset(5));
  shard.Advance(Ms(100));
  EXPECT_FALSE(shard.SentOf<FetchBatch>().empty());
}

// --- what is known to be committed

// The next answer of the leader, that has nothing new but its watermark.
void NameWatermark(ShardHarness& shard, int64_t high_watermark, uint64_t answer) {
  SentRequest fetch = std::move(shard.sent().at(0));
  shard.Forget();
  shard.Answer(&fetch, SessionAnswer(fetch, answer, {Fetched(kA, 2, 1, {}, high_watermark)}));
}

// Whoever restarts a quarantined replica must not make it forget why it was quarantined.
TEST(ShardFollowingTest, ACutOfCommittedRecordsIsRefusedAfterARestartToo) {
  ShardHarness shard;
  FollowWith(shard, {1, 1, 1});
  NameWatermark(shard, 3, 2);
  Diverge(shard, 1, 3);
  EXPECT_TRUE(shard.Replica(kA).quarantine().has_value());
  shard.Sync();
  for (int start = 1; start <= 3; ++start) {
    shard.Restart();
    EXPECT_EQ(shard.Replica(kA).committed(), Offset(3));
    shard.Sync();
    ASSERT_THAT(shard.SentOf<FetchBatch>(Key(2)), SizeIs(1));
    Diverge(shard, 1, 1);
    shard.Read();
    EXPECT_TRUE(shard.Replica(kA).quarantine().has_value()) << "start " << start;
    EXPECT_EQ(shard.Replica(kA).log().end(), Offset(3));
  }
}

TEST(ShardFollowingTest, WhatIsCommittedIsNotedWhenNothingFollows) {
  ShardHarness shard;
  shard.Lead(kLed, VotersOf(1));
  for (int i = 0; i < 3; ++i) {
    (void)shard.Append(kLed);
    shard.Sync();
  }
  const Offset committed = shard.Replica(kLed).committed();
  EXPECT_EQ(committed, shard.Replica(kLed).log().end());
  shard.Advance(Ms(1'500));
  EXPECT_EQ(shard.disk().PendingWriteSets(), 1u);
  shard.Sync();
  shard.Advance(Ms(10'000));
  EXPECT_EQ(shard.disk().PendingWriteSets(), 0u) << "there is nothing new";
  shard.Restart();
  EXPECT_EQ(shard.recovered().replicas.at(0).high_watermark_bound, committed);
}

TEST(ShardFollowingTest, ManyThatBecomeIdleAreNotedTogether) {
  ShardHarness shard;
  for (uint64_t topic = 1; topic <= 100; ++topic) shard.Lead(Id(topic), VotersOf(1));
  for (uint64_t topic = 1; topic <= 100; ++topic) (void)shard.Append(Id(topic));
  shard.Sync();
  shard.Advance(Ms(3'000));
  EXPECT_EQ(shard.disk().PendingWriteSets(), 1u);
}

}  // namespace
}  // namespace quorum::shard
