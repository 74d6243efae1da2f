// Replicas are born, buried, shut down, and found again after a crash.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/layout/key_codec.h"
#include "tests/service/shard/shard_harness.h"

namespace quorum::shard {
namespace {

using Outcome = AppendResult::Outcome;
using raft::RaftError;
using raft::RoleKind;
using testing::IsEmpty;
using testing::SizeIs;

const PartitionId kA = Id(10);
const PartitionId kB = Id(11);

const storage::RecoveredReplica* FindRecovered(const ShardHarness& shard, PartitionId id) {
  for (const storage::RecoveredReplica& replica : shard.recovered().replicas) {
    if (replica.partition == id) return &replica;
  }
  return nullptr;
}

TEST(ShardLifecycleTest, ABirthIsCompleteWhenItIsSynced) {
  ShardHarness shard;
  const auto first = shard.Birth(kA, VotersOf(3));
  const auto again = shard.Birth(kA, VotersOf(3));
  EXPECT_FALSE(first->has_value());
  EXPECT_FALSE(again->has_value()) << "a repeat is no sooner on disk";
  shard.Sync();
  EXPECT_TRUE(first->has_value());
  EXPECT_TRUE(again->has_value());
  EXPECT_TRUE(shard.Birth(kA, VotersOf(3))->has_value());
  shard.Restart();
  EXPECT_NE(shard.shard().Find(kA), nullptr);
}

TEST(ShardLifecycleTest, ABirthThatACrashTookHasNeverBeen) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(3));
  shard.Restart();
  EXPECT_EQ(shard.shard().Find(kA), nullptr);
  EXPECT_THAT(shard.shard().Partitions(), IsEmpty());
}

TEST(ShardLifecycleTest, TheFirstOfTheAssignmentCampaignsAtOnceAndTheOthersLater) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(3), 0);
  (void)shard.Birth(kB, VotersOf(3), 2);
  shard.Sync();
  ASSERT_THAT(shard.SentOf<VoteBatch>(Key(2)), SizeIs(1));
  EXPECT_EQ(shard.SentOf<VoteBatch>(Key(2))[0]->As<VoteBatch>()->entries.at(0).partition, kA);
  EXPECT_EQ(shard.Replica(kB).role(), RoleKind::kUnattached);
  shard.Advance(Ms(600));
  EXPECT_EQ(shard.Replica(kB).role(), RoleKind::kProspective);
}

TEST(ShardLifecycleTest, ASoleVoterLeadsAtOnce) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(1), 0);
  EXPECT_EQ(shard.Replica(kA).role(), RoleKind::kLeader);
  shard.Sync();
  EXPECT_TRUE(shard.Replica(kA).is_ready_leader());
  EXPECT_THAT(shard.sent(), IsEmpty());
}

