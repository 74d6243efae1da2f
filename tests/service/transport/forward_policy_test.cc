// AppendRoute: what may have been executed is never sent again, and everything else finds the
// leader within the deadline.

#include "service/transport/forward_policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

#include "service/base/plant.h"
#include "service/base/prng.h"

namespace quorum::transport {
namespace {

using Step = AppendRoute::Step;

constexpr MonoTime kStart{std::chrono::seconds(10)};
constexpr MonoTime kDeadline{std::chrono::seconds(40)};
constexpr NodeId kSelf{1};

AppendRoute MakeRoute(bool may_forward = true, bool may_wait = true) {
  return AppendRoute({kSelf, may_forward, may_wait}, {NodeId(2), kSelf, NodeId(3)}, kDeadline);
}

TEST(ForwardPolicyTest, TheLeaderIsAskedDirectly) {
  AppendRoute here = MakeRoute();
  EXPECT_EQ(here.Begin(kSelf, kStart).step, Step::kAppendHere);
  AppendRoute there = MakeRoute();
  const AppendRoute::Next next = there.Begin(NodeId(3), kStart);
  EXPECT_EQ(next.step, Step::kForward);
  EXPECT_EQ(next.target, NodeId(3));
}

TEST(ForwardPolicyTest, WithoutHintTheOwnReplicaIsAskedFirst) {
  AppendRoute route = MakeRoute();
  EXPECT_EQ(route.Begin(std::nullopt, kStart).step, Step::kAppendHere);
}

TEST(ForwardPolicyTest, WithoutOwnReplicaTheAssignedOnesAreAsked) {
  AppendRoute route({kSelf, true, true}, {NodeId(2), NodeId(3)}, kDeadline);
  EXPECT_EQ(route.Begin(std::nullopt, kStart).target, NodeId(2));
  EXPECT_EQ(route.After(AttemptResult::kNotLeader, std::nullopt, kStart).step, Step::kWait);
  EXPECT_EQ(route.Begin(std::nullopt, kStart).target, NodeId(3));
}

TEST(ForwardPolicyTest, ANewHintIsFollowedAtOnce) {
  AppendRoute route = MakeRoute();
  (void)route.Begin(NodeId(2), kStart);
  const AppendRoute::Next next = route.After(AttemptResult::kNotLeader, NodeId(3), kStart);
  EXPECT_EQ(next.step, Step::kForward);
  EXPECT_EQ(next.target, NodeId(3));
}

TEST(ForwardPolicyTest, TwoNodesThatPointAtEachOtherDoNotKeepItBusy) {
  AppendRoute route = MakeRoute();
  AppendRoute::Next next = route.Begin(NodeId(2), kStart);
  int attempts = 1;
  while (next.step == Step::kForward) {
    const NodeId other = next.target == NodeId(2) ? NodeId(3) : NodeId(2);
    next = route.After(AttemptResult::kNotLeader, other, kStart);
    if (next.step == Step::kForward) ++attempts;
  }
  EXPECT_EQ(next.step, Step::kWait);
  EXPECT_LE(attempts, 3);
}

TEST(ForwardPolicyTest, WhatMayBeExecutedIsAnswered) {
  for (const AttemptResult result :
       {AttemptResult::kUnknown, AttemptResult::kCommitted, AttemptResult::kRefused}) {
    AppendRoute route = MakeRoute();
    (void)route.Begin(NodeId(2), kStart);
    EXPECT_EQ(route.After(result, NodeId(3), kStart).step, Step::kAnswer);
  }
}

TEST(ForwardPolicyTest, WhatMayBeRepeatedIsRepeatedAfterAWait) {
  RouteRules rules{kSelf, true, true, true};
  AppendRoute route(rules, {NodeId(2), kSelf, NodeId(3)}, kDeadline);
  (void)route.Begin(NodeId(2), kStart);
  EXPECT_EQ(route.After(AttemptResult::kUnknown, NodeId(3), kStart).step, Step::kWait);
  EXPECT_EQ(route.Begin(NodeId(3), kStart).target, NodeId(3));
  EXPECT_EQ(route.After(AttemptResult::kRefused, NodeId(3), kStart).step, Step::kAnswer);
  (void)route.Begin(NodeId(2), kStart);
  EXPECT_EQ(route.After(AttemptResult::kUnknown, NodeId(3), kDeadline).step, Step::kAnswer);
  rules.may_forward = false;
  AppendRoute stays(rules, {NodeId(2), kSelf, NodeId(3)}, kDeadline);
  (void)stays.Begin(NodeId(2), kStart);
  EXPECT_EQ(stays.After(AttemptResult::kUnknown, NodeId(3), kStart).step, Step::kAnswer);
}

#ifdef QUORUM_PLANTS
// The planted bug is what the test above must see: the simulator runs no forwarder.
TEST(ForwardPolicyTest, M46RepeatsWhatMayBeExecuted) {
  plants::SetPlant(Plant::kM46);
  AppendRoute route = MakeRoute();
  (void)route.Begin(NodeId(2), kStart);
  EXPECT_EQ(route.After(AttemptResult::kUnknown, NodeId(3), kStart).step, Step::kForward);
  plants::SetPlant(Plant::kNone);
}
#endif

TEST(ForwardPolicyTest, ALeaderThatIsDownMakesTheOthersBeAsked) {
  AppendRoute route = MakeRoute();
  EXPECT_EQ(route.Begin(NodeId(3), kStart).target, NodeId(3));
  EXPECT_EQ(route.After(AttemptResult::kNotSent, NodeId(3), kStart).step, Step::kWait);
  // The hint is still the old one.
  EXPECT_EQ(route.Begin(NodeId(3), kStart).step, Step::kAppendHere);
  EXPECT_EQ(route.After(AttemptResult::kNotLeader, NodeId(3), kStart).target, NodeId(3));
  EXPECT_EQ(route.After(AttemptResult::kNotSent, NodeId(3), kStart).step, Step::kWait);
  EXPECT_EQ(route.Begin(NodeId(3), kStart).target, NodeId(3));
}

TEST(ForwardPolicyTest, ANodeThatDeniesTheHintAtItselfMakesTheOthersBeAsked) {
  AppendRoute route = MakeRoute();
  EXPECT_EQ(route.Begin(NodeId(3), kStart).target, NodeId(3));
  EXPECT_EQ(route.After(AttemptResult::kNotLeader, NodeId(3), kStart).step, Step::kWait);
  EXPECT_NE(route.Begin(NodeId(3), kStart).target, NodeId(3));
}

TEST(ForwardPolicyTest, WhereForwardingIsForbiddenTheHintIsTheAnswer) {
  AppendRoute route = MakeRoute(false);
  EXPECT_EQ(route.Begin(NodeId(2), kStart).step, Step::kAppendHere);
  EXPECT_EQ(route.After(AttemptResult::kNotLeader, NodeId(2), kStart).step, Step::kGiveUp);
}

TEST(ForwardPolicyTest, WhereForwardingIsForbiddenALeaderIsWaitedFor) {
  AppendRoute route = MakeRoute(false);
  (void)route.Begin(std::nullopt, kStart);
  EXPECT_EQ(route.After(AttemptResult::kNotLeader, std::nullopt, kStart).step, Step::kWait);
  EXPECT_EQ(route.Begin(kSelf, kStart).step, Step::kAppendHere);
}

TEST(ForwardPolicyTest, WhatWasForwardedIsAnsweredAtOnce) {
  AppendRoute route = MakeRoute(false, false);
  (void)route.Begin(std::nullopt, kStart);
  EXPECT_EQ(route.After(AttemptResult::kNotLeader, std::nullopt, kStart).step, Step::kGiveUp);
}

TEST(ForwardPolicyTest, NothingBeginsAfterTheDeadline) {
  AppendRoute late = MakeRoute();
  EXPECT_EQ(late.Begin(kSelf, kDeadline).step, Step::kGiveUp);
  AppendRoute route = MakeRoute();
  (void)route.Begin(NodeId(2), kStart);
  EXPECT_EQ(route.After(AttemptResult::kNotLeader, NodeId(3), kDeadline).step, Step::kGiveUp);
  EXPECT_EQ(route.After(AttemptResult::kNotSent, NodeId(3), kDeadline).step, Step::kGiveUp);
}

TEST(ForwardPolicyTest, AWaitNeverReachesBeyondTheDeadline) {
  AppendRoute route = MakeRoute();
  (void)route.Begin(NodeId(2), kStart);
  const MonoTime late = kDeadline - std::chrono::milliseconds(1);
  const AppendRoute::Next next = route.After(AttemptResult::kNotLeader, std::nullopt, late);
  EXPECT_EQ(next.step, Step::kWait);
  EXPECT_EQ(late + next.wait, kDeadline);
}

// Any sequence of results and hints keeps the guarantees of the header.
TEST(ForwardPolicyTest, RandomWaysKeepTheGuarantees) {
  Prng prng(41);
  for (int round = 0; round < 2'000; ++round) {
    const bool may_forward = prng.Chance(700'000);
    const bool may_wait = prng.Chance(700'000);
    const bool may_repeat = prng.Chance(500'000);
    AppendRoute route({kSelf, may_forward, may_wait, may_repeat}, {NodeId(2), kSelf, NodeId(3)},
                      kDeadline);
    MonoTime now = kStart;
    const auto hint = [&prng]() -> std::optional<NodeId> {
      if (prng.Chance(300'000)) return std::nullopt;
      return NodeId(static_cast<int32_t>(1 + prng.Below(3)));
    };
    AppendRoute::Next next = route.Begin(hint(), now);
    int in_a_row = 0;
    for (int step = 0; step < 500; ++step) {
      if (next.step == Step::kAnswer || next.step == Step::kGiveUp) break;
      ASSERT_LT(now, kDeadline);
      if (next.step == Step::kWait) {
        ASSERT_GT(next.wait.count(), 0);
        in_a_row = 0;
        now += next.wait + std::chrono::milliseconds(prng.Below(500));
        next = route.Begin(hint(), now);
        continue;
      }
      ASSERT_LE(++in_a_row, 3);
      if (next.step == Step::kForward) {
        ASSERT_TRUE(may_forward);
        ASSERT_NE(next.target, kSelf);
      }
      const auto result = static_cast<AttemptResult>(prng.Below(5));
      next = route.After(result, hint(), now);
      const bool repeats = may_repeat && may_forward && may_wait && now < kDeadline;
      const bool final = (result == AttemptResult::kUnknown && !repeats) ||
                         result == AttemptResult::kCommitted || result == AttemptResult::kRefused;
      ASSERT_EQ(next.step == Step::kAnswer, final);
    }
    EXPECT_TRUE(next.step == Step::kAnswer || next.step == Step::kGiveUp);
  }
}

}  // namespace
}  // namespace quorum::transport
