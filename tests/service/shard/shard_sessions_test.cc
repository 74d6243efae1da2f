// Fetch sessions at a shard: how they open and end, what they say of each partition, and that they
// keep leaders and followers alive; and fetches without a session.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/service/shard/shard_harness.h"

namespace quorum::shard {
namespace {

using raft::RaftError;
using raft::RoleKind;
using testing::IsEmpty;
using testing::SizeIs;

const PartitionId kA = Id(10);
const PartitionId kB = Id(11);

SessionError ErrorOf(const Awaited<LaneResponse>& response) {
  return std::get<FetchAnswer>((*response)->body).session->error;
}

size_t ParkedAt(const ShardHarness& shard, PartitionId id) {
  return std::get<raft::Leader>(shard.Replica(id).state().role).parked.size();
}

class ShardSessionsTest : public ::testing::Test {
 protected:
  ShardSessionsTest() {
    shard_.Lead(kA, VotersOf(3));
    shard_.Lead(kB, VotersOf(3));
  }

  // A session request of node 2 with an envelope of its own.
  Awaited<LaneResponse> Send(Envelope envelope, uint64_t session, uint64_t number,
                             uint32_t lanes = 1) {
    FetchBatch batch;
    batch.session = SessionRequestPlace{session, number, 0, lanes};
    batch.max_wait = Ms(500);
    batch.max_bytes = 1 << 20;
    if (number == 1) batch.entries = {FetchAt(kA, 1, 2, 1, 2)};
    return shard_.Request(LaneRequest{std::move(envelope), std::move(batch)});
  }
  Awaited<LaneResponse> Send(uint64_t session, uint64_t number) {
    return Send(shard_.From(2), session, number);
  }

