// Group H of the conformance list: Fetch on the leader, and the long poll (protocol.md 1.4, 3.4).
// The byte limit of C-083 and the negative wait of C-076 belong to the wire.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <variant>
#include <vector>

#include "service/base/ids.h"
#include "service/raft/effect.h"
#include "service/raft/errors.h"
#include "service/raft/messages.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using raft::FetchRequest;
using raft::KnownHighWatermark;
using raft::RaftError;
using raft::RoleKind;
using testing::ElementsAre;
using testing::IsEmpty;

// Leader of epoch 5 among three: epoch 1 at 0-2, 3 at 3-5, its own first record at 6.
void Lead(ReplicaHarness& replica) {
  replica.Voters(3);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.BecomeLeader(Epoch(5));
  replica.Forget();
}

RaftError ErrorOf(const FetchResult& result) { return result.reply.value().header.error; }

TEST(ConformanceFetch, C076_FieldsOutOfRangeAreInvalid) {
  ReplicaHarness replica;
  Lead(replica);
  std::vector<FetchRequest> invalid(8, replica.MakeFetch(2, 7, 5));
  invalid[0].fetch_offset = Offset(-1);
  invalid[1].last_fetched_epoch = Epoch(-1);
  invalid[2].last_fetched_epoch = Epoch(6);
  invalid[3].replica = Key(1);
  invalid[4].replica = ReplicaKey{NodeId(2), DirectoryId{}};
  invalid[5].replica = ReplicaKey{NodeId(0), DirectoryId{1, 1}};
  invalid[6].known_high_watermark = KnownHighWatermark::kKnown;
  invalid[6].high_watermark = Offset(-1);
  invalid[7].current_leader_epoch = Epoch(-1);
  invalid[7].last_fetched_epoch = Epoch(-1);
  for (const FetchRequest& request : invalid) {
    EXPECT_EQ(ErrorOf(replica.Fetch(request)), RaftError::kInvalidRequest);
  }
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
  EXPECT_EQ(replica.high_watermark(), std::nullopt) << "none of them is an acknowledgement";
}

TEST(ConformanceFetch, C077_AnEpochBelowIsFencedAndAboveIsUnknown_WithoutSteppingDown) {
  ReplicaHarness replica;
  Lead(replica);
  FetchRequest request = replica.MakeFetch(2, 6, 3);
  request.current_leader_epoch = Epoch(4);
  const FetchResult fenced = replica.Fetch(request);
  EXPECT_EQ(ErrorOf(fenced), RaftError::kFencedLeaderEpoch);
  EXPECT_EQ(fenced.reply->header.epoch, Epoch(5));
  EXPECT_EQ(fenced.reply->header.leader, Key(1));
  request.current_leader_epoch = Epoch(6);
  EXPECT_EQ(ErrorOf(replica.Fetch(request)), RaftError::kUnknownLeaderEpoch);
  EXPECT_EQ(replica.role(), RoleKind::kLeader);
  EXPECT_EQ(replica.epoch(), Epoch(5));
}

TEST(ConformanceFetch, C077_WhoDoesNotLeadNamesTheLeaderItKnows) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(5));
  replica.Start();
  const FetchResult without = replica.Fetch(3, 0, 0);
  EXPECT_EQ(ErrorOf(without), RaftError::kNotLeaderOrFollower);
  EXPECT_EQ(without.reply->header.leader, std::nullopt);
  replica.Follow(2, Epoch(5));
  const FetchResult with = replica.Fetch(3, 0, 0);
  EXPECT_EQ(ErrorOf(with), RaftError::kNotLeaderOrFollower);
  EXPECT_EQ(with.reply->header.leader, Key(2));
  EXPECT_EQ(with.reply->high_watermark, std::nullopt);
}