TEST(ShardLifecycleTest, AReplicaThatTheCatalogDoesNotNameAsksWhoLeads) {
  ShardHarness shard(4);
  (void)shard.Birth(kA, VoterSet());
  shard.Sync();
  EXPECT_THAT(shard.sent(), IsEmpty());
  shard.Call(DiscoveryCall{kA, {Key(2)}});
  ASSERT_THAT(shard.SentOf<FetchBatch>(Key(2)), SizeIs(1));
  shard.Advance(Ms(10'000));
  EXPECT_EQ(shard.Replica(kA).role(), RoleKind::kUnattached) << "it is no voter";
}

TEST(ShardLifecycleTest, ABurialAnswersEverybodyWhoWaits) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  shard.Lead(kB, VotersOf(3));
  const auto append = shard.Append(kA);
  const auto read = shard.ReadFrom(kA, 2, kNever, 2, 1);
  const auto fetch = shard.Fetch(2, 1, 1, {FetchAt(kA, 1, 3, 1, 2), FetchAt(kB, 1, 2, 1, 2)});
  // A reader, whose position acknowledges nothing.
  FetchBatch once;
  once.anonymous = true;
  once.max_wait = Ms(500);
  once.entries = {FetchAt(kA, 1, 3, 1, 2), FetchAt(kB, 1, 2, 1, 2)};
  const auto loose = shard.Request(3, once);
  EXPECT_FALSE(append->has_value() || read->has_value() || fetch->has_value());
  EXPECT_FALSE(loose->has_value());
  const auto buried = shard.Bury(kA);
  EXPECT_EQ(shard.shard().Find(kA), nullptr);
  ASSERT_TRUE(append->has_value());
  EXPECT_EQ((*append)->outcome, Outcome::kUnknown);
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->error, RaftError::kUnknownTopicOrPartition);
  for (const auto& response : {fetch, loose}) {
    ASSERT_TRUE(response->has_value());
    const FetchAnswerEntry* answer = FetchedOf(**response, kA);
    ASSERT_NE(answer, nullptr);
    EXPECT_FALSE(answer->has_epoch);
    EXPECT_NE(answer->header.error, RaftError::kNone);
  }
  EXPECT_EQ(FetchedOf(**fetch, kB), nullptr) << "it goes on waiting";
  EXPECT_EQ(FetchedOf(**loose, kB)->header.error, RaftError::kNone);
  EXPECT_EQ(shard.shard().waiter_count(), 1u) << "kB in the session";
  EXPECT_FALSE(buried->has_value());
  shard.Sync();
  EXPECT_TRUE(buried->has_value());
}

TEST(ShardLifecycleTest, ABurialTakesAVoteThatWaitsOutOfItsBatch) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(3));
  (void)shard.Birth(kB, VotersOf(3));
  shard.Sync();
  const auto vote = shard.Request(2, VoteBatch{{VoteFor(kA, 5), VoteFor(kB, 5)}});
  (void)shard.Bury(kA);
  EXPECT_FALSE(vote->has_value());
  shard.Sync();
  ASSERT_TRUE(vote->has_value());
  EXPECT_EQ(HeaderOf(**vote, kA), nullptr);
  EXPECT_TRUE(HeaderOf(**vote, kB)->granted);
  EXPECT_EQ(shard.votes_left(), 1);
  EXPECT_EQ(shard.shard().waiter_count(), 0u);
}

TEST(ShardLifecycleTest, ABurialIsWithdrawnFromTheLeadersSession) {
  ShardHarness shard;
  shard.Follow({kA, kB});
  shard.Forget();
  (void)shard.Bury(kA);
  ASSERT_THAT(shard.SentOf<FetchBatch>(Key(2)), SizeIs(1));
  const auto& entries = shard.SentOf<FetchBatch>(Key(2))[0]->As<FetchBatch>()->entries;
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].partition, kA);
  EXPECT_TRUE(entries[0].withdraw);
}

TEST(ShardLifecycleTest, APromiseOutlivesTheReplica) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(3));
  (void)shard.Request(2, VoteBatch{{VoteFor(kA, 5)}});
  shard.Sync();
  const auto buried = shard.Bury(kA);
  shard.Sync();
  ASSERT_TRUE(buried->has_value());
  ASSERT_TRUE((*buried)->has_value());
  EXPECT_EQ((**buried)->epoch, Epoch(5));
  EXPECT_EQ((**buried)->voted, Key(2));
  shard.Restart();
  EXPECT_EQ(shard.shard().Find(kA), nullptr) << "a tombstone is not opened";
  ASSERT_NE(FindRecovered(shard, kA), nullptr);
  EXPECT_TRUE(FindRecovered(shard, kA)->tombstone);
  BirthCall call;
  call.partition = kA;
  call.initial_voters = VotersOf(3);
  call.election = FindRecovered(shard, kA)->election;
  call.done = [] {};
  shard.Call(std::move(call));
  const auto vote = shard.Request(3, VoteBatch{{VoteFor(kA, 5)}});
  shard.Sync();
  ASSERT_TRUE(vote->has_value());
  EXPECT_FALSE(HeaderOf(**vote, kA)->granted) << "it has voted for node 2 in that epoch";
}