  ShardHarness shard_;
};

TEST_F(ShardSessionsTest, TheSecondRequestMayComeBeforeAnAnswerNamedTheLeadersLife) {
  const auto first = Send(1, 1);
  EXPECT_FALSE(first->has_value());
  EXPECT_EQ(ParkedAt(shard_, kA), 1u);
  const auto second = Send(1, 2);
  ASSERT_TRUE(first->has_value()) << "released";
  EXPECT_EQ(ErrorOf(first), SessionError::kNone);
  EXPECT_FALSE(second->has_value()) << "parked in its place";
  EXPECT_EQ(ParkedAt(shard_, kA), 1u);
}

TEST_F(ShardSessionsTest, IsRefusedWhenItIsMeantForAnotherLifeOrReplica) {
  Envelope other_life = shard_.From(2);
  other_life.to.incarnation = Incarnation(shard_.config().incarnation.value() + 1);
  EXPECT_EQ(ErrorOf(Send(other_life, 1, 1)), SessionError::kInvalidRequest);
  Envelope other_replica = shard_.From(2);
  other_replica.to.key.directory.low ^= 1;
  EXPECT_EQ(ErrorOf(Send(other_replica, 1, 1)), SessionError::kInvalidRequest);
  Envelope nobody = shard_.From(2);
  nobody.from.incarnation.reset();
  EXPECT_EQ(ErrorOf(Send(nobody, 1, 1)), SessionError::kInvalidRequest);
  EXPECT_EQ(ErrorOf(Send(0, 1)), SessionError::kInvalidRequest);
  EXPECT_EQ(ErrorOf(Send(shard_.From(2), 1, 1, 2)), SessionError::kInconsistentLaneCount);
  EXPECT_EQ(ParkedAt(shard_, kA), 0u);
  Envelope this_life = shard_.From(2);
  this_life.to.incarnation = shard_.config().incarnation;
  EXPECT_FALSE(Send(this_life, 1, 1)->has_value());
}

TEST_F(ShardSessionsTest, OnlyTheFollowersNewestSessionIsServed) {
  EXPECT_EQ(ErrorOf(Send(5, 2)), SessionError::kSessionIdNotFound) << "never opened";
  const auto fifth = Send(5, 1);
  EXPECT_FALSE(fifth->has_value());
  EXPECT_EQ(ErrorOf(Send(4, 1)), SessionError::kSessionIdNotFound) << "a delayed opening";
  EXPECT_EQ(ErrorOf(Send(5, 1)), SessionError::kSessionIdNotFound) << "a repeated one";
  EXPECT_FALSE(fifth->has_value());
  const auto seventh = Send(7, 1);
  ASSERT_TRUE(fifth->has_value());
  EXPECT_EQ(ErrorOf(fifth), SessionError::kSessionIdNotFound);
  EXPECT_EQ(ErrorOf(Send(5, 2)), SessionError::kSessionIdNotFound);
  EXPECT_FALSE(seventh->has_value());
  EXPECT_EQ(ParkedAt(shard_, kA), 1u);
}

TEST_F(ShardSessionsTest, ANewLifeOfTheFollowerTakesOverAndAnOldOneIsRefused) {
  const auto old_life = Send(shard_.From(2, 3), 9, 1);
  const auto new_life = Send(shard_.From(2, 4), 1, 1);
  EXPECT_EQ(ErrorOf(old_life), SessionError::kSessionIdNotFound);
  EXPECT_FALSE(new_life->has_value());
  EXPECT_EQ(ErrorOf(Send(shard_.From(2, 3), 10, 1)), SessionError::kSessionIdNotFound);
  EXPECT_EQ(ErrorOf(Send(shard_.From(2, 3), 1, 2)), SessionError::kSessionIdNotFound);
  EXPECT_FALSE(new_life->has_value());
}

TEST_F(ShardSessionsTest, AnEarlyRequestIsHeld) {
  EXPECT_FALSE(Send(1, 1)->has_value());
  const auto third = Send(1, 3);
  EXPECT_FALSE(third->has_value());
  const auto second = Send(1, 2);
  ASSERT_TRUE(second->has_value()) << "released by the one that was held";
  EXPECT_EQ(ErrorOf(second), SessionError::kNone);
  EXPECT_FALSE(third->has_value());
}

TEST_F(ShardSessionsTest, AGapEndsTheSessionForAllOfIt) {
  const auto first = Send(1, 1);
  const auto early = Send(1, 3);
  const auto gap = Send(1, 4);
  for (const auto& response : {first, early, gap}) {
    ASSERT_TRUE(response->has_value());
    EXPECT_EQ(ErrorOf(response), SessionError::kInvalidSessionEpoch);
  }
  EXPECT_EQ(ParkedAt(shard_, kA), 0u) << "nobody wants the answer";
  EXPECT_EQ(shard_.shard().waiter_count(), 0u);
  EXPECT_FALSE(Send(2, 1)->has_value());
}

TEST_F(ShardSessionsTest, AWithdrawnEntryIsCancelledAndNotAnswered) {
  (void)shard_.Fetch(2, 1, 1, {FetchAt(kA, 1, 2, 1, 2), FetchAt(kB, 1, 2, 1, 2)});
  const auto second = shard_.Fetch(2, 1, 2, {WithdrawalOf(kA), WithdrawalOf(Id(99))});
  EXPECT_EQ(ParkedAt(shard_, kA), 0u);
  EXPECT_EQ(ParkedAt(shard_, kB), 1u);
  (void)shard_.Append(kA);
  EXPECT_FALSE(second->has_value());
  (void)shard_.Append(kB);
  ASSERT_TRUE(second->has_value());
  EXPECT_THAT(FetchedOf(**second, kB)->batches, SizeIs(1));
  EXPECT_EQ(FetchedOf(**second, kA), nullptr);
}

TEST_F(ShardSessionsTest, ErrorsAreOfTheirEntriesOnly) {
  const auto response =
      shard_.Fetch(2, 1, 1, {FetchAt(Id(99), 1, 0, 0), FetchAt(kA, 7, 2, 1), FetchAt(kB, 1, 0, 0)});
  ASSERT_TRUE(response->has_value());
  EXPECT_EQ(ErrorOf(response), SessionError::kNone);
  EXPECT_EQ(FetchedOf(**response, Id(99))->header.error, RaftError::kUnknownTopicOrPartition);
  EXPECT_FALSE(FetchedOf(**response, Id(99))->has_epoch);
  EXPECT_EQ(FetchedOf(**response, kA)->header.error, RaftError::kUnknownLeaderEpoch);
  EXPECT_TRUE(FetchedOf(**response, kA)->has_epoch);
  EXPECT_THAT(FetchedOf(**response, kB)->batches, SizeIs(1));
}

TEST_F(ShardSessionsTest, AnAnswerThatFindsNobodyMeansThatNothingHasChanged) {
  const auto first = Send(1, 1);
  shard_.Advance(Ms(490));
  EXPECT_FALSE(first->has_value());
  shard_.Advance(Ms(20));
  ASSERT_TRUE(first->has_value());
  EXPECT_THAT(std::get<FetchAnswer>((*first)->body).entries, IsEmpty());
  EXPECT_EQ(ParkedAt(shard_, kA), 1u);
}

TEST_F(ShardSessionsTest, KeepALeaderInOfficeForWhichNothingIsNamed) {
  (void)shard_.Fetch(2, 1, 1, {FetchAt(kA, 1, 2, 1, 2), FetchAt(kB, 1, 2, 1, 2)});
  (void)shard_.Fetch(2, 1, 2, {WithdrawalOf(kB)});
  for (uint64_t number = 3; number < 40; ++number) {
    shard_.Advance(Ms(500));
    (void)shard_.Fetch(2, 1, number, {});
  }
  EXPECT_EQ(shard_.Replica(kA).role(), RoleKind::kLeader);
  EXPECT_NE(shard_.Replica(kB).role(), RoleKind::kLeader) << "its only follower has left";
}

TEST_F(ShardSessionsTest, AFollowerThatIsSilentForMinutesIsForgotten) {
  (void)Send(1, 1);
  shard_.Advance(Ms(200'000), Ms(100));
  EXPECT_EQ(ErrorOf(Send(1, 4)), SessionError::kInvalidSessionEpoch) << "known, if out of step";
  (void)Send(2, 1);
  shard_.Advance(Ms(200'000), Ms(100));
  EXPECT_FALSE(Send(2, 2)->has_value()) << "heard of within the time";
  shard_.Advance(Ms(301'000), Ms(100));
  EXPECT_EQ(ErrorOf(Send(2, 3)), SessionError::kSessionIdNotFound);
  EXPECT_EQ(ErrorOf(Send(2, 4)), SessionError::kSessionIdNotFound);
  (void)Send(1, 1);
  shard_.Run();
}

TEST_F(ShardSessionsTest, AskingForMoreThanTheLimitGivesTheLimit) {
  ShardConfig config;
  config.fetch_bytes_max = 1000;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(3));
  for (int i = 0; i < 5; ++i) (void)shard.Append(kA, DraftOf(1, 400));
  const auto response = shard.Fetch(2, 1, 1, {FetchAt(kA, 1, 2, 1)});
  ASSERT_TRUE(response->has_value());
  EXPECT_THAT(FetchedOf(**response, kA)->batches, SizeIs(2));
}

class ColdSessionsTest : public ::testing::Test {
 protected:
  static ShardConfig Cold() {
    ShardConfig config;
    config.cache_bytes_max = 0;
    return config;
  }

  ShardHarness shard_{1, Cold()};
};

TEST_F(ColdSessionsTest, RecordsThatLeftTheCacheComeFromTheDisk) {
  shard_.Lead(kA, VotersOf(3));
  (void)shard_.Append(kA);
  shard_.Sync();
  const auto response = shard_.Fetch(2, 1, 1, {FetchAt(kA, 1, 0, 0)});
  EXPECT_FALSE(response->has_value());
  shard_.Read();
  ASSERT_TRUE(response->has_value());
  EXPECT_THAT(FetchedOf(**response, kA)->batches, SizeIs(2));
}

TEST_F(ColdSessionsTest, WhatWasReadForALeaderThatIsNoneDoesNotLeave) {
  shard_.Lead(kA, VotersOf(3));
  const auto response = shard_.Fetch(2, 1, 1, {FetchAt(kA, 1, 0, 0)});
  EXPECT_FALSE(response->has_value());
  (void)shard_.Request(3, VoteBatch{{VoteFor(kA, 5, 2, 1)}});
  ASSERT_TRUE(response->has_value());
  EXPECT_THAT(FetchedOf(**response, kA)->batches, IsEmpty());
  const auto next = shard_.Fetch(2, 1, 2, {});
  shard_.Read();
  ASSERT_TRUE(next->has_value());
  EXPECT_THAT(FetchedOf(**next, kA)->batches, IsEmpty());
  EXPECT_NE(FetchedOf(**next, kA)->header.error, RaftError::kNone);
}

// Requests that one round finds together: an answer whose records are not cached is handed out to
// be read while the second is executed, and a third message takes the replica out of that role
// before the read begins.
class ColdRoundTest : public ColdSessionsTest {
 protected:
  // Posts a request of node 2 without running a round.
  Awaited<LaneResponse> PostFetch(uint64_t number, std::vector<FetchEntry> entries) {
    FetchBatch batch;
    batch.session = SessionRequestPlace{1, number, 0, 1};
    batch.max_wait = Ms(500);
    batch.max_bytes = 1 << 20;
    batch.entries = std::move(entries);
    auto answer = std::make_shared<std::optional<LaneResponse>>();
    EXPECT_TRUE(shard_.shard().Post(
        LaneRequest{shard_.From(2), std::move(batch)},
        [answer](LaneResponse response) { answer->emplace(std::move(response)); }));
    return answer;
  }

  // The follower asks on until kA has had its final answer, and that is a failure.
  void ExpectFailure() {
    for (uint64_t number = 3; number < 6; ++number) {
      const auto response = shard_.Fetch(2, 1, number, {});
      shard_.Read();
      shard_.Advance(Ms(500));
      ASSERT_TRUE(response->has_value());
      const FetchAnswerEntry* entry = FetchedOf(**response, kA);
      if (entry == nullptr) continue;
      EXPECT_THAT(entry->batches, IsEmpty());
      EXPECT_EQ(entry->header.error, RaftError::kBrokerNotAvailable);
      return;
    }
    ADD_FAILURE() << "kA is never answered";
  }
};

TEST_F(ColdRoundTest, AReadIsOfTheRoleThatOfferedIt) {
  shard_.Lead(kA, VotersOf(3));
  (void)PostFetch(1, {FetchAt(kA, 1, 0, 0)});
  (void)PostFetch(2, {});
  (void)shard_.Request(3, BeginBatch{{BeginEntry{kA, Epoch(2)}}});
  EXPECT_EQ(shard_.Replica(kA).role(), RoleKind::kFollower);
  ExpectFailure();
}

TEST_F(ColdRoundTest, AReadForAReplicaThatIsGoneKeepsNoPlace) {
  shard_.Lead(kA, VotersOf(3));
  (void)PostFetch(1, {FetchAt(kA, 1, 0, 0)});
  (void)PostFetch(2, {});
  (void)shard_.Bury(kA);
  ExpectFailure();
}

// The log of a leader is not cut, so what it offered is there or has been lost.
TEST_F(ColdSessionsTest, RecordsThatTheDiskDoesNotHoldQuarantineTheirLeader) {
  shard_.Lead(kA, VotersOf(3));
  storage::MemoryImage image = shard_.disk().SaveDatabase();
  for (const auto& [key, value] : shard_.disk().image().family(storage::ColumnFamily::kLog)) {
    image.Delete(storage::ColumnFamily::kLog, key);
  }
  shard_.disk().RestoreDatabase(std::move(image));
  (void)shard_.Fetch(2, 1, 1, {FetchAt(kA, 1, 0, 0)});
  shard_.Read();
  EXPECT_TRUE(shard_.Replica(kA).quarantine().has_value());
}

TEST_F(ColdSessionsTest, ManyThatAreBehindDoNotFillTheMemory) {
  std::vector<FetchEntry> entries;
  for (uint64_t topic = 1; topic <= 50; ++topic) {
    shard_.Lead(Id(topic), VotersOf(3));
    entries.push_back(FetchAt(Id(topic), 1, 0, 0));
  }
  auto response = shard_.Fetch(2, 1, 1, entries);
  int reads = 0;
  std::vector<bool> served(51);
  for (uint64_t number = 2; number < 200; ++number) {
    while (!response->has_value() && shard_.disk().HasPendingReads()) {
      ASSERT_TRUE(shard_.disk().CompleteReads(1));
      ++reads;
      shard_.Run();
    }
    if (!response->has_value()) break;
    for (const FetchAnswerEntry& entry : std::get<FetchAnswer>((*response)->body).entries) {
      EXPECT_THAT(entry.batches, SizeIs(1));
      served[entry.partition.topic.value()] = true;
    }
    response = shard_.Fetch(2, 1, number, {});
  }
  EXPECT_EQ(reads, 50) << "each is read once";
  EXPECT_EQ(std::count(served.begin(), served.end(), true), 50);
}

TEST_F(ColdSessionsTest, ASessionLessFetchIsServedFromTheDiskToo) {
  shard_.Lead(kA, VotersOf(3));
  shard_.Lead(kB, VotersOf(3));
  FetchBatch batch;
  batch.max_bytes = 1 << 20;
  batch.entries = {FetchAt(kA, 1, 0, 0), FetchAt(kB, 1, 0, 0)};
  const auto response = shard_.Request(2, batch);
  EXPECT_FALSE(response->has_value());
  shard_.Read();
  ASSERT_TRUE(response->has_value());
  EXPECT_THAT(FetchedOf(**response, kA)->batches, SizeIs(1));
  EXPECT_THAT(FetchedOf(**response, kB)->batches, SizeIs(1));
  EXPECT_EQ(shard_.shard().waiter_count(), 0u);
}

// --- without a session

FetchBatch Once(std::vector<FetchEntry> entries, Duration wait = Ms(500)) {
  FetchBatch batch;
  batch.max_wait = wait;
  batch.max_bytes = 1 << 20;
  batch.entries = std::move(entries);
  return batch;
}

TEST_F(ShardSessionsTest, ASessionLessFetchNamesAllThatItAskedFor) {
  const auto response = shard_.Request(2, Once({FetchAt(kA, 1, 0, 0), FetchAt(kB, 1, 2, 1, 2)}));
  ASSERT_TRUE(response->has_value()) << "the first has records";
  EXPECT_THAT(FetchedOf(**response, kA)->batches, SizeIs(1));
  ASSERT_NE(FetchedOf(**response, kB), nullptr);
  EXPECT_EQ(FetchedOf(**response, kB)->header.error, RaftError::kNone);
  EXPECT_EQ(ParkedAt(shard_, kB), 0u);
}

TEST_F(ShardSessionsTest, ASessionLessFetchWaitsForTheFirstNewsOrItsDeadline) {
  const auto news = shard_.Request(2, Once({FetchAt(kA, 1, 2, 1, 2)}));
  EXPECT_FALSE(news->has_value());
  (void)shard_.Append(kA);
  EXPECT_TRUE(news->has_value());
  const auto none = shard_.Request(2, Once({FetchAt(kB, 1, 2, 1, 2)}));
  shard_.Advance(Ms(490));
  EXPECT_FALSE(none->has_value());
  shard_.Advance(Ms(20));
  ASSERT_TRUE(none->has_value());
  EXPECT_EQ(FetchedOf(**none, kB)->header.error, RaftError::kNone);
  EXPECT_TRUE(shard_.Request(2, Once({FetchAt(kB, 1, 2, 1, 2)}, Ms(0)))->has_value());
  EXPECT_EQ(shard_.shard().waiter_count(), 1u) << "the append";
}

// --- the follower's end

// Node ids come from whoever connects.
TEST(CrowdedSessionsTest, StrangersFindNoPlaceWhileTheyAreTooMany) {
  ShardConfig config;
  config.followers_max = 10;
  ShardHarness shard(1, config);
  for (int32_t node = 2; node < 12; ++node) {
    EXPECT_FALSE(shard.Fetch(node, 1, 1, {})->has_value());
  }
  const auto stranger = shard.Fetch(12, 1, 1, {});
  ASSERT_TRUE(stranger->has_value());
  EXPECT_EQ(ErrorOf(stranger), SessionError::kSessionIdNotFound);
  EXPECT_FALSE(shard.Fetch(2, 2, 1, {})->has_value()) << "it is known";
  shard.Advance(std::chrono::minutes(6), std::chrono::seconds(1));
  EXPECT_FALSE(shard.Fetch(12, 2, 1, {})->has_value()) << "the others have vanished";
}

// A reader's fetch at the log end, which waits.
FetchBatch WaitingFetch(size_t max_bytes) {
  FetchBatch batch;
  batch.anonymous = true;
  batch.max_wait = Ms(500);
  batch.max_bytes = max_bytes;
  batch.entries = {FetchAt(kA, 1, 2, 1, 2)};
  return batch;
}

TEST(CrowdedSessionsTest, TooManySessionLessFetchesAreRefused) {
  ShardConfig config;
  config.loose_fetches_max = 3;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(3));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(shard.Request(3, WaitingFetch(100))->has_value());
  const size_t waiters = shard.shard().waiter_count();
  const auto refused = shard.Request(3, WaitingFetch(100));
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ(std::get<RefusedRequest>((*refused)->body).error, EnvelopeError::kThrottled);
  EXPECT_EQ(shard.shard().waiter_count(), waiters);
  shard.Advance(Ms(600));
  EXPECT_FALSE(shard.Request(3, WaitingFetch(100))->has_value());
}

TEST(CrowdedSessionsTest, SessionLessFetchesShareTheirBytes) {
  ShardConfig config;
  config.cache_bytes_max = 0;
  config.loose_fetch_bytes_max = 1000;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(3));
  for (int i = 0; i < 10; ++i) (void)shard.Append(kA);
  shard.Sync();
  FetchBatch fetch = WaitingFetch(800);
  fetch.entries = {FetchAt(kA, 1, 0, 0)};
  const auto size_of = [](const Awaited<LaneResponse>& response) {
    return FetchedOf(**response, kA)->batches.size();
  };
  const auto first = shard.Request(3, fetch);
  const auto second = shard.Request(3, fetch);
  const auto third = shard.Request(3, fetch);
  shard.Read();
  ASSERT_TRUE(first->has_value() && second->has_value() && third->has_value());
  EXPECT_GT(size_of(first), size_of(second));
  EXPECT_EQ(size_of(third), 1u) << "nothing is left";
  const auto later = shard.Request(3, fetch);
  shard.Read();
  ASSERT_TRUE(later->has_value());
  EXPECT_EQ(size_of(later), size_of(first));
}

TEST(FollowerOfSessionTest, AFailedSessionIsOpenedAnewAndNamesEverybody) {
  ShardHarness shard;
  shard.Follow({kA, kB});
  const uint64_t first = shard.sent()[0].As<FetchBatch>()->session->session_id;
  SentRequest request = std::move(shard.sent()[0]);
  shard.Forget();
  shard.Fail(&request);
  // Each tries another replica once, then the leader again.
  for (int i = 0; i < 100 && shard.SentOf<FetchBatch>(Key(2)).empty(); ++i) {
    shard.Advance(Ms(10));
    std::vector<SentRequest> elsewhere;
    for (SentRequest* other : shard.SentOf<FetchBatch>(Key(3))) {
      if (other->done != nullptr) elsewhere.push_back(std::move(*other));
    }
    for (SentRequest& other : elsewhere) shard.Fail(&other);
  }
  const auto again = shard.SentOf<FetchBatch>(Key(2));
  ASSERT_THAT(again, testing::Not(IsEmpty()));
  EXPECT_GT(again[0]->As<FetchBatch>()->session->session_id, first);
  EXPECT_EQ(again[0]->As<FetchBatch>()->session->request_number, 1u);
}

// Answers each Fetch to node 2 with nothing after 400 ms; the first one also with `also`. Returns
// how many there were.
int AnswerWithNothing(ShardHarness& shard, Duration time, FetchAnswerEntry also = {}) {
  uint64_t number = 0;
  for (Duration past{}; past < time; past += Ms(400)) {
    shard.Advance(Ms(400));
    std::vector<SentRequest> requests = std::exchange(shard.sent(), {});
    for (SentRequest& request : requests) {
      if (request.As<FetchBatch>() == nullptr || request.to() != Key(2)) continue;
      std::vector<FetchAnswerEntry> entries;
      if (number == 0 && also.partition != PartitionId{}) entries.push_back(also);
      shard.Answer(&request, SessionAnswer(request, ++number, entries));
    }
  }
  return static_cast<int>(number);
}

TEST(FollowerOfSessionTest, EmptyAnswersKeepFollowersQuiet) {
  ShardHarness shard;
  shard.Follow({kA, kB});
  EXPECT_GT(AnswerWithNothing(shard, Ms(20'000)), 40);
  EXPECT_EQ(shard.Replica(kA).role(), RoleKind::kFollower);
  EXPECT_EQ(shard.Replica(kB).role(), RoleKind::kFollower);
  EXPECT_THAT(shard.SentOf<VoteBatch>(), IsEmpty());
}

TEST(FollowerOfSessionTest, AMarkerEndsWhatTheAnswersSayOfThatPartition) {
  ShardHarness shard;
  shard.Follow({kA, kB});
  FetchAnswerEntry marker;
  marker.partition = kA;
  marker.has_epoch = false;
  marker.header.error = RaftError::kNotLeaderOrFollower;
  const uint64_t of_a = shard.Replica(kA).incarnation();
  const uint64_t of_b = shard.Replica(kB).incarnation();
  (void)AnswerWithNothing(shard, Ms(6'000), marker);
  EXPECT_GT(shard.Replica(kA).incarnation(), of_a) << "it has asked for an election";
  EXPECT_EQ(shard.Replica(kB).incarnation(), of_b);
}

TEST(FollowerOfSessionTest, APeerThatNobodyFollowsIsForgotten) {
  ShardHarness shard;
  shard.Follow({kA});
  const uint64_t first = shard.sent()[0].As<FetchBatch>()->session->session_id;
  SentRequest request = std::move(shard.sent()[0]);
  shard.Forget();
  (void)shard.Bury(kA);
  shard.Answer(&request, SessionAnswer(request, 1, {}));
  SentRequest withdrawal = std::move(*shard.SentOf<FetchBatch>(Key(2)).at(0));
  shard.Answer(&withdrawal, SessionAnswer(withdrawal, 2, {}));
  shard.Sync();
  shard.Forget();
  shard.Follow({kB});
  const FetchBatch* next = shard.sent()[0].As<FetchBatch>();
  EXPECT_GT(next->session->session_id, first);
  EXPECT_LE(next->session->request_number, 2u);
}

}  // namespace
}  // namespace quorum::shard
