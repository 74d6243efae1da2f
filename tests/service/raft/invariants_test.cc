#include "service/raft/invariants.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

#include "service/base/ids.h"
#include "service/base/voter_set.h"
#include "service/raft/config.h"
#include "service/raft/log_shape.h"
#include "service/raft/state.h"

namespace quorum::raft {
namespace {

ReplicaKey Key(int32_t id) { return ReplicaKey{NodeId(id), DirectoryId{7, 7}}; }

// Replica 1 of two, in epoch 5 with ten synced records of epoch 3.
State HealthyState() {
  const VoterSet voters({{Key(1), ""}, {Key(2), ""}});
  LeaderEpochs epochs;
  epochs.Append(Epoch(3), Offset(0));
  State state(Key(1), Config{}, LogShape(Offset(0), Offset(10), std::move(epochs)),
              VoterSetHistory(voters));
  state.election.epoch = Epoch(5);
  return state;
}

TEST(InvariantsTest, HealthyStatesPass) {
  State state = HealthyState();
  EXPECT_EQ(CheckBasic(state), nullptr);
  state.committed = Offset(10);
  state.exposed = Offset(10);
  EXPECT_EQ(CheckBasic(state), nullptr);
}

TEST(InvariantsTest, EpochCoversTheLog) {
  State state = HealthyState();
  state.election.epoch = Epoch(2);
  EXPECT_STREQ(CheckBasic(state), "the log holds records of an epoch that was never adopted");
}

TEST(InvariantsTest, WatermarksStayInTheLog) {
  State state = HealthyState();
  state.committed = Offset(11);
  EXPECT_STREQ(CheckBasic(state), "the high watermark is above the log end");
  state.committed = Offset(9);
  state.exposed = Offset(10);
  EXPECT_STREQ(CheckBasic(state), "readers see what is not committed");
  state.log.Append(Offset(10), Offset(12), Epoch(5), 1);
  state.committed = Offset(12);
  state.exposed = Offset(11);
  EXPECT_STREQ(CheckBasic(state), "readers see what is not synced");
}

TEST(InvariantsTest, RolesNameTheirLeader) {
  State state = HealthyState();
  const Election election(state.voters.Latest(), Key(1), MonoTime());

  state.role = Follower{};
  EXPECT_STREQ(CheckBasic(state), "a follower has no leader");
  state.election.leader = Key(1);
  EXPECT_STREQ(CheckBasic(state), "a follower follows itself");
  state.role = Prospective{election, kNever};
  EXPECT_STREQ(CheckBasic(state), "a prospective names itself as leader");

  state.election.leader = Key(2);
  state.role = Leader{};
  EXPECT_STREQ(CheckBasic(state), "a leader does not name itself");
  state.role = Resigned{};
  EXPECT_STREQ(CheckBasic(state), "a resigned replica does not name itself");
  state.role = Candidate{election, kNever};
  EXPECT_STREQ(CheckBasic(state), "a candidate knows a leader of its epoch");
  state.election.leader = std::nullopt;
  EXPECT_STREQ(CheckBasic(state), "a candidate did not vote for itself");
  state.election.voted = Key(1);
  EXPECT_EQ(CheckBasic(state), nullptr);
}

TEST(InvariantsTest, EpochVoteAndLeaderMoveOneWay) {
  State before = HealthyState();
  before.election.voted = Key(2);
  before.election.leader = Key(2);
  const Progression past = Remember(before);

  State state = HealthyState();
  state.election = before.election;
  EXPECT_EQ(CheckDelta(past, state), nullptr);
  state.election.epoch = Epoch(4);
  EXPECT_STREQ(CheckDelta(past, state), "the epoch fell");
  state.election = before.election;
  state.election.voted = std::nullopt;
  EXPECT_STREQ(CheckDelta(past, state), "the vote changed within its epoch");
  state.election = before.election;
  state.election.leader = std::nullopt;
  EXPECT_STREQ(CheckDelta(past, state), "the leader changed within its epoch");
  state.election = ElectionState{Epoch(6), std::nullopt, std::nullopt};
  EXPECT_EQ(CheckDelta(past, state), nullptr);
}

// The winner's name as leader stands for its vote, also when it resigned in the same step.
TEST(InvariantsTest, WinnerMayDropItsOwnVoteOnly) {
  State before = HealthyState();
  before.election.voted = Key(1);
  const Progression candidate = Remember(before);
  State won = HealthyState();
  won.election.leader = Key(1);
  won.role = Resigned{};
  EXPECT_EQ(CheckDelta(candidate, won), nullptr);
  won.election.leader = std::nullopt;
  EXPECT_STREQ(CheckDelta(candidate, won), "the vote changed within its epoch");

  // A vote for somebody else does not turn into leadership.
  before.election.voted = Key(2);
  won.election.leader = Key(1);
  EXPECT_STREQ(CheckDelta(Remember(before), won), "the vote changed within its epoch");
}

TEST(InvariantsTest, WatermarksAndIncarnationOnlyRise) {
  State before = HealthyState();
  before.committed = Offset(8);
  before.exposed = Offset(7);
  before.incarnation = 4;
  const Progression past = Remember(before);
  State state = HealthyState();
  state.incarnation = 4;
  state.committed = Offset(8);
  state.exposed = Offset(7);
  EXPECT_EQ(CheckDelta(past, state), nullptr);
  state.incarnation = 3;
  EXPECT_STREQ(CheckDelta(past, state), "the role incarnation fell");
  state.incarnation = 4;
  state.committed = std::nullopt;
  EXPECT_STREQ(CheckDelta(past, state), "the high watermark fell");
  state.committed = Offset(9);
  state.exposed = Offset(6);
  EXPECT_STREQ(CheckDelta(past, state), "readers were shown too much");
}

}  // namespace
}  // namespace quorum::raft
