// The legal graph (protocol.md 2.4): every role tried as the origin of every transition.

#include "service/raft/transitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"
#include "service/raft/config.h"
#include "service/raft/effect.h"
#include "service/raft/log_shape.h"
#include "service/raft/state.h"

namespace quorum::raft {
namespace {

using testing::ElementsAre;

constexpr Epoch kEpoch(5);

ReplicaKey Key(int32_t id) { return ReplicaKey{NodeId(id), DirectoryId{7, 7}}; }

VoterSet Voters() { return VoterSet({{Key(1), ""}, {Key(2), ""}, {Key(3), ""}}); }

constexpr RoleKind kRoles[] = {RoleKind::kUnattached, RoleKind::kProspective, RoleKind::kCandidate,
                               RoleKind::kLeader,     RoleKind::kFollower,    RoleKind::kResigned};

// A replica in epoch 5 that has just taken a role, and what its next step does.
class Stage {
 public:
  explicit Stage(RoleKind role, ReplicaKey self = Key(1))
      : state_(self, Config{}, LogShape(Offset(0), Offset(0), LeaderEpochs()),
               VoterSetHistory(Voters())) {
    state_.election.epoch = kEpoch;
    Election election(Voters(), self, context_.now);
    switch (role) {
      case RoleKind::kUnattached:
        state_.role = Unattached{MonoTime(std::chrono::seconds(5))};
        break;
      case RoleKind::kProspective:
        state_.role = Prospective{election, MonoTime(std::chrono::seconds(5))};
        break;
      case RoleKind::kCandidate:
        state_.election.voted = self;
        election.Find(Key(2))->answer = Election::Answer::kGranted;
        state_.role = Candidate{election, MonoTime(std::chrono::seconds(5))};
        break;
      case RoleKind::kLeader:
        state_.election.leader = self;
        state_.role = Leader{};
        break;
      case RoleKind::kFollower:
        state_.election.leader = Key(2);
        state_.role = Follower{};
        break;
      case RoleKind::kResigned:
        state_.election.leader = self;
        state_.role = Resigned{};
        break;
    }
  }

  State& state() { return state_; }
  StepContext& context() { return context_; }

  template <typename T>
  std::vector<T> Effects() const {
    std::vector<T> found;
    for (const Effect& effect : effects_) {
      if (const T* match = std::get_if<T>(&effect)) found.push_back(*match);
    }
    return found;
  }