TEST(ConformanceFetch, C078_WithNothingToSendItParks_AndIsEmptyAtTheEndOfTheWait) {
  ReplicaHarness replica;
  Lead(replica);
  replica.Fetch(3, 7, 5);
  const FetchResult parked = replica.Fetch(2, 7, 5, 7);
  EXPECT_TRUE(parked.parked);
  replica.Step(raft::FetchWaitOver{parked.token});
  const FetchResult result = replica.ResultOf(parked.token);
  EXPECT_EQ(ErrorOf(result), RaftError::kNone);
  EXPECT_TRUE(std::holds_alternative<raft::FetchedNothing>(result.reply->payload));
  EXPECT_EQ(result.reply->high_watermark, Offset(7));
  const size_t replies = replica.Effects<raft::ReplyFetch>().size();
  replica.Step(raft::FetchWaitOver{parked.token});
  EXPECT_EQ(replica.Effects<raft::ReplyFetch>().size(), replies) << "it is answered once";
}

TEST(ConformanceFetch, C078_WhoMayNotWaitIsAnsweredEmptyAtOnce) {
  ReplicaHarness replica;
  Lead(replica);
  FetchRequest request = replica.MakeFetch(2, 7, 5);
  request.may_wait = false;
  EXPECT_EQ(ErrorOf(replica.Fetch(request)), RaftError::kNone);
}

TEST(ConformanceFetch, C079_AnAppendBeyondTheFetchOffsetDeliversRecords) {
  ReplicaHarness replica;
  Lead(replica);
  const FetchResult parked = replica.Fetch(2, 7, 5);
  replica.Append(3);
  const FetchResult result = replica.ResultOf(parked.token);
  ASSERT_TRUE(result.HasRecords());
  const auto& records = std::get<raft::ServeRecords>(result.reply->payload);
  EXPECT_EQ(records.from, Offset(7));
  EXPECT_EQ(records.end, Offset(10));
}

TEST(ConformanceFetch, C079_LosingTheLeadershipFailsParkedFetchesAtOnce) {
  for (const bool named : {true, false}) {
    ReplicaHarness replica;
    Lead(replica);
    const FetchResult parked = replica.Fetch(2, 7, 5);
    if (named) {
      replica.Begin(3, Epoch(6));
    } else {
      replica.RequestVote(3, Epoch(6), End(7, 5));
    }
    const FetchResult result = replica.ResultOf(parked.token);
    EXPECT_EQ(ErrorOf(result), RaftError::kNotLeaderOrFollower);
    EXPECT_EQ(result.reply->header.epoch, Epoch(6));
    EXPECT_EQ(result.reply->header.leader, named ? std::optional(Key(3)) : std::nullopt);
  }
}

TEST(ConformanceFetch, C079_ResigningFailsParkedFetches_NamingItself) {
  ReplicaHarness replica;
  Lead(replica);
  const FetchResult parked = replica.Fetch(2, 7, 5);
  replica.Step(raft::ResignRequested{Epoch(5), std::nullopt});
  const FetchResult result = replica.ResultOf(parked.token);
  EXPECT_EQ(ErrorOf(result), RaftError::kNotLeaderOrFollower);
  EXPECT_EQ(result.reply->header.leader, Key(1));
}

TEST(ConformanceFetch, C080_DivergenceAndErrorsAreImmediate) {
  ReplicaHarness replica;
  Lead(replica);
  const FetchResult diverging = replica.Fetch(2, 6, 2);
  EXPECT_FALSE(diverging.parked);
  EXPECT_EQ(diverging.Divergence(), End(3, 1));
  const FetchResult beyond = replica.Fetch(2, 8, 5);
  EXPECT_EQ(beyond.Divergence(), End(7, 5));
  FetchRequest wrong = replica.MakeFetch(2, 7, 5);
  wrong.current_leader_epoch = Epoch(9);
  EXPECT_FALSE(replica.Fetch(wrong).parked);
  EXPECT_THAT(replica.Effects<raft::ParkFetch>(), IsEmpty());
}

