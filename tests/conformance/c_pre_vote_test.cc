// Group C of the conformance list: pre-vote (KIP-996; protocol.md 1.1, 2.3).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "service/base/ids.h"
#include "service/raft/effect.h"
#include "service/raft/errors.h"
#include "service/raft/messages.h"
#include "service/raft/trace.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

using raft::RaftError;
using raft::RoleKind;
using testing::ElementsAre;
using testing::IsEmpty;

// How long who refused a poll is left alone.
Duration PollInterval(ReplicaHarness& replica) { return replica.config().election_timeout / 4; }

ReplicaHarness VoterInEpochThree() {
  ReplicaHarness replica;
  replica.Voters(3);
  replica.Recover(Epoch(3));
  replica.RecoverLog({{1, 3}, {3, 2}});
  return replica;
}

TEST(ConformancePreVote, C031_FollowerGrantsUntilItHasFetched) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.Follow(2, Epoch(4));
  EXPECT_FALSE(replica.RequestPreVote(3, Epoch(4), End(4, 3)).granted);
  EXPECT_TRUE(replica.RequestPreVote(3, Epoch(4), End(5, 3)).granted);
  replica.AnswerFetch();
  EXPECT_FALSE(replica.RequestPreVote(3, Epoch(4), End(5, 3)).granted);
}

// A leader with nothing to add holds a Fetch without a word; its session vouches for it instead.
// Without that, an idle follower would give up a healthy leader after each fetch timeout.
TEST(ConformancePreVote, C031_AFetchThatTheLeaderHoldsIsASuccess) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.Follow(2, Epoch(4));
  ASSERT_TRUE(replica.RequestPreVote(3, Epoch(4), End(5, 3)).granted);
  replica.Step(raft::TimerFired{{raft::PeerSeen{Key(2), replica.now()}}});
  EXPECT_FALSE(replica.RequestPreVote(3, Epoch(4), End(5, 3)).granted);
  EXPECT_EQ(replica.role(), RoleKind::kFollower);
}

// Grants twice, to two senders, and writes nothing.
void ExpectGrantsFreely(ReplicaHarness& replica) {
  const size_t writes = replica.election_writes();
  const RoleKind role = replica.role();
  const Epoch epoch = replica.epoch();
  for (const int32_t sender : {2, 3, 2}) {
    EXPECT_TRUE(replica.RequestPreVote(sender, epoch, End(99, epoch.value())).granted) << role;
  }
  EXPECT_EQ(replica.election_writes(), writes);
  EXPECT_EQ(replica.role(), role);
}

TEST(ConformancePreVote, C032_UnattachedGrantsFreely) {
  for (const auto& leader : {std::optional<ReplicaKey>(), std::optional<ReplicaKey>(Key(8))}) {
    for (const auto& voted : {std::optional<ReplicaKey>(), std::optional<ReplicaKey>(Key(3))}) {
      ReplicaHarness replica = VoterInEpochThree();
      replica.Recover(Epoch(3), leader, voted);
      replica.Start();
      ASSERT_EQ(replica.role(), RoleKind::kUnattached);
      ExpectGrantsFreely(replica);
    }
  }
}

TEST(ConformancePreVote, C032_ProspectiveCandidateAndResignedGrantFreely) {
  ReplicaHarness prospective = VoterInEpochThree();
  prospective.BecomeProspective();
  ExpectGrantsFreely(prospective);

  ReplicaHarness candidate = VoterInEpochThree();
  candidate.BecomeCandidate();
  ExpectGrantsFreely(candidate);

  ReplicaHarness resigned = VoterInEpochThree();
  resigned.BecomeLeader(Epoch(4));
  resigned.Step(raft::ResignRequested{Epoch(4), std::nullopt});
  ASSERT_EQ(resigned.role(), RoleKind::kResigned);
  ExpectGrantsFreely(resigned);
}

TEST(ConformancePreVote, C032_ObserverGrantsFreely) {
  ReplicaHarness observer(1, Key(9));
  observer.Voters(3);
  observer.Recover(Epoch(3));
  observer.Start();
  ExpectGrantsFreely(observer);
}

