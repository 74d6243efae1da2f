// Group O of the conformance list: finding the leader, back-off, and no busy loops
// (protocol.md 3.9). C-143, which error a broken connection becomes, is the transport's
// (peer_loopback_test.cc); here each is one PeerFailed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/raft/effect.h"
#include "service/raft/errors.h"
#include "service/raft/messages.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using raft::FetchRequest;
using raft::RaftError;
using raft::RoleKind;
using testing::IsEmpty;
using testing::SizeIs;

ReplicaKey LastAsked(const ReplicaHarness& replica) {
  const auto sent = replica.Sent<FetchRequest>();
  return sent.empty() ? ReplicaKey{} : sent.back().to;
}

void AnswerError(ReplicaHarness& replica, RaftError error, std::optional<ReplicaKey> leader) {
  raft::FetchResponse response;
  response.header = raft::ResponseHeader{error, replica.epoch(), std::move(leader)};
  replica.AnswerFetch(response);
}

void FailFetch(ReplicaHarness& replica) {
  const auto fetch = replica.Sent<FetchRequest>().back();
  replica.Step(raft::PeerFailed{fetch.correlation});
}

TEST(ConformanceDiscovery, C139_WhoKnowsNoLeaderAsksOnePeerAtATime) {
  for (const int32_t self : {1, 9}) {
    ReplicaHarness replica(1, Key(self));
    replica.Voters(3);
    replica.Recover(Epoch(4));
    replica.Start();
    ASSERT_THAT(replica.Sent<FetchRequest>(), SizeIs(1));
    EXPECT_TRUE(replica.replica().voters().Latest().Contains(LastAsked(replica)));
    EXPECT_NE(LastAsked(replica), Key(self));
    replica.Advance(Ms(900));
    EXPECT_THAT(replica.Sent<FetchRequest>(), SizeIs(1)) << "one request in flight";

    AnswerError(replica, RaftError::kNotLeaderOrFollower, std::nullopt);
    EXPECT_THAT(replica.Sent<FetchRequest>(), SizeIs(1)) << "first the back-off";
    replica.Advance(Ms(50));
    EXPECT_THAT(replica.Sent<FetchRequest>(), SizeIs(2));
    AnswerError(replica, RaftError::kNotLeaderOrFollower, Key(3));
    EXPECT_EQ(replica.role(), RoleKind::kFollower);
    EXPECT_EQ(LastAsked(replica), Key(3)) << "at once";
    EXPECT_THAT(replica.Sent<FetchRequest>(), SizeIs(3));
  }
}