TEST(ConformanceFetch, C081_AWatermarkBehindTheLeadersIsAnsweredAtOnce) {
  ReplicaHarness replica;
  Lead(replica);
  FetchRequest unknown = replica.MakeFetch(2, 7, 5);
  unknown.known_high_watermark = KnownHighWatermark::kUnknown;
  unknown.fetch_offset = Offset(6);
  unknown.last_fetched_epoch = Epoch(3);
  EXPECT_TRUE(replica.Fetch(unknown).HasRecords());
  replica.Fetch(3, 7, 5);
  ASSERT_EQ(replica.high_watermark(), Offset(7));

  EXPECT_TRUE(replica.Fetch(2, 7, 5).parked) << "it does not ask for the watermark";
  EXPECT_TRUE(replica.Fetch(2, 7, 5, 7).parked) << "it knows it";
  const FetchResult behind = replica.Fetch(2, 7, 5, 6);
  ASSERT_TRUE(behind.reply.has_value());
  EXPECT_TRUE(std::holds_alternative<raft::FetchedNothing>(behind.reply->payload));
  EXPECT_EQ(behind.reply->high_watermark, Offset(7));
  unknown = replica.MakeFetch(2, 7, 5);
  unknown.known_high_watermark = KnownHighWatermark::kUnknown;
  EXPECT_EQ(replica.Fetch(unknown).reply.value().high_watermark, Offset(7));
}

TEST(ConformanceFetch, C081_AnUnknownWatermarkParksWhileTheLeaderHasNone) {
  ReplicaHarness replica;
  replica.Voters(5);
  replica.Recover(Epoch(4));
  replica.RecoverLog({{1, 3}, {3, 3}});
  replica.BecomeLeader(Epoch(5));
  FetchRequest unknown = replica.MakeFetch(2, 7, 5);
  unknown.known_high_watermark = KnownHighWatermark::kUnknown;
  const FetchResult parked = replica.Fetch(unknown);
  EXPECT_TRUE(parked.parked);
  replica.Fetch(3, 7, 5);
  EXPECT_EQ(replica.ResultOf(parked.token).reply.value().high_watermark, Offset(7));
}

TEST(ConformanceFetch, C082_AnAdvanceOfTheWatermarkCompletesWhoIsBehind) {
  ReplicaHarness replica;
  Lead(replica);
  replica.Fetch(2, 7, 5);
  ASSERT_EQ(replica.high_watermark(), Offset(7));
  replica.Append(1);
  const FetchResult behind = replica.Fetch(2, 8, 5, 8);
  ASSERT_EQ(replica.high_watermark(), Offset(8));
  const FetchResult equal = replica.Fetch(3, 8, 5, 8);
  EXPECT_TRUE(behind.parked);
  EXPECT_TRUE(equal.parked);

  ReplicaHarness five;
  five.Voters(5);
  five.Recover(Epoch(4));
  five.RecoverLog({{3, 6}});
  five.BecomeLeader(Epoch(5));
  five.Fetch(2, 7, 5);
  five.Fetch(3, 7, 5);
  five.Append(1);
  const FetchResult waits = five.Fetch(4, 8, 5, 7);
  const FetchResult uninterested = five.Fetch(2, 8, 5);
  ASSERT_EQ(five.high_watermark(), Offset(8)) << "1, 2 and 4 hold it";
  EXPECT_EQ(five.ResultOf(waits.token).reply.value().high_watermark, Offset(8));
  EXPECT_TRUE(five.ResultOf(uninterested.token).parked);
}

TEST(ConformanceFetch, C083_RecordsAreOfferedFromTheFetchOffsetToTheEnd) {
  ReplicaHarness replica;
  Lead(replica);
  const FetchResult result = replica.Fetch(2, 3, 1);
  ASSERT_TRUE(result.HasRecords());
  const auto& records = std::get<raft::ServeRecords>(result.reply->payload);
  EXPECT_EQ(records.from, Offset(3));
  EXPECT_EQ(records.end, Offset(7)) << "the leader serves what it has not synced itself, too";
}