TEST(ConformancePreVote, C033_LeaderOlderLogAndOlderEpochAreRefused) {
  ReplicaHarness leader = VoterInEpochThree();
  leader.BecomeLeader(Epoch(4));
  const raft::VoteResponse refusal = leader.RequestPreVote(2, Epoch(4), End(99, 4));
  EXPECT_FALSE(refusal.granted);
  EXPECT_EQ(refusal.header.error, RaftError::kNone);

  ReplicaHarness replica = VoterInEpochThree();
  replica.Start();
  const raft::VoteResponse older_log = replica.RequestPreVote(2, Epoch(3), End(4, 3));
  EXPECT_FALSE(older_log.granted);
  EXPECT_EQ(older_log.header.error, RaftError::kNone);
  const raft::VoteResponse older_epoch = replica.RequestPreVote(2, Epoch(2), End(9, 2));
  EXPECT_FALSE(older_epoch.granted);
  EXPECT_EQ(older_epoch.header.error, RaftError::kFencedLeaderEpoch);
}

TEST(ConformancePreVote, C034_HigherEpochIsAdoptedWithoutAVote) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.FollowAndFetch(2, Epoch(4));
  EXPECT_TRUE(replica.RequestPreVote(3, Epoch(6), End(5, 3)).granted);
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(6), std::nullopt, std::nullopt}));
  EXPECT_FALSE(replica.RequestPreVote(3, Epoch(7), End(4, 3)).granted);
  EXPECT_EQ(replica.epoch(), Epoch(7));
}

TEST(ConformancePreVote, C035_LastEpochMayEqualTheEpochButNotExceedIt) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.Start();
  EXPECT_TRUE(replica.RequestPreVote(2, Epoch(3), End(5, 3)).granted);
  EXPECT_EQ(replica.RequestPreVote(2, Epoch(3), End(5, 4)).header.error,
            RaftError::kInvalidRequest);
  EXPECT_EQ(replica.RequestVote(2, Epoch(3), End(5, 3)).header.error, RaftError::kInvalidRequest);
}

TEST(ConformancePreVote, C036_PollingChangesNothingOnDisk) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.Recover(Epoch(3), Key(2), Key(2));
  replica.BecomeProspective();
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(3), Key(2), Key(2)}));
  EXPECT_EQ(replica.election_writes(), 1u);
  const auto polls = replica.Sent<raft::VoteRequest>();
  ASSERT_EQ(polls.size(), 2u);
  for (const auto& poll : polls) {
    EXPECT_TRUE(poll.message.pre_vote);
    EXPECT_EQ(poll.message.epoch, Epoch(3));
    EXPECT_EQ(poll.message.log_end, End(5, 3));
    EXPECT_EQ(poll.message.voter, poll.to);
  }
}

TEST(ConformancePreVote, C037_SelfVoteIsDurableBeforeTheFirstRequest) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.BecomeProspective();
  replica.Forget();
  replica.HoldWrites();
  replica.Grant(2);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
  EXPECT_EQ(replica.epoch(), Epoch(4));
  EXPECT_THAT(replica.Sent<raft::VoteRequest>(), IsEmpty());
  EXPECT_EQ(replica.Waiting<raft::VoteRequest>().size(), 2u);
  replica.CompleteWrites();
  EXPECT_EQ(replica.synced_election(), (ElectionState{Epoch(4), std::nullopt, Key(1)}));
  EXPECT_THAT(replica.SentTo<raft::VoteRequest>(), ElementsAre(Key(2), Key(3)));
  EXPECT_FALSE(replica.Sent<raft::VoteRequest>()[0].message.pre_vote);
}

TEST(ConformancePreVote, C038_PeerWithoutPreVoteLeadsStraightToCandidate) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.BecomeProspective();
  const auto polls = replica.Sent<raft::VoteRequest>();
  replica.AnswerVote(2, replica.HeaderNow(RaftError::kUnsupportedVersion), false);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
  EXPECT_EQ(replica.epoch(), Epoch(4));
  const raft::VoteResponse late{{RaftError::kNone, Epoch(3), std::nullopt}, true};
  replica.Step(raft::VoteResponded{polls[1].correlation, late});
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
}

