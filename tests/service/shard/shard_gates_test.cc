// What may leave the node when: the quorum gate, the log gate, and the one exception; and that a
// round makes one write and one request of whatever many partitions do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/shard/shard_api.h"
#include "tests/service/shard/shard_harness.h"

namespace quorum::shard {
namespace {

using raft::RaftError;
using raft::RoleKind;
using testing::IsEmpty;
using testing::SizeIs;

const PartitionId kA = Id(10);
const PartitionId kB = Id(11);

bool IsMarker(const FetchAnswerEntry* entry) {
  return entry != nullptr && !entry->has_epoch &&
         entry->header.error == RaftError::kNotLeaderOrFollower && entry->header.epoch == Epoch(0);
}

TEST(ShardGatesTest, NothingLeavesBeforeWhatIsBornIsSynced) {
  ShardHarness shard;
  const auto born = shard.Birth(kA, VotersOf(3), 0);
  shard.Advance(Ms(100));
  const auto vote = shard.Request(2, VoteBatch{{VoteFor(kA, 5)}});
  const auto described = shard.Describe(kA);
  EXPECT_THAT(shard.sent(), IsEmpty()) << "it polls for its first election";
  EXPECT_FALSE(born->has_value());
  EXPECT_FALSE(vote->has_value());
  EXPECT_FALSE(described->has_value());
  EXPECT_EQ(shard.votes_left(), 0);
  shard.Sync();
  EXPECT_TRUE(born->has_value());
  ASSERT_TRUE(vote->has_value());
  EXPECT_TRUE(HeaderOf(**vote, kA)->granted);
  EXPECT_EQ(shard.votes_left(), 1);
  EXPECT_TRUE(described->has_value());
}

TEST(ShardGatesTest, AVoteLeavesAfterItsSyncOnly) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(3));
  shard.Sync();
  const auto vote = shard.Request(2, VoteBatch{{VoteFor(kA, 5)}});
  shard.Advance(Ms(50));
  EXPECT_FALSE(vote->has_value());
  EXPECT_EQ(shard.disk().PendingWriteSets(), 1u);
  shard.Sync();
  ASSERT_TRUE(vote->has_value());
  EXPECT_TRUE(HeaderOf(**vote, kA)->granted);
}

TEST(ShardGatesTest, AnAnswerOfARoleThatHasMovedOnIsDroppedAtTheGate) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(3));
  (void)shard.Birth(kB, VotersOf(3));
  shard.Sync();
  const auto first = shard.Request(2, VoteBatch{{VoteFor(kA, 5), VoteFor(kB, 5)}});
  const auto second = shard.Request(3, VoteBatch{{VoteFor(kA, 6)}});
  shard.Sync();
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ(HeaderOf(**first, kA), nullptr) << "a vote of an epoch that is over";
  EXPECT_TRUE(HeaderOf(**first, kB)->granted) << "the others of the batch are as if alone";
  ASSERT_TRUE(second->has_value());
  EXPECT_TRUE(HeaderOf(**second, kA)->granted);
  EXPECT_EQ(shard.votes_left(), 2);
}

TEST(ShardGatesTest, ALeaderIsSilentUntilItsLeadershipIsSynced) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(3), 0);
  shard.Sync();
  shard.GrantVotes();
  EXPECT_THAT(shard.sent(), IsEmpty()) << "a candidate that is not on disk asks for no vote";
  shard.Sync();
  shard.GrantVotes();
  ASSERT_EQ(shard.Replica(kA).role(), RoleKind::kLeader);
  shard.Forget();
  const auto fetch = shard.Fetch(2, 1, 1, {FetchAt(kA, 1, 0, 0)});
  shard.Advance(Ms(200));
  EXPECT_THAT(shard.sent(), IsEmpty());
  EXPECT_FALSE(fetch->has_value());
  shard.Sync();
  EXPECT_THAT(shard.SentOf<BeginBatch>(), SizeIs(2));
  ASSERT_TRUE(fetch->has_value());
  EXPECT_THAT(FetchedOf(**fetch, kA)->batches, SizeIs(1));
}