TEST(ConformanceDiscovery, C139_InTheLongRunEveryPeerIsAsked) {
  ReplicaHarness replica(1, Key(9));
  replica.Voters(3);
  replica.Start();
  replica.Step(raft::DiscoveryPeers{{Key(7), Key(1), Key(9)}});
  for (int i = 0; i < 60; ++i) {
    AnswerError(replica, RaftError::kNotLeaderOrFollower, std::nullopt);
    replica.Advance(Ms(1'600));
  }
  EXPECT_THAT(replica.SentTo<FetchRequest>(), testing::Contains(Key(1)));
  EXPECT_THAT(replica.SentTo<FetchRequest>(), testing::Contains(Key(2)));
  EXPECT_THAT(replica.SentTo<FetchRequest>(), testing::Contains(Key(3)));
  EXPECT_THAT(replica.SentTo<FetchRequest>(), testing::Contains(Key(7)));
  EXPECT_THAT(replica.SentTo<FetchRequest>(), testing::Not(testing::Contains(Key(9))));
}

TEST(ConformanceDiscovery, C139_ABlankReplicaWaitsForPeersToAsk) {
  ReplicaHarness replica(1, Key(9));
  replica.Start();
  replica.Advance(Ms(60'000));
  EXPECT_THAT(replica.Sent<FetchRequest>(), IsEmpty());
  replica.Step(raft::DiscoveryPeers{{Key(2)}});
  EXPECT_EQ(LastAsked(replica), Key(2));
}

// One Fetch both discovers and replicates (0.3).
TEST(ConformanceDiscovery, C139_TheLeadersAnswerIsUsedAtOnce) {
  ReplicaHarness replica(1, Key(9));
  replica.Recover(Epoch(5));
  replica.Start();
  replica.Step(raft::DiscoveryPeers{{Key(2)}});
  raft::FetchResponse response;
  response.header = raft::ResponseHeader{RaftError::kNone, Epoch(5), Key(2)};
  response.payload = BatchesFrom(0, {{5, 3}});
  replica.AnswerFetch(response);
  EXPECT_EQ(replica.role(), RoleKind::kFollower);
  EXPECT_EQ(replica.end_point(), End(3, 5));
}

TEST(ConformanceDiscovery, C140_AfterAFailureOneTryElsewhere_ThenTheLeaderAgain) {
  for (const bool answered : {true, false}) {
    ReplicaHarness replica;
    replica.Voters(3);
    replica.FollowAndFetch(2, Epoch(5));
    replica.Forget();
    replica.Follow(2, Epoch(6));
    ASSERT_EQ(LastAsked(replica), Key(2));
    if (answered) {
      AnswerError(replica, RaftError::kBrokerNotAvailable, std::nullopt);
    } else {
      FailFetch(replica);
    }
    EXPECT_THAT(replica.Sent<FetchRequest>(), SizeIs(1)) << "first the back-off";
    replica.Advance(Ms(50));
    ASSERT_THAT(replica.Sent<FetchRequest>(), SizeIs(2));
    EXPECT_EQ(LastAsked(replica), Key(3));
    AnswerError(replica, RaftError::kNotLeaderOrFollower, Key(2));
    replica.Advance(Ms(100));
    ASSERT_THAT(replica.Sent<FetchRequest>(), SizeIs(3));
    EXPECT_EQ(LastAsked(replica), Key(2));
  }
}

TEST(ConformanceDiscovery, C141_UnexpectedAndRepeatedAnswersAreIgnored) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.FollowAndFetch(2, Epoch(5));
  const raft::Correlation asked = replica.Sent<FetchRequest>().back().correlation;
  raft::FetchResponse answer;
  answer.header = replica.HeaderNow();
  answer.payload = BatchesFrom(0, {{5, 3}});
  raft::Correlation unknown = asked;
  unknown.number += 7;
  replica.Step(raft::FetchResponded{unknown, answer});
  EXPECT_EQ(replica.log_end(), Offset(0));
  replica.Step(raft::FetchResponded{asked, answer});
  EXPECT_EQ(replica.log_end(), Offset(3));
  replica.Forget();
  answer.payload = BatchesFrom(3, {{5, 3}});
  replica.Step(raft::FetchResponded{asked, answer});
  EXPECT_EQ(replica.log_end(), Offset(3)) << "the second copy";
  EXPECT_THAT(replica.Sent<FetchRequest>(), IsEmpty());
}

TEST(ConformanceDiscovery, C141_AFailureReportedTwiceBacksOffOnce) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.FollowAndFetch(2, Epoch(5));
  const raft::Correlation asked = replica.Sent<FetchRequest>().back().correlation;
  replica.Step(raft::PeerFailed{asked});
  const MonoTime retry = replica.deadline();
  replica.Advance(Ms(20));
  replica.Step(raft::PeerFailed{asked});
  EXPECT_EQ(replica.deadline(), retry);
}

TEST(ConformanceDiscovery, C142_TheBackOffIsTheConfiguredTime_DoublingToItsBound) {
  ReplicaHarness replica(1, Key(9));
  replica.Voters(3);
  replica.FollowAndFetch(2, Epoch(5));
  for (const int64_t expected : {50, 100, 200, 400, 800, 1'600, 1'600, 1'600}) {
    const size_t sent = replica.Sent<FetchRequest>().size();
    FailFetch(replica);
    EXPECT_EQ(replica.Until(replica.deadline()), Ms(expected));
    replica.Advance(Ms(expected - 1));
    EXPECT_THAT(replica.Sent<FetchRequest>(), SizeIs(sent));
    replica.Advance(Ms(1));
    EXPECT_THAT(replica.Sent<FetchRequest>(), SizeIs(sent + 1));
  }
}

TEST(ConformanceDiscovery, C142_ASuccessOrANewRoleForgetsTheFailures) {
  ReplicaHarness replica(1, Key(9));
  replica.Voters(3);
  replica.FollowAndFetch(2, Epoch(5));
  FailFetch(replica);
  replica.Advance(Ms(50));
  FailFetch(replica);
  replica.Advance(Ms(100));
  replica.AnswerFetch();
  FailFetch(replica);
  EXPECT_EQ(replica.Until(replica.deadline()), Ms(50));
  replica.Forget();
  replica.Follow(3, Epoch(6));
  EXPECT_EQ(LastAsked(replica), Key(3)) << "a new leader is asked at once";
}

// How often a replica with nothing to do asks for its timer within a minute.
size_t TimersPerMinute(ReplicaHarness& replica) {
  const MonoTime end = replica.now() + Ms(60'000);
  size_t fired = 0;
  while (replica.deadline() <= end && fired < 100'000) {
    replica.FireTimer();
    ++fired;
  }
  return fired;
}

TEST(ConformanceDiscovery, C144_NoRolePollsWithoutEnd) {
  // With silent peers each of them soon asks for votes, once in an election timeout, and asks each
  // peer again once in a request timeout.
  const std::vector<std::pair<std::string, std::function<void(ReplicaHarness&)>>> beginnings = {
      {"unattached", [](ReplicaHarness& replica) { replica.Start(); }},
      {"prospective", [](ReplicaHarness& replica) { replica.BecomeProspective(); }},
      {"candidate", [](ReplicaHarness& replica) { replica.BecomeCandidate(); }},
      {"leader", [](ReplicaHarness& replica) { replica.BecomeLeader(Epoch(1)); }},
      {"follower", [](ReplicaHarness& replica) { replica.FollowAndFetch(2, Epoch(5)); }},
      {"resigned",
       [](ReplicaHarness& replica) {
         replica.BecomeLeader(Epoch(1));
         replica.Step(raft::ResignRequested{Epoch(1), std::nullopt});
       }},
  };
  for (const auto& [name, begin] : beginnings) {
    ReplicaHarness replica;
    replica.Voters(3);
    begin(replica);
    const size_t fired = TimersPerMinute(replica);
    EXPECT_LE(fired, 120u) << name;
    EXPECT_GE(fired, 10u) << name << " has stopped trying";
  }
}

TEST(ConformanceDiscovery, C144_AQuarantinedReplicaAsksForNothingMore) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Start();
  replica.Step(raft::Damaged{"a bad sector"});
  EXPECT_EQ(replica.deadline(), kNever);
  replica.Forget();
  replica.Step(raft::TimerFired{});
  EXPECT_THAT(replica.Effects<raft::ArmTimer>(), IsEmpty());
  EXPECT_THAT(replica.Effects<raft::Send>(), IsEmpty());
}

TEST(ConformanceDiscovery, C144_WhoHasNothingToExpectArmsNoTimer) {
  ReplicaHarness sole;
  sole.Voters(1);
  sole.Start();
  EXPECT_EQ(sole.deadline(), kNever);

  ReplicaHarness observer(1, Key(9));
  observer.Voters(3);
  observer.Start();
  EXPECT_EQ(observer.deadline(), kNever) << "its Fetch is out";
  observer.FollowAndFetch(2, Epoch(5));
  EXPECT_EQ(observer.deadline(), kNever);
}

TEST(ConformanceDiscovery, C144_AFollowerWithItsFetchOutWaitsForTheFetchTimeout) {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.FollowAndFetch(2, Epoch(5));
  EXPECT_GE(replica.Until(replica.deadline()), Ms(2'000));
  EXPECT_LE(replica.Until(replica.deadline()), Ms(2'510));
}

}  // namespace
}  // namespace quorum::conformance