TEST(ConformancePreVote, C039_LostPollReturnsToTheKnownLeader) {
  for (const bool by_timer : {false, true}) {
    ReplicaHarness replica = VoterInEpochThree();
    replica.Recover(Epoch(3), Key(2));
    replica.BecomeProspective();
    if (by_timer) {
      replica.AdvanceUntil(RoleKind::kFollower, Ms(2'000));
    } else {
      replica.RefuseAll();
    }
    EXPECT_EQ(replica.role(), RoleKind::kFollower);
    EXPECT_EQ(replica.leader(), Key(2));
    EXPECT_GE(replica.Until(replica.deadline()), replica.config().fetch_timeout);
  }
}

TEST(ConformancePreVote, C039_LostPollWithoutLeaderEndsUnattached) {
  for (const bool by_timer : {false, true}) {
    ReplicaHarness replica = VoterInEpochThree();
    replica.BecomeProspective();
    if (by_timer) {
      replica.AdvanceUntil(RoleKind::kUnattached, Ms(2'000));
    } else {
      replica.RefuseAll();
      EXPECT_GE(replica.Until(replica.deadline()), replica.config().election_timeout);
    }
    EXPECT_EQ(replica.role(), RoleKind::kUnattached);
    EXPECT_EQ(replica.epoch(), Epoch(3));
  }
}

TEST(ConformancePreVote, C040_AnswerThatNamesALeaderIsFollowed) {
  ReplicaHarness same = VoterInEpochThree();
  same.BecomeProspective();
  same.AnswerVote(2, {RaftError::kNone, Epoch(3), Key(3)}, true);
  EXPECT_EQ(same.role(), RoleKind::kFollower);
  EXPECT_EQ(same.leader(), Key(3));
  EXPECT_EQ(same.epoch(), Epoch(3));

  ReplicaHarness higher = VoterInEpochThree();
  higher.BecomeProspective();
  higher.AnswerVote(2, {RaftError::kFencedLeaderEpoch, Epoch(6), Key(3)}, false);
  EXPECT_EQ(higher.role(), RoleKind::kFollower);
  EXPECT_EQ(higher.synced_election(), (ElectionState{Epoch(6), Key(3), std::nullopt}));
}

// Five voters, so that one answer decides nothing.
TEST(ConformancePreVote, C041_PollFollowsTheNewestAnswer) {
  ReplicaHarness replica;
  replica.Voters(5);
  replica.BecomeProspective();
  replica.Refuse(2);
  replica.Refuse(3);
  replica.Grant(3);
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
  replica.Grant(4);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
}

// 8.7: a protocol violation quarantines this partition; the process goes on.
TEST(ConformancePreVote, C041_FlippedVoteIsAViolation) {
  ReplicaHarness replica;
  replica.Voters(5);
  replica.BecomeProspective();
  replica.Grant(2);
  replica.Grant(3);
  ASSERT_EQ(replica.role(), RoleKind::kCandidate);
  replica.Refuse(2);
  replica.Refuse(2);
  EXPECT_FALSE(replica.quarantined());
  replica.Grant(2);
  EXPECT_TRUE(replica.quarantined());
}

TEST(ConformancePreVote, C041_AnswersOfNonVotersAreNotCounted) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.BecomeProspective();
  raft::Correlation correlation = replica.Sent<raft::VoteRequest>()[0].correlation;
  const raft::VoteResponse granted{replica.HeaderNow(), true};
  for (const ReplicaKey& stranger : {Key(7), OtherDirectory(2)}) {
    correlation.peer = stranger;
    replica.Step(raft::VoteResponded{correlation, granted});
    EXPECT_EQ(replica.role(), RoleKind::kProspective);
  }
}

// Not a line of the list but 8.7: the poll may be won later, so it does not wait for its end.
TEST(ConformancePreVote, C041_WhoRefusedIsAskedAgainWhileThePollIsUndecided) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.BecomeProspective();
  for (int round = 0; round < 3; ++round) {
    replica.Refuse(3);
    replica.Forget();
    replica.Advance(PollInterval(replica) - Ms(10));
    EXPECT_THAT(replica.SentTo<raft::VoteRequest>(), IsEmpty());
    replica.Advance(Ms(10));
    ASSERT_THAT(replica.SentTo<raft::VoteRequest>(), ElementsAre(Key(3)));
    EXPECT_TRUE(replica.Sent<raft::VoteRequest>()[0].message.pre_vote);
  }
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
  replica.Grant(3);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
}

TEST(ConformancePreVote, C041_NobodyIsAskedAgainBeforeItHasAnsweredOrFailed) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.BecomeProspective();
  const auto first = replica.Sent<raft::VoteRequest>();
  replica.Refuse(3);
  replica.Advance(PollInterval(replica));
  replica.Forget();
  // An answer to the first request counts no more.
  const raft::VoteResponse granted{replica.HeaderNow(), true};
  ASSERT_EQ(first[1].to, Key(3));
  replica.Step(raft::VoteResponded{first[1].correlation, granted});
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
  replica.Step(raft::PeerFailed{first[1].correlation});
  replica.Advance(2 * PollInterval(replica));
  EXPECT_THAT(replica.SentTo<raft::VoteRequest>(), IsEmpty());

  replica.FailRequest<raft::VoteRequest>(3);
  replica.Advance(replica.config().retry_backoff);
  EXPECT_THAT(replica.SentTo<raft::VoteRequest>(), ElementsAre(Key(3)));
  replica.Grant(3);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
}

TEST(ConformancePreVote, C041_OnlyWhoRefusedIsAskedAgain) {
  ReplicaHarness replica;
  replica.Voters(5);
  replica.BecomeProspective();
  replica.Grant(2);
  replica.Refuse(3);
  replica.Refuse(4);
  replica.Forget();
  replica.Advance(PollInterval(replica));
  EXPECT_THAT(replica.SentTo<raft::VoteRequest>(), ElementsAre(Key(3), Key(4)));
  replica.Grant(4);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
}

// Who refused polls itself and is granted it: now it would grant as well, and two winners would
// split the votes.
TEST(ConformancePreVote, C041_WhoIsGrantedAPollHasItsTurn) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.BecomeProspective();
  replica.Refuse(3);
  replica.Advance(PollInterval(replica));
  EXPECT_TRUE(replica.RequestPreVote(3, Epoch(3), replica.end_point()).granted);
  replica.Forget();
  replica.Grant(3);
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
  // It did not use it.
  replica.Advance(PollInterval(replica));
  EXPECT_THAT(replica.SentTo<raft::VoteRequest>(), ElementsAre(Key(3)));
  replica.Grant(3);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
}