TEST(ShardGatesTest, OnlyAWithdrawalLeavesTheLeaderBeforeTheSync) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  const auto parked = shard.Fetch(2, 1, 1, {FetchAt(kA, 1, 2, 1, 2)});
  EXPECT_FALSE(parked->has_value());
  const auto vote = shard.Request(3, VoteBatch{{VoteFor(kA, 5, 2, 1)}});
  ASSERT_TRUE(parked->has_value()) << "absence would vouch for a leader that is none";
  EXPECT_TRUE(IsMarker(FetchedOf(**parked, kA)));
  EXPECT_FALSE(vote->has_value());
  const auto next = shard.Fetch(2, 1, 2, {});
  shard.Advance(Ms(100));
  EXPECT_FALSE(next->has_value());
  shard.Sync();
  EXPECT_TRUE(vote->has_value());
  ASSERT_TRUE(next->has_value()) << "its answer follows the marker";
  const FetchAnswerEntry* answer = FetchedOf(**next, kA);
  ASSERT_NE(answer, nullptr);
  EXPECT_TRUE(answer->has_epoch);
  EXPECT_EQ(answer->header.error, RaftError::kNotLeaderOrFollower);
  EXPECT_EQ(answer->header.epoch, Epoch(5));
}

TEST(ShardGatesTest, ARefusalThatWaitsAtTheGateIsNotAbsent) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  shard.Lead(kB, VotersOf(3));
  (void)shard.Request(3, VoteBatch{{VoteFor(kA, 5, 2, 1)}});
  const auto fetch = shard.Fetch(2, 1, 1, {FetchAt(kA, 1, 2, 1, 2), FetchAt(kB, 1, 0, 0)});
  ASSERT_TRUE(fetch->has_value()) << "the other partition has records";
  EXPECT_THAT(FetchedOf(**fetch, kB)->batches, SizeIs(1));
  EXPECT_TRUE(IsMarker(FetchedOf(**fetch, kA)));
}

TEST(ShardGatesTest, OnlyAWithdrawalLeavesTheFollowerBeforeTheSync) {
  ShardHarness shard;
  shard.Follow({kA, kB});
  shard.Forget();
  (void)shard.Request(3, VoteBatch{{VoteFor(kA, 5)}});
  ASSERT_THAT(shard.sent(), SizeIs(1));
  const FetchBatch* next = shard.sent()[0].As<FetchBatch>();
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->session->request_number, 2u);
  ASSERT_THAT(next->entries, SizeIs(1));
  EXPECT_EQ(next->entries[0].partition, kA);
  EXPECT_TRUE(next->entries[0].withdraw);
}

TEST(ShardGatesTest, AFollowerAcknowledgesWhatIsSynced) {
  ShardHarness shard;
  shard.Follow({kA});
  SentRequest* fetch = shard.SentOf<FetchBatch>()[0];
  shard.Answer(fetch, SessionAnswer(*fetch, 1, {Fetched(kA, 2, 1, {BatchAt(kA, 0)})}));
  EXPECT_EQ(shard.Replica(kA).log().end(), Offset(1));
  shard.Forget();
  shard.Advance(Ms(200));
  EXPECT_THAT(shard.sent(), IsEmpty()) << "its offset is its acknowledgement";
  shard.Sync();
  ASSERT_THAT(shard.SentOf<FetchBatch>(), SizeIs(1));
  EXPECT_EQ(shard.SentOf<FetchBatch>()[0]->As<FetchBatch>()->entries.at(0).fetch_offset, Offset(1));
}

TEST(ShardGatesTest, AVoteRequestWaitsForTheLogThatItSpeaksOf) {
  ShardHarness shard;
  shard.Follow({kA});
  SentRequest* fetch = shard.SentOf<FetchBatch>()[0];
  shard.Answer(fetch, SessionAnswer(*fetch, 1, {Fetched(kA, 2, 1, {BatchAt(kA, 0)})}));
  shard.Forget();
  shard.Advance(Ms(2900));
  EXPECT_EQ(shard.Replica(kA).role(), RoleKind::kProspective);
  EXPECT_THAT(shard.SentOf<VoteBatch>(), IsEmpty());
  shard.Sync();
  ASSERT_THAT(shard.SentOf<VoteBatch>(), SizeIs(2));
  EXPECT_EQ(shard.SentOf<VoteBatch>()[0]->As<VoteBatch>()->entries.at(0).log_end,
            (OffsetAndEpoch{Offset(1), Epoch(1)}));
}

void ExpectOnePerPeer(const std::vector<SentRequest*>& requests) {
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0]->to(), Key(2));
  EXPECT_EQ(requests[1]->to(), Key(3));
}

HeaderAnswer GrantAll(const VoteBatch& votes) {
  HeaderAnswer answer;
  for (const VoteEntry& vote : votes.entries) {
    HeaderEntry entry;
    entry.partition = vote.partition;
    entry.header.epoch = vote.epoch;
    entry.granted = true;
    answer.entries.push_back(entry);
  }
  return answer;
}

