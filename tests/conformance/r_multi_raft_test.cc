// Group R of the conformance list: many groups in one message (protocol.md 6 R, 8.1), on a whole
// shard; and C-030 with C-155, the cluster id of every RPC.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/service/shard/shard_cluster.h"
#include "tests/service/shard/shard_harness.h"

namespace quorum::shard {
namespace {

using raft::RaftError;
using raft::RoleKind;
using testing::IsEmpty;
using testing::SizeIs;

const PartitionId kA = Id(10);
const PartitionId kB = Id(11);
const PartitionId kC = Id(12);
const PartitionId kUnknown = Id(99);

void BirthAll(ShardHarness& shard) {
  for (const PartitionId& id : {kA, kB, kC}) (void)shard.Birth(id, VotersOf(3));
  shard.Sync();
  shard.Forget();
}

RaftError ErrorOf(const Awaited<LaneResponse>& response, PartitionId id) {
  return HeaderOf(**response, id)->header.error;
}

TEST(ConformanceMultiRaft, C153_EachGroupOfARequestIsAnsweredAsIfAlone) {
  ShardHarness shard;
  BirthAll(shard);
  (void)shard.Request(2, VoteBatch{{VoteFor(kB, 7)}});
  shard.Sync();
  const auto votes = shard.Request(3, VoteBatch{{VoteFor(kA, 5), VoteFor(kUnknown, 5),
                                                 VoteFor(kB, 5), VoteFor(kC, 6, 0, 0, true)}});
  shard.Sync();
  ASSERT_TRUE(votes->has_value());
  EXPECT_THAT(std::get<HeaderAnswer>((*votes)->body).entries, SizeIs(4));
  EXPECT_TRUE(HeaderOf(**votes, kA)->granted);
  EXPECT_EQ(ErrorOf(votes, kUnknown), RaftError::kUnknownTopicOrPartition);
  EXPECT_FALSE(HeaderOf(**votes, kUnknown)->has_epoch);
  EXPECT_EQ(ErrorOf(votes, kB), RaftError::kFencedLeaderEpoch);
  EXPECT_EQ(HeaderOf(**votes, kB)->header.epoch, Epoch(7));
  EXPECT_FALSE(HeaderOf(**votes, kB)->granted);
  EXPECT_TRUE(HeaderOf(**votes, kC)->granted);
  EXPECT_EQ(shard.Replica(kC).election().voted, std::nullopt) << "a poll binds nobody";

  const auto begins =
      shard.Request(3, BeginBatch{{BeginEntry{kUnknown, Epoch(5)}, BeginEntry{kA, Epoch(5)},
                                   BeginEntry{kB, Epoch(5)}}});
  shard.Sync();
  EXPECT_EQ(ErrorOf(begins, kUnknown), RaftError::kUnknownTopicOrPartition);
  EXPECT_EQ(ErrorOf(begins, kA), RaftError::kNone);
  EXPECT_EQ(HeaderOf(**begins, kA)->header.leader, Key(3));
  EXPECT_EQ(ErrorOf(begins, kB), RaftError::kFencedLeaderEpoch);

  const auto ends =
      shard.Request(3, EndBatch{{EndEntry{kA, Epoch(5), {Key(1)}}, EndEntry{kUnknown, Epoch(5), {}},
                                 EndEntry{kB, Epoch(5), {}}}});
  shard.Sync();
  EXPECT_EQ(ErrorOf(ends, kA), RaftError::kNone);
  EXPECT_EQ(ErrorOf(ends, kUnknown), RaftError::kUnknownTopicOrPartition);
  EXPECT_EQ(ErrorOf(ends, kB), RaftError::kFencedLeaderEpoch);
}

TEST(ConformanceMultiRaft, C153_AsBatchedSoAlone) {
  ShardHarness together;
  ShardHarness alone;
  BirthAll(together);
  BirthAll(alone);
  const std::vector<VoteEntry> entries = {VoteFor(kC, 3), VoteFor(kA, 5),
                                          VoteFor(kB, 4, 0, 0, true)};
  const auto batched = together.Request(2, VoteBatch{entries});
  together.Sync();
  for (const VoteEntry& entry : entries) {
    const auto single = alone.Request(2, VoteBatch{{entry}});
    alone.Sync();
    const HeaderEntry* a = HeaderOf(**batched, entry.partition);
    const HeaderEntry* b = HeaderOf(**single, entry.partition);
    EXPECT_EQ(a->granted, b->granted);
    EXPECT_EQ(a->header.error, b->header.error);
    EXPECT_EQ(a->header.epoch, b->header.epoch);
    EXPECT_EQ(together.Replica(entry.partition).election(),
              alone.Replica(entry.partition).election());
  }
}

TEST(ConformanceMultiRaft, C154_AGroupNamedTwiceIsNotExecuted) {
  ShardHarness shard;
  BirthAll(shard);
  const auto votes = shard.Request(2, VoteBatch{{VoteFor(kA, 5), VoteFor(kB, 5), VoteFor(kA, 6)}});
  shard.Sync();
  ASSERT_TRUE(votes->has_value());
  int refused = 0;
  for (const HeaderEntry& entry : std::get<HeaderAnswer>((*votes)->body).entries) {
    if (entry.partition != kA) continue;
    EXPECT_EQ(entry.header.error, RaftError::kInvalidRequest);
    EXPECT_FALSE(entry.granted);
    ++refused;
  }
  EXPECT_EQ(refused, 2);
  EXPECT_TRUE(HeaderOf(**votes, kB)->granted);
  EXPECT_EQ(shard.Replica(kA).election().epoch, Epoch(0));
  (void)shard.Request(2, BeginBatch{{BeginEntry{kA, Epoch(5)}, BeginEntry{kA, Epoch(5)}}});
  (void)shard.Request(2, EndBatch{{EndEntry{kA, Epoch(5), {}}, EndEntry{kA, Epoch(5), {}}}});
  EXPECT_EQ(shard.Replica(kA).election().epoch, Epoch(0));
}

TEST(ConformanceMultiRaft, C154_NorIsItFetched) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  shard.Lead(kB, VotersOf(3));
  (void)shard.Append(kA);
  const std::vector<FetchEntry> entries = {FetchAt(kA, 1, 3, 1), FetchAt(kB, 1, 0, 0),
                                           FetchAt(kA, 1, 3, 1)};
  const auto in_session = shard.Fetch(2, 1, 1, entries);
  FetchBatch once;
  once.entries = entries;
  const auto loose = shard.Request(3, once);
  for (const auto& response : {in_session, loose}) {
    ASSERT_TRUE(response->has_value());
    EXPECT_EQ(FetchedOf(**response, kA)->header.error, RaftError::kInvalidRequest);
    EXPECT_THAT(FetchedOf(**response, kB)->batches, SizeIs(1));
  }
  shard.Sync();
  EXPECT_EQ(shard.Replica(kA).high_watermark(), Offset(2)) << "nothing was acknowledged";
}

// Each kind of request, as node 2 would send it.
std::vector<LaneRequestBody> EveryKind() {
  FetchBatch in_session;
  in_session.session = SessionRequestPlace{1, 1, 0, 1};
  in_session.entries = {FetchAt(kA, 5, 0, 0)};
  FetchBatch loose;
  loose.entries = in_session.entries;
  return {VoteBatch{{VoteFor(kA, 5)}}, BeginBatch{{BeginEntry{kA, Epoch(5)}}},
          EndBatch{{EndEntry{kA, Epoch(5), {Key(1)}}}}, in_session, loose};
}

TEST(ConformanceMultiRaft, C030_C155_AnotherClusterIdRefusesTheWholeRequest) {
  ShardHarness shard;
  BirthAll(shard);
  for (const std::string& cluster : {std::string("another"), std::string()}) {
    for (const LaneRequestBody& body : EveryKind()) {
      LaneRequest request{shard.From(2), body};
      request.envelope.cluster_id = cluster;
      const auto response = shard.Request(std::move(request));
      ASSERT_TRUE(response->has_value()) << "body " << body.index();
      const auto* refused = std::get_if<RefusedRequest>(&(*response)->body);
      ASSERT_NE(refused, nullptr) << "body " << body.index();
      EXPECT_EQ(refused->error, EnvelopeError::kInconsistentClusterId);
    }
  }
  EXPECT_EQ(shard.Replica(kA).election(), ElectionState{});
  EXPECT_FALSE(shard.disk().HasPending());
  EXPECT_EQ(shard.shard().waiter_count(), 0u);
}

TEST(ConformanceMultiRaft, C030_OnlyAReaderMayLeaveTheClusterIdOut) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  FetchBatch read;
  read.anonymous = true;
  read.max_bytes = 1 << 20;
  read.entries = {FetchAt(kA, 1, 0, 0)};
  LaneRequest request{shard.From(2), read};
  request.envelope.cluster_id.clear();
  const auto response = shard.Request(request);
  ASSERT_TRUE(response->has_value());
  ASSERT_NE(FetchedOf(**response, kA), nullptr);
  EXPECT_THAT(FetchedOf(**response, kA)->batches, SizeIs(1));
  request.envelope.cluster_id = "another";
  EXPECT_TRUE(std::holds_alternative<RefusedRequest>((*shard.Request(request))->body));
}