// Two replicas that poll each other must not both give way.
TEST(ConformancePreVote, C041_OnlyWhoWasRefusedBeforeAndGrantsNowGivesWay) {
  ReplicaHarness first_asked = VoterInEpochThree();
  first_asked.BecomeProspective();
  EXPECT_TRUE(first_asked.RequestPreVote(3, Epoch(3), first_asked.end_point()).granted);
  first_asked.Grant(3);
  EXPECT_EQ(first_asked.role(), RoleKind::kCandidate);

  ReplicaHarness longer_log = VoterInEpochThree();
  longer_log.BecomeProspective();
  longer_log.Refuse(3);
  longer_log.Advance(PollInterval(longer_log));
  EXPECT_FALSE(longer_log.RequestPreVote(3, Epoch(3), End(4, 3)).granted);
  longer_log.Grant(3);
  EXPECT_EQ(longer_log.role(), RoleKind::kCandidate);
}

// A replica that was cut off disturbs nobody who has a leader. What was said before counts while it
// is asked again.
TEST(ConformancePreVote, C039_RefusalOfAMajorityEndsThePollAtOnce) {
  for (const bool asked_again : {false, true}) {
    ReplicaHarness replica = VoterInEpochThree();
    replica.Recover(Epoch(3), Key(2));
    replica.BecomeProspective();
    replica.Refuse(3);
    if (asked_again) replica.Advance(PollInterval(replica));
    EXPECT_EQ(replica.role(), RoleKind::kProspective);
    replica.Forget();
    replica.Refuse(2);
    EXPECT_EQ(replica.role(), RoleKind::kFollower);
    replica.Advance(replica.config().fetch_timeout - Ms(10));
    EXPECT_EQ(replica.role(), RoleKind::kFollower);
    EXPECT_THAT(replica.SentTo<raft::VoteRequest>(), IsEmpty());
  }
}

TEST(ConformancePreVote, C042_AnswersToAnEarlierPollChangeNothing) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.BecomeProspective();
  const auto polls = replica.Sent<raft::VoteRequest>();
  replica.RefuseAll();
  ASSERT_EQ(replica.role(), RoleKind::kUnattached);
  const raft::VoteResponse granted{{RaftError::kNone, Epoch(3), Key(2)}, true};
  replica.Step(raft::VoteResponded{polls[0].correlation, granted});
  EXPECT_EQ(replica.role(), RoleKind::kUnattached);
  EXPECT_EQ(replica.leader(), std::nullopt);
  // The next poll is not won by answers to this one.
  replica.BecomeProspective();
  replica.Step(raft::VoteResponded{polls[1].correlation, granted});
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
}

TEST(ConformancePreVote, C042_AnswerAfterTheRequestTimeoutChangesNothing) {
  ReplicaHarness replica = VoterInEpochThree();
  replica.config().request_timeout = Ms(200);
  replica.BecomeProspective();
  const auto polls = replica.Sent<raft::VoteRequest>();
  replica.Advance(Ms(250));
  ASSERT_EQ(replica.Sent<raft::VoteRequest>().size(), 4u);
  const raft::VoteResponse granted{replica.HeaderNow(), true};
  replica.Step(raft::VoteResponded{polls[0].correlation, granted});
  EXPECT_EQ(replica.role(), RoleKind::kProspective);
  replica.Grant(2);
  EXPECT_EQ(replica.role(), RoleKind::kCandidate);
}

