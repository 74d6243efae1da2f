#include "service/server/node_health.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace quorum::server {
namespace {

class NodeHealthTest : public testing::Test {
 protected:
  static HealthInputs Settled() {
    HealthInputs inputs;
    inputs.caught_up = true;
    inputs.assigned = 5;
    inputs.in_step = 5;
    return inputs;
  }

  std::map<std::string, bool> said_;
  int messages_ = 0;
  NodeHealth health_{[this](const std::string& service, bool serving) {
    said_[service] = serving;
    ++messages_;
  }};
};

TEST_F(NodeHealthTest, ANewNodeLivesAndIsNotReady) {
  EXPECT_FALSE(health_.Update(HealthInputs()));
  EXPECT_TRUE(said_.at(""));
  EXPECT_TRUE(said_.at("liveness"));
  EXPECT_TRUE(said_.at("startup"));
  EXPECT_FALSE(said_.at("readiness"));
  EXPECT_FALSE(said_.at("quorum.v1.LogService"));
  EXPECT_FALSE(said_.at("quorum.v1.AdminService"));
  EXPECT_TRUE(said_.at("quorum.v1.VoterService"));
  EXPECT_TRUE(said_.at("quorum.v1.ObserverService"));
}

// They are there before the port opens, so that no probe is told that there is no such name.
TEST_F(NodeHealthTest, NamesAreAllThatIsEverSaid) {
  (void)health_.Update(HealthInputs());
  (void)health_.Update(Settled());
  std::vector<std::string> said;
  for (const auto& [name, serving] : said_) said.push_back(name);
  EXPECT_EQ(NodeHealth::Names(), said);
}

TEST_F(NodeHealthTest, ReadinessNeedsTheCatalogAndEveryReplica) {
  HealthInputs inputs = Settled();
  inputs.caught_up = false;
  EXPECT_FALSE(health_.Update(inputs));
  inputs = Settled();
  inputs.in_step = 4;
  EXPECT_FALSE(health_.Update(inputs));
  EXPECT_FALSE(health_.ready());
  EXPECT_TRUE(health_.Update(Settled()));
  EXPECT_TRUE(health_.ready());
  EXPECT_TRUE(said_.at("quorum.v1.LogService"));
}

TEST_F(NodeHealthTest, AVoterThatHasNotBeenInStepYetHoldsReadinessUpAtTheStartOnly) {
  HealthInputs inputs = Settled();
  inputs.catching_up = 1;
  EXPECT_FALSE(health_.Update(inputs));
  EXPECT_FALSE(health_.ready());
  EXPECT_TRUE(said_.at("liveness"));
  EXPECT_TRUE(health_.Update(Settled()));
  EXPECT_FALSE(health_.Update(inputs));
  EXPECT_TRUE(health_.ready()) << "one that was created since";
}

TEST_F(NodeHealthTest, AReplicaThatLagsForLongTakesReadinessAwayUntilItHasNearlyCaughtUp) {
  HealthInputs inputs = Settled();
  inputs.lag = NodeHealth::kLagOver + std::chrono::milliseconds(1);
  EXPECT_FALSE(health_.Update(inputs));
  EXPECT_FALSE(health_.ready()) << "at the start";
  inputs.lag = NodeHealth::kLagOver;
  EXPECT_TRUE(health_.Update(inputs));
  inputs.lag = NodeHealth::kLagMax;
  health_.Update(inputs);
  EXPECT_TRUE(health_.ready());
  inputs.lag = NodeHealth::kLagMax + std::chrono::milliseconds(1);
  health_.Update(inputs);
  EXPECT_FALSE(health_.ready());
  EXPECT_FALSE(said_.at("quorum.v1.LogService"));
  EXPECT_TRUE(said_.at("quorum.v1.VoterService")) << "it must be reached to catch up";
  inputs.lag = NodeHealth::kLagOver + std::chrono::milliseconds(1);
  health_.Update(inputs);
  EXPECT_FALSE(health_.ready()) << "not to and fro";
  inputs.lag = NodeHealth::kLagOver;
  health_.Update(inputs);
  EXPECT_TRUE(health_.ready());
}

TEST_F(NodeHealthTest, WhatIsAssignedLaterTakesNothingAway) {
  EXPECT_TRUE(health_.Update(Settled()));
  HealthInputs inputs = Settled();
  inputs.assigned = 6;
  EXPECT_FALSE(health_.Update(inputs));
  EXPECT_TRUE(health_.ready());
}

TEST_F(NodeHealthTest, ADrainEndsReadinessOnly) {
  health_.Update(Settled());
  HealthInputs inputs = Settled();
  inputs.draining = true;
  health_.Update(inputs);
  EXPECT_FALSE(said_.at("readiness"));
  EXPECT_FALSE(said_.at("quorum.v1.LogService"));
  EXPECT_TRUE(said_.at("liveness"));
  EXPECT_TRUE(said_.at("quorum.v1.VoterService"));
}

TEST_F(NodeHealthTest, ANodeThatDrainsNeverBecomesReady) {
  HealthInputs inputs = Settled();
  inputs.draining = true;
  EXPECT_FALSE(health_.Update(inputs));
  EXPECT_FALSE(health_.ready());
}

TEST_F(NodeHealthTest, ACatalogThatCannotBeReadEndsReadiness) {
  health_.Update(Settled());
  HealthInputs inputs = Settled();
  inputs.catalog_failed = true;
  health_.Update(inputs);
  EXPECT_FALSE(health_.ready());
  EXPECT_TRUE(health_.live());
}

TEST_F(NodeHealthTest, ALoopThatStandsStillEndsLiveness) {
  health_.Update(Settled());
  HealthInputs inputs = Settled();
  inputs.oldest_round = NodeHealth::kStandstill;
  health_.Update(inputs);
  EXPECT_FALSE(health_.live());
  EXPECT_FALSE(said_.at(""));
  EXPECT_FALSE(said_.at("readiness"));
  health_.Update(Settled());
  EXPECT_TRUE(said_.at(""));
  EXPECT_TRUE(said_.at("readiness"));
}

TEST_F(NodeHealthTest, OnlyChangesAreSaid) {
  health_.Update(Settled());
  const int first = messages_;
  health_.Update(Settled());
  EXPECT_EQ(messages_, first);
}

}  // namespace
}  // namespace quorum::server