TEST(ConformanceMultiRaft, C156_AnAnswerFollowsTheSyncOfAllItsGroups) {
  ShardHarness shard;
  BirthAll(shard);
  const VoteBatch votes{{VoteFor(kA, 5), VoteFor(kB, 5), VoteFor(kC, 5)}};
  const auto lost = shard.Request(2, votes);
  shard.Advance(Ms(100));
  EXPECT_FALSE(lost->has_value());
  EXPECT_EQ(shard.disk().PendingWriteSets(), 1u) << "one write for all of them";
  shard.Restart();
  for (const PartitionId& id : {kA, kB, kC}) {
    EXPECT_EQ(shard.Replica(id).election().voted, std::nullopt) << "nobody was promised anything";
  }
  shard.Sync();
  const auto kept = shard.Request(2, votes);
  EXPECT_FALSE(kept->has_value());
  // The process dies after the sync and before the answer.
  shard.Restart({1, 1});
  shard.Sync();
  const auto rival = shard.Request(3, VoteBatch{{VoteFor(kA, 5), VoteFor(kB, 5), VoteFor(kC, 5)}});
  shard.Sync();
  ASSERT_TRUE(rival->has_value());
  for (const PartitionId& id : {kA, kB, kC}) {
    EXPECT_EQ(shard.Replica(id).election().voted, Key(2));
    EXPECT_FALSE(HeaderOf(**rival, id)->granted) << "the vote holds";
  }
}