// Delivers what `from` has asked of `to` since the last call.
void Deliver(ReplicaHarness& from, const ReplicaKey& to_key, ReplicaHarness& to) {
  const auto requests = from.Sent<raft::VoteRequest>();
  from.Forget();
  for (const auto& request : requests) {
    if (request.to != to_key) continue;
    const raft::VoteResponse answer = to.RequestVote(request.message);
    from.Step(raft::VoteResponded{request.correlation, answer});
  }
}

TEST(ConformancePreVote, C043_FollowersOfADeadLeaderElectInBoundedTime) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    ReplicaHarness second(2 * seed, Key(2));
    ReplicaHarness third(2 * seed + 1, Key(3));
    for (ReplicaHarness* replica : {&second, &third}) {
      replica->Voters(3);
      replica->FollowAndFetch(1, Epoch(4));
      replica->Forget();
    }
    int steps = 0;
    while (second.role() != RoleKind::kLeader && third.role() != RoleKind::kLeader) {
      ASSERT_LT(++steps, 1'000) << "no leader within 10 s, seed " << seed;
      second.Advance(Ms(10));
      third.Advance(Ms(10));
      Deliver(second, Key(3), third);
      Deliver(third, Key(2), second);
    }
  }
}

// Some voters of a cluster whose leader, voter 1, is dead. The first of them has one record more
// than the others, and fetched last a while before them, so that its fetch timer is the first to
// fire.
std::vector<ReplicaHarness> FollowersOfADeadLeader(int voters, int alive, uint64_t seed) {
  std::vector<ReplicaHarness> followers;
  for (int i = 0; i < alive; ++i) {
    ReplicaHarness& follower =
        followers.emplace_back(10 * seed + static_cast<uint64_t>(i), Key(2 + i));
    follower.Voters(voters);
    follower.RecoverLog({{4, i == 0 ? 6 : 5}});
    follower.FollowAndFetch(1, Epoch(4));
    follower.Forget();
  }
  followers[0].Advance(followers[0].config().election_timeout / 2 + Ms(10));
  return followers;
}

// 10 ms for everybody, and what they ask of each other.
void Pass(std::vector<ReplicaHarness>& followers) {
  for (ReplicaHarness& follower : followers) follower.Advance(Ms(10));
  for (ReplicaHarness& from : followers) {
    const auto requests = from.Sent<raft::VoteRequest>();
    from.Forget();
    for (const auto& request : requests) {
      const auto to = static_cast<size_t>(request.to.id.value() - 2);
      if (to >= followers.size()) continue;  // The dead ones.
      const raft::VoteResponse answer = followers[to].RequestVote(request.message);
      from.Step(raft::VoteResponded{request.correlation, answer});
    }
  }
}

// Until `done` holds, which must be soon.
template <typename Done>
void PassUntil(std::vector<ReplicaHarness>& followers, const Done& done) {
  for (int steps = 0; !done(); ++steps) {
    ASSERT_LT(steps, 1'000) << "not within 10 s";
    Pass(followers);
  }
}

// The first is refused, for the others have not given the leader up; they are refused, for they
// lack a record. Once the last has given the leader up the first wins, without another fetch
// timeout.
TEST(ConformancePreVote, C043_WhoAloneCanWinDoesSoWhenTheOthersHaveGivenUp) {
  struct Case {
    int voters;
    int alive;
  };
  for (const Case& cluster : {Case{3, 2}, Case{5, 3}}) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      SCOPED_TRACE(testing::Message() << cluster.voters << " voters, seed " << seed);
      auto followers = FollowersOfADeadLeader(cluster.voters, cluster.alive, seed);
      const auto has_given_up = [](const ReplicaHarness& follower) {
        return follower.role() != RoleKind::kFollower;
      };
      PassUntil(followers, [&] { return has_given_up(followers[0]); });
      ASSERT_TRUE(std::none_of(followers.begin() + 1, followers.end(), has_given_up));
      PassUntil(followers,
                [&] { return std::all_of(followers.begin(), followers.end(), has_given_up); });
      const MonoTime given_up = followers[0].now();
      PassUntil(followers, [&] { return followers[0].role() == RoleKind::kLeader; });
      EXPECT_LE(followers[0].now() - given_up, followers[0].config().election_timeout / 2);
    }
  }
}

}  // namespace
}  // namespace quorum::conformance