 private:
  Prng prng_{1};
  std::vector<Effect> effects_;
  StepContext context_{MonoTime(std::chrono::seconds(1)), prng_, 1, effects_};
  State state_;
};

enum class Move {
  kUnattachedSame,
  kUnattachedHigher,
  kUnattachedLower,
  kFollowerSame,
  kFollowerHigher,
  kFollowerLower,
  kProspective,
  kCandidate,
  kLeader,
  kResigned,
};

// `leader` for the moves to Follower: the one that is known already where there is one.
void Make(Move move, Stage& stage) {
  State& state = stage.state();
  StepContext& context = stage.context();
  switch (move) {
    case Move::kUnattachedSame:
      return BecomeUnattached(state, kEpoch, "test", context);
    case Move::kUnattachedHigher:
      return BecomeUnattached(state, Epoch(6), "test", context);
    case Move::kUnattachedLower:
      return BecomeUnattached(state, Epoch(4), "test", context);
    case Move::kFollowerSame:
      return BecomeFollower(state, kEpoch, Key(2), "test", context);
    case Move::kFollowerHigher:
      return BecomeFollower(state, Epoch(6), Key(2), "test", context);
    case Move::kFollowerLower:
      return BecomeFollower(state, Epoch(4), Key(2), "test", context);
    case Move::kProspective:
      return BecomeProspective(state, "test", context);
    case Move::kCandidate:
      return BecomeCandidate(state, "test", context);
    case Move::kLeader:
      return BecomeLeader(state, context);
    case Move::kResigned:
      return BecomeResigned(state, std::nullopt, "test", context);
  }
}

void ExpectLegalFrom(Move move, const std::set<RoleKind>& origins) {
  for (const RoleKind from : kRoles) {
    if (origins.count(from) == 0) {
      EXPECT_DEATH(
          {
            Stage stage(from);
            Make(move, stage);
          },
          "Check failed")
          << from;
      continue;
    }
    Stage stage(from);
    const uint64_t incarnation = stage.state().incarnation;
    Make(move, stage);
    EXPECT_GT(stage.state().incarnation, incarnation) << from;
    // A role that is left is withdrawn from its sessions, and leaves one trace.
    EXPECT_EQ(stage.Effects<WithdrawFromSessions>().size(), 1u) << from;
    const auto traces = stage.Effects<Trace>();
    ASSERT_EQ(traces.size(), 1u) << from;
    EXPECT_EQ(traces[0].event.from, from);
    EXPECT_EQ(traces[0].event.to, KindOf(stage.state().role));
  }
}

const std::set<RoleKind> kAll(std::begin(kRoles), std::end(kRoles));

TEST(TransitionsTest, ToUnattached) {
  ExpectLegalFrom(Move::kUnattachedSame, {RoleKind::kProspective});
  ExpectLegalFrom(Move::kUnattachedHigher, kAll);
  ExpectLegalFrom(Move::kUnattachedLower, {});
}

TEST(TransitionsTest, ToFollower) {
  ExpectLegalFrom(Move::kFollowerSame,
                  {RoleKind::kUnattached, RoleKind::kProspective, RoleKind::kCandidate});
  ExpectLegalFrom(Move::kFollowerHigher, kAll);
  ExpectLegalFrom(Move::kFollowerLower, {});
}

TEST(TransitionsTest, ToProspective) {
  ExpectLegalFrom(Move::kProspective,
                  {RoleKind::kUnattached, RoleKind::kCandidate, RoleKind::kFollower});
}

TEST(TransitionsTest, ToCandidate) { ExpectLegalFrom(Move::kCandidate, {RoleKind::kProspective}); }

TEST(TransitionsTest, ToLeader) { ExpectLegalFrom(Move::kLeader, {RoleKind::kCandidate}); }

TEST(TransitionsTest, ToResigned) { ExpectLegalFrom(Move::kResigned, {RoleKind::kLeader}); }

TEST(TransitionsTest, NobodyFollowsItself) {
  Stage stage(RoleKind::kUnattached);
  EXPECT_DEATH(BecomeFollower(stage.state(), Epoch(6), Key(1), "test", stage.context()),
               "never follows itself");
}

TEST(TransitionsTest, LeaderOfAnEpochIsNotExchanged) {
  Stage stage(RoleKind::kUnattached);
  stage.state().election.leader = Key(3);
  EXPECT_DEATH(BecomeFollower(stage.state(), kEpoch, Key(2), "test", stage.context()),
               "Check failed");
}

TEST(TransitionsTest, LeaderNeedsAMajority) {
  Stage stage(RoleKind::kCandidate);
  std::get<Candidate>(stage.state().role).election.Find(Key(2))->answer = Election::Answer::kNone;
  EXPECT_DEATH(BecomeLeader(stage.state(), stage.context()), "a majority makes a leader");
}

TEST(TransitionsTest, ObserversOnlyFollow) {
  Stage observer(RoleKind::kUnattached, Key(9));
  EXPECT_DEATH(BecomeProspective(observer.state(), "test", observer.context()), "voters only");
  Stage prospective(RoleKind::kProspective, Key(9));
  EXPECT_DEATH(BecomeCandidate(prospective.state(), "test", prospective.context()), "voters only");
  BecomeFollower(observer.state(), kEpoch, Key(2), "test", observer.context());
  EXPECT_EQ(KindOf(observer.state().role), RoleKind::kFollower);
}

TEST(TransitionsTest, VoteIsGivenOnceToSomebodyElseAndOnlyWhereItIsOpen) {
  for (const RoleKind role : {RoleKind::kUnattached, RoleKind::kProspective}) {
    Stage stage(role);
    EXPECT_DEATH(RecordVote(stage.state(), Key(1), stage.context()), "Check failed");
    RecordVote(stage.state(), Key(2), stage.context());
    ASSERT_EQ(stage.Effects<PersistElection>().size(), 1u);
    EXPECT_EQ(stage.Effects<PersistElection>()[0].election,
              (ElectionState{kEpoch, std::nullopt, Key(2)}));
    EXPECT_DEATH(RecordVote(stage.state(), Key(3), stage.context()), "Check failed");
  }
  for (const RoleKind role :
       {RoleKind::kCandidate, RoleKind::kLeader, RoleKind::kFollower, RoleKind::kResigned}) {
    Stage stage(role);
    EXPECT_DEATH(RecordVote(stage.state(), Key(2), stage.context()), "Check failed");
  }
}

TEST(TransitionsTest, WhatIsRememberedIsPersistedAndNothingElse) {
  Stage prospective(RoleKind::kUnattached);
  BecomeProspective(prospective.state(), "test", prospective.context());
  EXPECT_TRUE(prospective.Effects<PersistElection>().empty());

  Stage resigned(RoleKind::kLeader);
  BecomeResigned(resigned.state(), std::nullopt, "test", resigned.context());
  EXPECT_TRUE(resigned.Effects<PersistElection>().empty());

  Stage candidate(RoleKind::kProspective);
  BecomeCandidate(candidate.state(), "test", candidate.context());
  EXPECT_EQ(candidate.Effects<PersistElection>()[0].election,
            (ElectionState{Epoch(6), std::nullopt, Key(1)}));

  Stage leader(RoleKind::kCandidate);
  BecomeLeader(leader.state(), leader.context());
  EXPECT_EQ(leader.Effects<PersistElection>()[0].election,
            (ElectionState{kEpoch, Key(1), std::nullopt}));

  Stage follower(RoleKind::kCandidate);
  BecomeFollower(follower.state(), kEpoch, Key(3), "test", follower.context());
  EXPECT_EQ(follower.Effects<PersistElection>()[0].election,
            (ElectionState{kEpoch, Key(3), Key(1)}));
}

TEST(TransitionsTest, QuarantineIsForGood) {
  Stage stage(RoleKind::kLeader);
  Quarantine(stage.state(), "first", stage.context());
  Quarantine(stage.state(), "second", stage.context());
  EXPECT_EQ(stage.state().quarantine, "first");
  EXPECT_EQ(stage.Effects<Quarantined>().size(), 1u);
  EXPECT_EQ(stage.Effects<WithdrawFromSessions>().size(), 1u);
  EXPECT_TRUE(stage.Effects<PersistElection>().empty());
}

TEST(TransitionsTest, AdoptableEpochs) {
  Stage stage(RoleKind::kUnattached);
  const State& state = stage.state();
  EXPECT_FALSE(IsAdoptable(state, Epoch(-1)));
  EXPECT_FALSE(IsAdoptable(state, Epoch(INT64_MIN)));
  EXPECT_TRUE(IsAdoptable(state, Epoch(0)));
  EXPECT_TRUE(IsAdoptable(state, Epoch(kEpoch.value() + kEpochJumpMax)));
  EXPECT_FALSE(IsAdoptable(state, Epoch(kEpoch.value() + kEpochJumpMax + 1)));
  EXPECT_FALSE(IsAdoptable(state, kEpochLimit));
  EXPECT_FALSE(IsAdoptable(state, Epoch(INT64_MAX)));
}

}  // namespace
}  // namespace quorum::raft