TEST(ConformanceMultiRaft, C157_ALongPollReturnsWithTheFirstNewsAndTheOthersGoOnWaiting) {
  ShardHarness shard;
  for (const PartitionId& id : {kA, kB, kC}) shard.Lead(id, VotersOf(3));
  const auto first = shard.Fetch(
      2, 1, 1, {FetchAt(kA, 1, 2, 1, 2), FetchAt(kB, 1, 2, 1, 2), FetchAt(kC, 1, 2, 1, 2)});
  shard.Advance(Ms(100));
  EXPECT_FALSE(first->has_value());
  (void)shard.Append(kB);
  ASSERT_TRUE(first->has_value());
  EXPECT_THAT(std::get<FetchAnswer>((*first)->body).entries, SizeIs(1)) << "nobody else is failed";
  EXPECT_THAT(FetchedOf(**first, kB)->batches, SizeIs(1));
  const auto second = shard.Fetch(2, 1, 2, {});
  EXPECT_FALSE(second->has_value());
  (void)shard.Append(kA);
  ASSERT_TRUE(second->has_value()) << "it was not named again";
  EXPECT_THAT(std::get<FetchAnswer>((*second)->body).entries, SizeIs(1));
  EXPECT_THAT(FetchedOf(**second, kA)->batches, SizeIs(1));
}