TEST(ShardGatesTest, AThousandElectionsAreOneRequestPerPeerAndOneSyncARound) {
  ShardHarness shard;
  constexpr size_t kMany = 1000;
  for (uint64_t topic = 1; topic <= kMany; ++topic) {
    BirthCall call;
    call.partition = Id(topic);
    call.initial_voters = VotersOf(3);
    call.position = 0;
    call.done = [] {};
    ASSERT_TRUE(shard.shard().Post(std::move(call)));
  }
  shard.Run();
  EXPECT_EQ(shard.disk().PendingWriteSets(), 1u);
  const uint64_t syncs = shard.disk().syncs();
  shard.Sync();
  EXPECT_EQ(shard.disk().syncs(), syncs + 1);
  // The poll, then the election, then the news of it.
  for (const bool pre_vote : {true, false}) {
    auto requests = shard.SentOf<VoteBatch>();
    ASSERT_NO_FATAL_FAILURE(ExpectOnePerPeer(requests));
    EXPECT_THAT(shard.sent(), SizeIs(2)) << "and nothing else";
    const VoteBatch votes = *requests[0]->As<VoteBatch>();
    ASSERT_THAT(votes.entries, SizeIs(kMany));
    EXPECT_EQ(votes.entries[0].pre_vote, pre_vote);
    SentRequest request = std::move(*requests[0]);
    shard.Forget();
    shard.Answer(&request, GrantAll(votes));
    EXPECT_THAT(shard.sent(), IsEmpty());
    EXPECT_EQ(shard.disk().PendingWriteSets(), 1u);
    shard.Sync();
  }
  EXPECT_EQ(shard.disk().syncs(), syncs + 3);
  auto begins = shard.SentOf<BeginBatch>();
  ASSERT_NO_FATAL_FAILURE(ExpectOnePerPeer(begins));
  EXPECT_THAT(begins[0]->As<BeginBatch>()->entries, SizeIs(kMany));
  EXPECT_THAT(shard.sent(), SizeIs(2));
}

// --- a disk that does not answer

TEST(ShardBehindTest, AStuckDiskRefusesWhatWouldWaitForIt) {
  ShardConfig config;
  config.gated_max = 10;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(3));
  (void)shard.Birth(kB, VotersOf(3));
  shard.Sync();
  const size_t waiters = shard.shard().waiter_count();
  shard.disk().SetStuck(true);
  std::vector<Awaited<LaneResponse>> votes;
  for (int64_t epoch = 10; epoch < 1'010; ++epoch) {
    votes.push_back(shard.Request(2, VoteBatch{{VoteFor(kB, epoch)}}));
  }
  EXPECT_LE(shard.shard().waiter_count(), waiters + 10);
  EXPECT_LE(shard.disk().PendingWriteSets(), 10u);
  EXPECT_FALSE(votes.front()->has_value()) << "it waits for the disk";
  ASSERT_TRUE(votes.back()->has_value());
  EXPECT_EQ(std::get<RefusedRequest>((*votes.back())->body).error, EnvelopeError::kThrottled);
  EXPECT_GE(shard.refusals().size(), 990u);
  const auto append = shard.Append(kA);
  ASSERT_TRUE(append->has_value());
  EXPECT_EQ((*append)->outcome, AppendResult::Outcome::kRefused);
  EXPECT_EQ((*append)->error, raft::RaftError::kThrottled);
  const auto describe = shard.Describe(kB);
  ASSERT_TRUE(describe->has_value());
  EXPECT_EQ((*describe)->error, raft::RaftError::kThrottled);
  EXPECT_TRUE(shard.Describe(kA)->has_value()) << "it waits for nothing";
  shard.disk().SetStuck(false);
  shard.Sync();
  EXPECT_TRUE(votes.front()->has_value());
  EXPECT_EQ(shard.shard().waiter_count(), waiters);
  const auto later = shard.Request(2, VoteBatch{{VoteFor(kB, 2'000)}});
  shard.Sync();
  EXPECT_TRUE(HeaderOf(**later, kB)->granted);
}

TEST(ShardBehindTest, WritesThatWaitAreBoundedToo) {
  ShardConfig config;
  config.writes_in_flight_max = 5;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(3));
  shard.disk().SetStuck(true);
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += shard.Append(kA)->has_value() ? 0 : 1;
  EXPECT_EQ(taken, 5);
  EXPECT_EQ(shard.disk().PendingWriteSets(), 5u);
  shard.disk().SetStuck(false);
  shard.Sync();
  EXPECT_FALSE(shard.Append(kA)->has_value());
}

}  // namespace
}  // namespace quorum::shard