TEST(ConformanceFetch, C084_TheFirstFetchAcknowledgesTheLeader) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.BecomeLeader(Epoch(1));
  EXPECT_THAT(replica.SentTo<raft::BeginQuorumEpochRequest>(), ElementsAre(Key(2), Key(3)));
  replica.Forget();
  replica.Advance(Ms(500));
  replica.Fetch(2, 0, 0);
  replica.Advance(Ms(600));
  EXPECT_THAT(replica.SentTo<raft::BeginQuorumEpochRequest>(), ElementsAre(Key(3)));
}

TEST(ConformanceFetch, C085_AnAnonymousReaderIsServedAndNeverTracked) {
  ReplicaHarness replica;
  Lead(replica);
  FetchRequest request = replica.MakeFetch(2, 3, 1);
  request.replica = std::nullopt;
  EXPECT_TRUE(replica.Fetch(request).HasRecords());
  request.fetch_offset = Offset(7);
  request.last_fetched_epoch = Epoch(5);
  const FetchResult first = replica.Fetch(request);
  const FetchResult second = replica.Fetch(request);
  EXPECT_TRUE(first.parked);
  EXPECT_TRUE(replica.ResultOf(first.token).parked) << "two readers do not displace each other";
  EXPECT_TRUE(second.parked);
  EXPECT_EQ(replica.high_watermark(), std::nullopt);
  EXPECT_EQ(replica.replica().Describe(replica.now()).size(), 3u);
}

// Nothing parks below the log end, so an append has records for everybody.
TEST(ConformanceFetch, C086_AnAppendAndARoleChangeWakeEverybody) {
  for (const bool append : {true, false}) {
    ReplicaHarness replica;
    Lead(replica);
    const FetchResult two = replica.Fetch(2, 7, 5);
    const FetchResult nine = replica.Fetch(9, 7, 5, 7);
    ASSERT_TRUE(two.parked);
    ASSERT_TRUE(nine.parked);
    if (append) {
      replica.Append(1);
    } else {
      replica.Step(raft::ResignRequested{Epoch(5), std::nullopt});
    }
    for (const FetchResult& woken : {replica.ResultOf(two.token), replica.ResultOf(nine.token)}) {
      EXPECT_EQ(woken.HasRecords(), append);
      EXPECT_EQ(ErrorOf(woken), append ? RaftError::kNone : RaftError::kNotLeaderOrFollower);
    }
  }
}

// A replica has one Fetch at a time; the one that it gave up is answered empty (trap 15).
TEST(ConformanceFetch, C086_ANewFetchTakesThePlaceOfTheParkedOne) {
  ReplicaHarness replica;
  Lead(replica);
  const FetchResult first = replica.Fetch(2, 7, 5);
  const FetchResult second = replica.Fetch(2, 7, 5);
  EXPECT_EQ(ErrorOf(replica.ResultOf(first.token)), RaftError::kNone);
  EXPECT_TRUE(replica.ResultOf(second.token).parked);
}

TEST(ConformanceFetch, C086_BeyondTheBoundAFetchIsThrottled_AndACancelledOneMakesRoom) {
  ReplicaHarness replica;
  replica.config().parked_fetches_max = 2;
  Lead(replica);
  const FetchResult two = replica.Fetch(2, 7, 5);
  replica.Fetch(8, 7, 5);
  EXPECT_EQ(ErrorOf(replica.Fetch(9, 7, 5)), RaftError::kThrottled);
  replica.Step(raft::FetchCancelled{two.token});
  EXPECT_TRUE(replica.Fetch(9, 7, 5).parked);
  replica.Append(1);
  EXPECT_EQ(replica.ResultOf(two.token).reply, std::nullopt) << "nobody wants that answer";
}

}  // namespace
}  // namespace quorum::conformance
