#include "service/raft/election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"

namespace quorum::raft {
namespace {

using testing::ElementsAre;

ReplicaKey Key(int32_t id) { return ReplicaKey{NodeId(id), DirectoryId{7, 7}}; }

VoterSet Voters(int count) {
  std::vector<Voter> voters;
  for (int id = 1; id <= count; ++id) voters.push_back(Voter{Key(id), ""});
  return VoterSet(voters);
}

MonoTime At(int64_t milliseconds) { return MonoTime(std::chrono::milliseconds(milliseconds)); }

// Every split of n voters into granted, refused and silent ones (BUG-010).
TEST(ElectionTest, TallyOfEverySplitOfOneToSevenVoters) {
  for (int voters = 1; voters <= 7; ++voters) {
    const int majority = voters / 2 + 1;
    for (int granted = 0; granted <= voters; ++granted) {
      for (int refused = 0; granted + refused <= voters; ++refused) {
        Election election(Voters(voters), Key(99), At(0));
        for (int id = 1; id <= granted + refused; ++id) {
          election.Find(Key(id))->answer =
              id <= granted ? Election::Answer::kGranted : Election::Answer::kRefused;
        }
        EXPECT_EQ(election.IsWon(), granted >= majority) << voters << granted << refused;
        EXPECT_EQ(election.IsLost(), voters - refused < majority) << voters << granted << refused;
        EXPECT_FALSE(election.IsWon() && election.IsLost());
        EXPECT_EQ(election.Granting().size(), static_cast<size_t>(granted));
      }
    }
  }
}

TEST(ElectionTest, SelfHasGrantedWhenItIsAVoter) {
  const Election member(Voters(3), Key(2), At(0));
  EXPECT_THAT(member.Granting(), ElementsAre(Key(2)));
  const Election stranger(Voters(3), ReplicaKey{NodeId(2), DirectoryId{8, 8}}, At(0));
  EXPECT_THAT(stranger.Granting(), ElementsAre());
  EXPECT_TRUE(Election(Voters(1), Key(1), At(0)).IsWon());
}

TEST(ElectionTest, OnlyVotersHaveBallots) {
  Election election(Voters(3), Key(1), At(0));
  EXPECT_EQ(election.Find(Key(4)), nullptr);
  EXPECT_EQ(election.Find(ReplicaKey{NodeId(2), DirectoryId{8, 8}}), nullptr);
  ASSERT_NE(election.Find(Key(2)), nullptr);
  EXPECT_EQ(election.Find(Key(2))->voter, Key(2));
}

TEST(ElectionTest, NextSendIsTheEarliestOfThoseWhoseAnswerIsNotFinal) {
  Election election(Voters(5), Key(1), At(10));
  EXPECT_EQ(election.NextSend(), At(10));
  for (int id = 2; id <= 5; ++id) election.Find(Key(id))->send_at = At(100 * id);
  EXPECT_EQ(election.NextSend(), At(200));
  election.Find(Key(2))->answer = Election::Answer::kRefused;
  EXPECT_EQ(election.NextSend(), At(200));
  election.Find(Key(2))->send_at = kNever;
  EXPECT_EQ(election.NextSend(), At(300));
}

TEST(ElectionTest, NobodyIsAskedOnceItIsDecided) {
  Election won(Voters(5), Key(1), At(10));
  won.Find(Key(2))->answer = Election::Answer::kGranted;
  won.Find(Key(3))->answer = Election::Answer::kGranted;
  EXPECT_EQ(won.NextSend(), kNever);
  Election lost(Voters(3), Key(1), At(10));
  lost.Find(Key(2))->answer = Election::Answer::kRefused;
  EXPECT_EQ(lost.NextSend(), At(10));
  lost.Find(Key(3))->answer = Election::Answer::kRefused;
  EXPECT_EQ(lost.NextSend(), kNever);
}

}  // namespace
}  // namespace quorum::raft