// Whoever keeps tombstones would take an empty election state for a vote that was never given.
TEST(ShardLifecycleTest, TheBurialOfAReplicaThatIsNotHereTellsNothingOfItsVotes) {
  ShardHarness shard;
  const auto never = shard.Bury(kB);
  ASSERT_TRUE(never->has_value());
  EXPECT_FALSE((*never)->has_value());
  (void)shard.Birth(kA, VotersOf(3));
  (void)shard.Request(2, VoteBatch{{VoteFor(kA, 5)}});
  shard.Sync();
  const auto first = shard.Bury(kA);
  const auto again = shard.Bury(kA);
  EXPECT_FALSE(again->has_value()) << "the burial is not on disk yet";
  shard.Sync();
  ASSERT_TRUE(first->has_value() && again->has_value());
  ASSERT_TRUE((*first)->has_value());
  EXPECT_EQ((**first)->voted, Key(2));
  EXPECT_FALSE((*again)->has_value());
}

TEST(ShardLifecycleTest, AnAnswerForAnEarlierLifeOfAPartitionIsNotTakenByTheNext) {
  ShardHarness shard;
  (void)shard.Birth(kA, VotersOf(3), 0);
  shard.Sync();
  SentRequest poll = std::move(*shard.SentOf<VoteBatch>(Key(2)).at(0));
  (void)shard.Bury(kA);
  (void)shard.Birth(kA, VotersOf(3), 0);
  shard.Sync();
  ASSERT_EQ(shard.Replica(kA).role(), RoleKind::kProspective);
  HeaderEntry grant;
  grant.partition = kA;
  grant.granted = true;
  shard.Answer(&poll, HeaderAnswer{{grant}});
  EXPECT_EQ(shard.Replica(kA).role(), RoleKind::kProspective);
}

TEST(ShardLifecycleTest, AShutdownWaitsForASuccessor) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  shard.Lead(kB, VotersOf(1));
  bool done = false;
  shard.Call(ShutdownCall{[&done] { done = true; }});
  shard.Sync();
  EXPECT_FALSE(done);
  EXPECT_EQ(shard.Replica(kA).role(), RoleKind::kResigned);
  EXPECT_THAT(shard.SentOf<EndBatch>(), SizeIs(2)) << "it names its successors";
  EXPECT_EQ((*shard.Append(kA))->outcome, Outcome::kRefused);
  const auto vote = shard.Request(2, VoteBatch{{VoteFor(kA, 2, 2, 1)}});
  shard.Sync();
  EXPECT_TRUE(HeaderOf(**vote, kA)->granted) << "it goes on voting";
  EXPECT_FALSE(done);
  (void)shard.Request(2, BeginBatch{{BeginEntry{kA, Epoch(2)}}});
  shard.Sync();
  EXPECT_TRUE(done);
}

TEST(ShardLifecycleTest, WhoeverAsksForAShutdownHearsOfItsEnd) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  int done = 0;
  shard.Call(ShutdownCall{[&done] { ++done; }});
  shard.Call(ShutdownCall{[&done] { ++done; }});
  shard.Sync();
  EXPECT_EQ(done, 0);
  (void)shard.Request(2, BeginBatch{{BeginEntry{kA, Epoch(2)}}});
  shard.Sync();
  EXPECT_EQ(done, 2);
  shard.Call(ShutdownCall{[&done] { ++done; }});
  EXPECT_EQ(done, 3);
}

TEST(ShardLifecycleTest, AShutdownOfNothingIsDoneAtOnce) {
  ShardHarness shard;
  bool done = false;
  shard.Call(ShutdownCall{[&done] { done = true; }});
  EXPECT_TRUE(done);
}

TEST(ShardLifecycleTest, AReplicaThatIsBornIntoAShutdownDoesNotHoldItUp) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  bool done = false;
  shard.Call(ShutdownCall{[&done] { done = true; }});
  (void)shard.Birth(kB, VotersOf(1), 0);
  (void)shard.Request(2, BeginBatch{{BeginEntry{kA, Epoch(2)}}});
  shard.Sync();
  EXPECT_TRUE(done);
}