TEST(ConformanceMultiRaft, C157_TheKeepAliveOfABatchIsNoneForAGroupWhoseEpochHasChanged) {
  ShardHarness shard;
  shard.Follow({kA, kB});
  (void)shard.Request(3, VoteBatch{{VoteFor(kA, 5)}});
  shard.Sync();
  const uint64_t of_b = shard.Replica(kB).incarnation();
  uint64_t number = 0;
  bool withdrawn = false;
  for (Duration past{}; past < Ms(6'000); past += Ms(400)) {
    std::vector<SentRequest> requests = std::exchange(shard.sent(), {});
    for (SentRequest& request : requests) {
      const FetchBatch* fetch = request.As<FetchBatch>();
      if (fetch == nullptr || request.to() != Key(2)) continue;
      for (const FetchEntry& entry : fetch->entries) {
        withdrawn = withdrawn || (entry.partition == kA && entry.withdraw);
      }
      shard.Answer(&request, SessionAnswer(request, ++number, {}));
    }
    shard.Advance(Ms(400));
  }
  EXPECT_GT(number, 10u);
  EXPECT_TRUE(withdrawn);
  EXPECT_EQ(shard.Replica(kB).incarnation(), of_b) << "its leader is alive";
  EXPECT_NE(shard.Replica(kA).role(), RoleKind::kFollower);
  EXPECT_GE(shard.Replica(kA).election().epoch, Epoch(5));
}

TEST(ConformanceMultiRaft, C157_NorAtTheLeader) {
  ShardHarness shard;
  shard.Lead(kA, VotersOf(3));
  shard.Lead(kB, VotersOf(3));
  const auto first = shard.Fetch(2, 1, 1, {FetchAt(kA, 1, 2, 1, 2), FetchAt(kB, 1, 2, 1, 2)});
  (void)shard.Request(3, VoteBatch{{VoteFor(kA, 5, 9, 4)}});
  ASSERT_TRUE(first->has_value());
  ASSERT_NE(FetchedOf(**first, kA), nullptr) << "its absence would be a sign of life";
  EXPECT_EQ(FetchedOf(**first, kB), nullptr);
  EXPECT_EQ(shard.Replica(kB).role(), RoleKind::kLeader);
}

TEST(ConformanceMultiRaft, C158_AGroupThatIsBeyondHelpIsQuarantinedAlone) {
  ShardHarness shard;
  shard.Follow({kA, kB});
  SentRequest first = std::move(shard.sent()[0]);
  shard.Forget();
  shard.Answer(&first, SessionAnswer(first, 1,
                                     {Fetched(kA, 2, 1, {BatchAt(kA, 0)}, 1),
                                      Fetched(kB, 2, 1, {BatchAt(kB, 0)}, 1)}));
  shard.Sync();
  EXPECT_EQ(shard.Replica(kA).exposed(), Offset(1));
  SentRequest second = std::move(shard.sent().at(0));
  shard.Forget();
  FetchAnswerEntry cut = Fetched(kA, 2, 1);
  cut.diverging = OffsetAndEpoch{Offset(0), Epoch(0)};
  shard.Answer(&second, SessionAnswer(second, 2, {cut, Fetched(kB, 2, 1, {BatchAt(kB, 1)}, 2)}));
  EXPECT_TRUE(shard.Replica(kA).quarantine().has_value()) << "a truncation below the watermark";
  EXPECT_EQ(shard.Replica(kA).log().end(), Offset(1)) << "its data is left alone";
  EXPECT_FALSE(shard.Replica(kB).quarantine().has_value());
  EXPECT_EQ(shard.Replica(kB).log().end(), Offset(2));
  shard.Sync();
  const auto votes = shard.Request(3, VoteBatch{{VoteFor(kA, 5, 9, 4), VoteFor(kB, 5, 9, 4)}});
  shard.Sync();
  ASSERT_TRUE(votes->has_value());
  EXPECT_EQ(ErrorOf(votes, kA), RaftError::kBrokerNotAvailable);
  EXPECT_TRUE(HeaderOf(**votes, kB)->granted);
  const auto fetch = shard.Fetch(3, 1, 1, {FetchAt(kA, 1, 0, 0)});
  ASSERT_TRUE(fetch->has_value());
  EXPECT_EQ(FetchedOf(**fetch, kA)->header.error, RaftError::kBrokerNotAvailable);
}

ShardCluster::Traffic IdleTraffic(uint64_t groups, Duration time) {
  ShardCluster cluster;
  for (uint64_t topic = 1; topic <= groups; ++topic) cluster.Birth(Id(topic), topic % 3);
  cluster.Advance(Ms(5000));
  (void)cluster.TakeTraffic();
  cluster.Advance(time);
  for (uint64_t topic = 1; topic <= groups; ++topic) {
    EXPECT_NE(cluster.LeaderOf(Id(topic)), 0);
    EXPECT_EQ(cluster.Replica(1, Id(topic)).election().epoch, Epoch(1)) << topic;
  }
  return cluster.TakeTraffic();
}

TEST(ConformanceMultiRaft, C159_IdleGroupsCostNothing) {
  const ShardCluster::Traffic few = IdleTraffic(10, Ms(10'000));
  const ShardCluster::Traffic many = IdleTraffic(1000, Ms(10'000));
  EXPECT_GT(few.fetches, 0u);
  // Six directions, one long poll of half a second each.
  EXPECT_LE(many.fetches, 6u * 20u);
  EXPECT_LE(many.requests(), few.requests() + few.requests() / 10);
  EXPECT_EQ(many.fetch_entries, 0u);
  EXPECT_EQ(many.votes + many.begins + many.ends, 0u);
  EXPECT_EQ(many.syncs, 0u);
}

TEST(ConformanceMultiRaft, C160_OnlyABirthMakesAGroupAndOnlyABurialEndsIt) {
  ShardHarness shard;
  for (const LaneRequestBody& body : EveryKind()) {
    const auto response = shard.Request(2, body);
    ASSERT_TRUE(response->has_value());
    const HeaderEntry* header = HeaderOf(**response, kA);
    const FetchAnswerEntry* fetched = FetchedOf(**response, kA);
    ASSERT_TRUE(header != nullptr || fetched != nullptr);
    EXPECT_EQ(header != nullptr ? header->header.error : fetched->header.error,
              RaftError::kUnknownTopicOrPartition);
  }
  EXPECT_THAT(shard.shard().Partitions(), IsEmpty());
  EXPECT_FALSE(shard.disk().HasPending());
  shard.Restart();
  EXPECT_THAT(shard.shard().Partitions(), IsEmpty());
  EXPECT_THAT(shard.recovered().replicas, IsEmpty());

  (void)shard.Birth(kA, VotersOf(3));
  shard.Sync();
  EXPECT_THAT(shard.shard().Partitions(), testing::ElementsAre(kA));
  (void)shard.Bury(kA);
  shard.Sync();
  for (const LaneRequestBody& body : EveryKind()) (void)shard.Request(2, body);
  EXPECT_THAT(shard.shard().Partitions(), IsEmpty()) << "a message wakes no dead group";
  EXPECT_FALSE(shard.disk().HasPending());
}

}  // namespace
}  // namespace quorum::shard