TEST(ShardLifecycleTest, ADiskThatDoesNotAnswerIsNoHindranceToHandingOver) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  shard.disk().SetStuck(true);
  (void)shard.Append(kA);
  shard.Call(ResignAllCall{});
  EXPECT_EQ(shard.Replica(kA).role(), RoleKind::kResigned);
  EXPECT_THAT(shard.SentOf<EndBatch>(), SizeIs(2)) << "nothing of it waits for the disk";
}

TEST(ShardLifecycleTest, ALeaderThatComesBackNeverLeadsThatEpochAgain) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  (void)shard.Append(kA);
  shard.Sync();
  shard.Restart();
  EXPECT_EQ(shard.Replica(kA).role(), RoleKind::kResigned);
  EXPECT_EQ(shard.Replica(kA).log().end(), Offset(3));
  shard.Sync();
  const auto fetch = shard.Fetch(2, 1, 1, {FetchAt(kA, 1, 2, 1)});
  ASSERT_TRUE(fetch->has_value());
  EXPECT_EQ(FetchedOf(**fetch, kA)->header.error, RaftError::kNotLeaderOrFollower);
}

// What the disk holds of kA in a family, by key.
std::map<std::string, std::string> StoredOf(ShardHarness& shard, storage::ColumnFamily family) {
  const auto& all = shard.disk().image().family(family);
  return {all.lower_bound(storage::PartitionKey(kA)),
          all.lower_bound(storage::PartitionEndKey(kA))};
}

void ExpectQuarantinedAndUntouched(ShardHarness& shard, const std::string& what) {
  const auto log = StoredOf(shard, storage::ColumnFamily::kLog);
  const auto epochs = StoredOf(shard, storage::ColumnFamily::kLeaderEpochs);
  shard.Restart();
  ASSERT_TRUE(FindRecovered(shard, kA)->damage.has_value()) << what;
  EXPECT_TRUE(shard.Replica(kA).quarantine().has_value()) << what;
  EXPECT_NE(shard.Replica(kA).role(), RoleKind::kLeader) << what;
  shard.Sync();
  EXPECT_EQ(StoredOf(shard, storage::ColumnFamily::kLog), log) << what;
  EXPECT_EQ(StoredOf(shard, storage::ColumnFamily::kLeaderEpochs), epochs) << what;
}

// It would write its epoch where its records have been.
TEST(ShardLifecycleTest, AnOnlyVoterWhoseLastBatchIsDamagedDoesNotLead) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(1));
  shard.Lead(kB, VotersOf(1));
  (void)shard.Append(kA);
  shard.Sync();
  storage::MemoryImage image = shard.disk().SaveDatabase();
  const auto log = StoredOf(shard, storage::ColumnFamily::kLog);
  ASSERT_TRUE(
      image.FlipBit(storage::ColumnFamily::kLog, log.size() - 1, log.rbegin()->second.size() * 4));
  shard.disk().RestoreDatabase(std::move(image));
  ExpectQuarantinedAndUntouched(shard, "a flipped bit");
  const auto append = shard.Append(kB);
  shard.Sync();
  ASSERT_TRUE(append->has_value());
  EXPECT_EQ((*append)->outcome, Outcome::kCommitted) << "the others are served";
}

TEST(ShardLifecycleTest, AnOnlyVoterWhoseLastBatchesAreMissingDoesNotGrowOverThem) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(1));
  for (int i = 0; i < 5; ++i) {
    (void)shard.Append(kA);
    shard.Sync();
    shard.Advance(Ms(1'100));
  }
  storage::MemoryImage image = shard.disk().SaveDatabase();
  const auto log = StoredOf(shard, storage::ColumnFamily::kLog);
  for (auto batch = std::prev(log.end(), 4); batch != log.end(); ++batch) {
    image.Delete(storage::ColumnFamily::kLog, batch->first);
  }
  shard.disk().RestoreDatabase(std::move(image));
  for (int start = 1; start <= 5; ++start) {
    ExpectQuarantinedAndUntouched(shard, "start " + std::to_string(start));
  }
}

}  // namespace
}  // namespace quorum::shard
